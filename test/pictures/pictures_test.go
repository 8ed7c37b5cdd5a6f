package pictures

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

var out = flag.String("out", "", "folder for the pictures; default: none are kept")

// The nodes, by what is shown of each.
const (
	running   = "sim-0001"
	held      = "sim-0002"
	failed    = "sim-0003"
	paused    = "sim-0004"
	cancelled = "sim-0005"
	aborted   = "sim-0006"
)

// batched are cancelled together.
var batched = []string{"sim-0007", "sim-0008"}

var wrong = strings.Repeat("0", 64)

// tour is the test's world: a stack, and a browser that shows its Temporal's UI.
type tour struct {
	*stack.Stack
	*browser
	t      *testing.T
	digest string // of the rack's image
}

func TestTemporalsUI(t *testing.T) {
	path := chromium(t)
	s := startStack(t)
	w := &tour{Stack: s, browser: openBrowser(t, path, s.TemporalUIURL), t: t}
	var err error
	w.digest, err = s.Digest(t.Context())
	require.NoError(t, err)
	w.prepare()
	for _, scene := range []struct {
		name string
		play func()
	}{
		{"running", w.running},
		{"held", w.held},
		{"aborted", w.aborted},
		{"paused", w.paused},
		{"cancelled", w.cancelled},
		{"failed", w.failed},
		{"list", w.list},
		{"activity", w.activity},
		{"signals", w.signals},
		{"reset", w.reset},
		{"terminated", w.terminated},
		{"again", w.again},
		{"batch", w.batch},
	} {
		t.Run(scene.name, func(t *testing.T) {
			w.t, w.browser.t = t, t
			scene.play()
		})
	}
}

// keep writes a picture of the window.
func (w *tour) keep(name string) {
	w.t.Helper()
	full := w.picture()
	if *out == "" {
		return
	}
	require.NoError(w.t, os.MkdirAll(*out, 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(*out, name+".png"), small(w.t, full), 0o644))
}

// prepare brings the nodes to where the pictures begin, unless an earlier test has done so on the same stack.
func (w *tour) prepare() {
	if w.state(running) != "enroll" {
		return
	}
	all := append([]string{running, held, failed, paused, cancelled, aborted}, batched...)
	for _, n := range all {
		w.verb(n, "manage", "")
	}
	w.reach("manageable", all...)
	for _, n := range all {
		w.verb(n, "provide", "")
	}
	w.reach("available", all...)
	for _, n := range all {
		w.image(n, w.digest)
	}
	w.image(held, wrong)
	w.image(aborted, wrong)
	w.image(failed, wrong)
	w.spoil(running, map[string]any{"kind": "slow_power", "when": "before", "delay": "9m"})
	silent := map[string]any{"kind": "no_agent", "when": "before"}
	for _, n := range append([]string{paused, cancelled}, batched...) {
		w.spoil(n, silent)
		w.verb(n, "active", "")
	}
	for _, n := range []string{running, failed} {
		w.verb(n, "active", "")
	}
	for _, n := range []string{held, aborted} {
		w.verb(n, "active", "?on_failure=hold")
	}
}

// running inspects a step that lasts.
func (w *tour) running() {
	o := w.until(running, "at a step", func(o stack.Operation) bool { return o.State == "running" && o.Conductor != "" })
	w.open(page(o, "user-metadata"))
	w.seeRead("deploy "+running, "operation "+o.ID+" (deploy) is running", "Runs step: deploy.deploy", "Request Cancellation")
	w.keep("running")
	w.open(page(o, "search-attributes"))
	w.see("TemperConductor", o.Conductor, "TemperNodeName", running, "TemperHeld", "TemperDriver", "redfish")
	w.open(page(o, "memo"))
	w.see("node_uuid", running)
}

// held decides about a failed step, first with input that is refused.
func (w *tour) held() {
	o := w.until(held, "held", func(o stack.Operation) bool { return o.State == "holding" })
	w.open(page(o, "user-metadata"))
	w.seeRead("operation "+o.ID+" (deploy) is holding", "temper operation retry "+o.ID, "Update decide")
	w.keep("held")
	w.image(held, w.digest)
	w.decide(`{"action": "dance"}`)
	w.see("is not valid")
	require.Empty(w.t, w.newest(held).Decisions)
	w.open(page(o, "user-metadata"))
	w.decide(`{"action": "retry", "by": "ann", "reason": "the right digest"}`)
	o = w.until(held, "retried", func(o stack.Operation) bool { return len(o.Decisions) == 1 })
	require.Equal(w.t, "retry", o.Decisions[0].Action)
	require.Equal(w.t, "ann", o.Decisions[0].By)
	require.Equal(w.t, "the right digest", o.Decisions[0].Reason)
	w.reach("active", held)
	w.lists(`TemperNodeName = "`+held+`" AND WorkflowType = "DeployNode" AND TemperHeld = false AND TemperCause is null`, "1 COMPLETED")
}

