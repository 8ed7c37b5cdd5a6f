package pictures

import (
	"net/url"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

// works waits until a conductor works on the node's current step, in the run that the operation belongs to, and
// opens a tab of it.
func (w *tour) works(node, tab string) stack.Operation {
	w.t.Helper()
	o := w.until(node, "at a step", func(o stack.Operation) bool { return o.State == "running" && o.Conductor != "" })
	w.open(page(o, tab))
	return o
}

// button clicks a button of the page, outside of dialogs, by what is written on it.
func (w *tour) button(label string) {
	w.t.Helper()
	w.click("e.tagName == 'BUTTON' && e.innerText.trim() == '" + label + "' && !e.closest('dialog')")
}

// activity uses the buttons of a pending activity.
func (w *tour) activity() {
	o := w.works(running, "pending-activities")
	w.button("Pause")
	w.confirm()
	w.until(running, "paused", func(o stack.Operation) bool { return o.State == "paused" })
	w.open(page(o, "pending-activities"))
	w.button("Unpause")
	w.confirm()
	o = w.works(running, "pending-activities")
	w.button("Reset")
	w.confirm()
	next := w.works(running, "pending-activities")
	require.Equal(w.t, o.ID, next.ID)
	require.Equal(w.t, o.RunID, next.RunID)
}

// signals sends both signals, one of them with input that is no message of a conductor.
func (w *tour) signals() {
	o := w.works(running, "history")
	w.signal("look", "")
	w.signal("steps", `{"steps": "none"}`)
	w.open(page(o, "history"))
	w.see("Workflow Execution Signaled")
	o = w.works(running, "user-metadata")
	w.seeRead("operation "+o.ID+" (deploy) is running", "Runs step: deploy.deploy")
}

func (w *tour) signal(name, input string) {
	w.t.Helper()
	w.action("signal-button")
	w.inDialog("e.ariaHasPopup == 'true'")
	w.inDialog("e.role == 'option' && e.innerText.trim().startsWith('" + name + "')")
	if input != "" {
		w.editor(input)
	}
	w.confirm()
	w.await("the dialog is closed", "!document.querySelector('dialog[open]')", nil)
}

// reset resets the workflow of an operation that runs: the operation goes on in the new run.
func (w *tour) reset() {
	o := w.works(running, "history")
	w.action("reset-button")
	w.resetHere()
	next := w.until(running, "taken over", func(n stack.Operation) bool { return n.RunID != o.RunID && n.State == "running" && n.Conductor != "" })
	require.Equal(w.t, o.ID, next.ID)
	require.Equal(w.t, "deploying", w.state(running))
}

// resetHere chooses the first event of the dialog to reset a workflow, and confirms.
func (w *tour) resetHere() {
	w.t.Helper()
	w.inDialog("e.dataset.testid == 'workflow-reset-event-id-select-button'")
	w.inDialog("e.role == 'option'")
	w.confirm()
}

// terminated terminates the workflow of an operation that runs.
func (w *tour) terminated() {
	o := w.works(running, "history")
	w.action("terminate-button")
	w.confirm()
	id := o.ID
	o = w.until(running, "ended", func(n stack.Operation) bool { return n.ID == id && n.State == "ended" })
	require.Equal(w.t, "failed", o.Outcome)
	require.Equal(w.t, "workflow_terminated", o.Cause)
	w.reach("deploy failed", running)
}

// again starts a workflow like that of an operation that has ended: it fails and changes nothing.
func (w *tour) again() {
	o := w.newest(held)
	w.open(page(o, "history"))
	w.click("e.innerText.trim() == 'More Actions'")
	w.click("e.role == 'menuitem' && e.innerText.trim() == 'Start Workflow Like This One'")
	w.see("Start Workflow", held, "Task Queue is Active")
	w.button("Start Workflow")
	w.lists(`WorkflowId = "`+o.WorkflowID+`"`, "1 FAILED", "1 COMPLETED")
	require.Equal(w.t, o, w.newest(held))
	require.Equal(w.t, "active", w.state(held))
}

// batch cancels the operations of two nodes from the list.
func (w *tour) batch() {
	for _, n := range batched {
		w.until(n, "waiting", func(o stack.Operation) bool { return o.State == "waiting" })
	}
	w.lists(`ExecutionStatus = "Running" AND TemperNodeName IN ("`+batched[0]+`", "`+batched[1]+`")`, "2 RUNNING")
	w.click("e.tagName == 'LABEL' && e.closest('thead')")
	w.id("bulk-cancel-button")
	w.confirm()
	for _, n := range batched {
		o := w.until(n, "ended", func(o stack.Operation) bool { return o.State == "ended" })
		require.Equal(w.t, "cancelled", o.Outcome)
	}
	w.reach("deploy failed", batched...)
}

// lists opens the list with a filter, and reads it again until it shows the words.
func (w *tour) lists(filter string, words ...string) {
	w.t.Helper()
	path := "/namespaces/temper/workflows?query=" + url.QueryEscape(filter)
	w.open(path)
	for _, word := range words {
		w.await("the list of "+filter+" shows "+word, shows(word), func() { w.open(path) })
	}
}