// aborted decides that a held operation ends. The list finds it by its cause before and after that.
func (w *tour) aborted() {
	o := w.until(aborted, "held", func(o stack.Operation) bool { return o.State == "holding" })
	w.lists(`TemperHeld = true AND TemperCause = "`+o.Cause+`" AND TemperNodeName = "`+aborted+`"`, "1 RUNNING")
	w.open(page(o, "user-metadata"))
	w.decide(`{"action": "abort", "reason": "the wrong node"}`)
	o = w.until(aborted, "ended", func(o stack.Operation) bool { return o.State == "ended" })
	require.Equal(w.t, "cancelled", o.Outcome)
	require.Equal(w.t, "aborted", o.Cause)
	require.Equal(w.t, "somebody in Temporal", o.Decisions[0].By)
	w.reach("deploy failed", aborted)
	w.lists(`TemperHeld = false AND TemperCause = "aborted" AND TemperNodeName = "`+aborted+`"`, "1 CANCELED")
}

// decide sends the update with an input.
func (w *tour) decide(input string) {
	w.action("update-button")
	w.id("update-select-button")
	w.inDialog("e.role == 'option' && e.innerText.includes('decide')")
	w.see("Decides about the step")
	w.editor(input)
	if w.t.Name() == "TestTemporalsUI/held" {
		w.keep("decide")
	}
	w.confirm()
}

// editor writes JSON into the editor of the dialog that is open, and leaves it: the editor formats the JSON then, and the
// dialog grows.
func (w *tour) editor(input string) {
	w.inDialog("e.role == 'textbox'")
	w.write(input)
	w.write(kb.Tab)
	w.await("the editor is left", "!document.activeElement.closest('[role=textbox]')", nil)
}

// paused pauses a workflow, and lets it go on.
func (w *tour) paused() {
	o := w.until(paused, "waiting", func(o stack.Operation) bool { return o.State == "waiting" })
	w.open(page(o, "user-metadata"))
	w.seeRead("operation " + o.ID + " (deploy) is waiting")
	w.button("Pause Workflow")
	w.confirm()
	w.until(paused, "paused", func(o stack.Operation) bool { return o.State == "paused" })
	w.open(page(o, "history"))
	w.see("PAUSED")
	w.keep("paused")
	w.button("Unpause Workflow")
	w.confirm()
	w.until(paused, "waiting again", func(o stack.Operation) bool { return o.State == "waiting" })
}

// cancelled ends an operation.
func (w *tour) cancelled() {
	o := w.until(cancelled, "waiting", func(o stack.Operation) bool { return o.State == "waiting" })
	w.open(page(o, "user-metadata"))
	w.action("request-cancellation-button")
	w.confirm()
	o = w.until(cancelled, "ended", func(o stack.Operation) bool { return o.State == "ended" })
	require.Equal(w.t, "cancelled", o.Outcome)
	w.reach("deploy failed", cancelled)
}

// failed looks at the end of an operation, and retries it: a reset of its workflow starts another operation.
func (w *tour) failed() {
	o := w.until(failed, "ended", func(o stack.Operation) bool { return o.State == "ended" })
	require.Equal(w.t, "failed", o.Outcome)
	w.open(page(o, "user-metadata"))
	w.seeRead("operation "+o.ID+" (deploy) has failed", "temper operation retry "+o.ID, "Reset")
	w.keep("failed")
	w.image(failed, w.digest)
	w.button("Reset")
	w.resetHere()
	next := w.until(failed, "retried", func(n stack.Operation) bool { return n.ID != o.ID })
	require.Equal(w.t, o.ID, next.RetryOf)
	w.reach("active", failed)
}

// list shows the operations with Temper's columns, and those of a saved view.
func (w *tour) list() {
	w.columns("temper", "Status", "TemperNodeName", "Type", "TemperStep", "TemperCause", "TemperHeld", "TemperWaitingFor", "TemperConductor", "Start")
	w.open("/namespaces/temper/workflows")
	w.see("TemperNodeName", running, held, failed, "RUNNING", "FAILED", "COMPLETED")
	w.keep("list")
	w.lists(`ExecutionStatus = "Failed" AND TemperNodeName = "`+failed+`"`, "1 FAILED", failed, "image_digest_differs", "deploy.write_image")
	w.see("1 FAILED", failed, "image_digest_differs", "deploy.write_image")
	w.await("only failed operations of the node are there", "!"+shows("COMPLETED"), nil)
}
