package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/clitest"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// scriptedAPI is an API whose operations go on each time somebody looks.
type scriptedAPI struct {
	t  *testing.T
	mu sync.Mutex
	// starts: node to the operation that a PUT on it starts; "" = the node is there at once.
	starts map[string]string
	ops    map[string][]map[string]any // by id: what is seen in turn; the last stays
	looked chan string                 // ids, unless nil
	power  []map[string]any            // bodies of power requests
	other  []string                    // requests that are not looks at operations
}

func (p *scriptedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := strings.CutPrefix(r.URL.Path, "/temper/v1/operations/"); ok && r.Method == http.MethodGet {
		p.look(w, id)
		return
	}
	p.other = append(p.other, r.Method+" "+r.URL.Path)
	parts := strings.Split(r.URL.Path, "/")
	switch {
	case r.URL.Path == "/temper/v1/operations":
		p.list(w, r)
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		w.WriteHeader(http.StatusAccepted)
		p.look(w, parts[4])
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/operations"):
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		if verb, _ := body["verb"].(string); slices.Contains(node.PowerTargets, node.PowerState(verb)) {
			delete(body, "idempotency_key")
			p.power = append(p.power, body)
		}
		id, known := p.starts[parts[4]]
		if !known {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(faultOf(refusal("u", "manage", "active"), fault.StateNotAllowed))
			return
		}
		if id != "" {
			w.Header().Set("Temper-Operation", id)
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		_, _ = fmt.Fprint(w, `{"provision_state":"manageable"}`)
	}
}

func (p *scriptedAPI) look(w http.ResponseWriter, id string) {
	seen := p.ops[id]
	if len(seen) == 0 {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(faultOf("Operation "+id+" could not be found.", fault.OperationNotFound))
		return
	}
	if len(seen) > 1 {
		p.ops[id] = seen[1:]
	}
	_ = json.NewEncoder(w).Encode(seen[0])
	if p.looked != nil {
		select {
		case p.looked <- id:
		default:
		}
	}
}

// list gives the newest of a kind.
func (p *scriptedAPI) list(w http.ResponseWriter, r *http.Request) {
	ops := []map[string]any{}
	for _, seen := range p.ops {
		kind := r.URL.Query().Get("kind")
		if kind != "" && kind != seen[0]["kind"] {
			continue
		}
		if len(ops) == 0 {
			ops = append(ops, seen[0])
		} else if client.Newer(seen[0]["id"].(string), ops[0]["id"].(string)) {
			ops[0] = seen[0]
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"operations": ops, "next": nil})
}

// asked is an operation that waits and has just been asked for something.
func asked(ask, reason string) map[string]any {
	o := clitest.With(clitest.Operation("7", "deploy", "waiting", "deploy.boot waiting"), "waiting_for", "the agent's call")
	return clitest.With(clitest.With(o, "asked", ask), "asked_reason", reason)
}

// follow runs a command against p.
func (p *scriptedAPI) follow(t *testing.T, args ...string) output {
	t.Helper()
	p.t = t
	return ask(t, serving(t, p.ServeHTTP), "", append(args, "--every", "2ms")...)
}

func TestWatchingSaysWhatChanges(t *testing.T) {
	p := &scriptedAPI{starts: map[string]string{"n1": "7"}, ops: map[string][]map[string]any{"7": {
		clitest.Operation("7", "deploy", "accepted", "deploy.prepare pending", "deploy.boot pending"),
		clitest.Operation("7", "deploy", "running", "deploy.prepare running c1", "deploy.boot pending"),
		clitest.Operation("7", "deploy", "running", "deploy.prepare running c1", "deploy.boot pending"),
		clitest.Operation("7", "deploy", "running", "deploy.prepare done c1", "deploy.boot running c2"),
		clitest.With(clitest.Operation("7", "deploy", "waiting", "deploy.prepare done c1", "deploy.boot waiting c2"), "waiting_for", "the agent's call"),
		clitest.Operation("7", "deploy", "ended:succeeded", "deploy.prepare done c1", "deploy.boot done c2"),
	}}}
	got := p.follow(t, "node", "deploy", "n1", "--watch")
	require.NoError(t, got.failed)
	require.Equal(t, `n1: deploy 7 accepted, step 1 of 2: deploy.prepare
n1: deploy 7 running, step 1 of 2: deploy.prepare on c1
n1: deploy 7 running, step 2 of 2: deploy.boot on c2
n1: deploy 7 waiting for the agent's call, step 2 of 2: deploy.boot on c2
n1: deploy 7 succeeded
`, got.out)
}

// A request that only changed the state has no operation to watch or to cancel.
func TestARequestWithoutAnOperationIsNamedAsOne(t *testing.T) {
	ended := make(chan struct{})
	defer close(ended)
	url := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		select { // the node is not read in time
		case <-r.Context().Done():
		case <-ended:
		}
	})
	got := ask(t, url, "", "node", "manage", "n1", "--wait", "1s")
	require.EqualError(t, got.failed, "n1: the request was accepted, but the node's state was not read; temper node show n1 shows it")
	require.Equal(t, exit.CodeLost, exit.Code(got.failed))
}

// Scripts that read JSON get an object, also where no node was selected or each one refused.
func TestJSONIsPrintedAlsoOfNothing(t *testing.T) {
	empty := serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"nodes":[]}`)) })
	for args, want := range map[string]string{
		"node manage --all-in-state enroll --yes": `{"operations":[]}`,
		"node validate --all-in-state enroll":     `{}`,
	} {
		got := ask(t, empty, "", strings.Fields(args+" -o json")...)
		require.NoError(t, got.failed, args)
		require.JSONEq(t, want, got.out, args)
		got = ask(t, empty, "", strings.Fields(args)...)
		require.NoError(t, got.failed, args)
		require.Empty(t, got.out, args)
	}
	got := (&scriptedAPI{}).follow(t, "node", "manage", "n2", "-o", "json")
	require.Error(t, got.failed)
	require.JSONEq(t, `{"operations":[]}`, got.out)
}

func TestFollowingEndsAsTheOperationDoes(t *testing.T) {
	failing := clitest.With(clitest.Operation("7", "deploy", "ended:failed", "deploy.prepare done c1", "deploy.boot failed c2"), "error", "the disk is too small.")
	for name, c := range map[string]struct {
		args  string
		start string
		ops   map[string][]map[string]any
		want  string // of the error; "" = none
		out   string // part of it
	}{
		"one that fails": {
			"node deploy n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {failing}},
			"n1: operation 7 (deploy) failed at deploy.boot: the disk is too small; temper operation show 7 has its steps", "failed",
		},
		"one that somebody stops": {
			"node provide n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {clitest.With(clitest.With(clitest.Operation("7", "provide", "ended:cancelled"), "asked_by", "ada"), "asked_reason", "fire")}},
			"n1: operation 7 (provide) was cancelled by ada: fire", "cancelled",
		},
		"an abort wants it stopped": {
			"node abort n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "cancelling"), clitest.Operation("7", "deploy", "ended:cancelled")}},
			"", "cancelled",
		},
		"an abort that is too late": {
			"node abort n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "ended:succeeded")}},
			"n1: operation 7 (deploy) had succeeded before it could be cancelled", "succeeded",
		},
		"a cancel wants it stopped": {
			"operation cancel 7 --wait 1m", "", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "cancelling"), clitest.Operation("7", "deploy", "ended:cancelled")}}, "", "cancelled",
		},
		"a deleted node is given back by what follows": {
			"node undeploy n1 --wait 1m", "7", map[string][]map[string]any{
				"7": {clitest.Operation("7", "deploy", "cancelling"), clitest.Operation("7", "deploy", "ended:cancelled")},
				"9": {clitest.Operation("9", "undeploy", "running"), clitest.Operation("9", "undeploy", "ended:succeeded")},
			}, "", "9",
		},
		"a deleted node that nothing gives back": {
			"node undeploy n1 --wait 1m", "7", map[string][]map[string]any{
				"7": {clitest.Operation("7", "deploy", "ended:cancelled")}, "3": {clitest.Operation("3", "undeploy", "ended:succeeded")},
			}, "n1: operation 7 ended as cancelled, and nothing gives the node back", "",
		},
		"a power change while it waits is over before the operation": {
			"node power reboot n1 --wait 1m", "7", map[string][]map[string]any{"7": {
				clitest.With(clitest.Operation("7", "deploy", "waiting", "deploy.boot waiting"), "asked", "power"),
				clitest.Operation("7", "deploy", "running", "power.off running", "power.on pending", "deploy.boot waiting"),
				clitest.Operation("7", "deploy", "running", "power.off done", "power.on running", "deploy.boot waiting"),
				clitest.Operation("7", "deploy", "waiting", "power.off done", "power.on done", "deploy.boot waiting"),
			}}, "", "waiting",
		},
		"a power change in an operation that fails": {
			"node power reboot n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {clitest.With(clitest.Operation("7", "deploy", "ended:failed", "power.off failed"), "error", "no")}},
			"n1: operation 7 (deploy) failed at power.off: no; temper operation show 7 has its steps", "failed",
		},
		"a node that needs no operation": {"node manage n1 --wait 1m", "", nil, "", "manageable"},
		"one that takes too long": {
			"node deploy n1 --wait 300ms", "7",
			map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "running", "deploy.boot running c1")}},
			"n1: operation 7 (deploy) has not ended within 300ms, it is running at deploy.boot; temper operation watch 7 takes up again", "running",
		},
		"one that is lost": {"node deploy n1 --wait 1m", "7", nil, "n1: lost sight of operation 7: Operation 7 could not be found", "7"},
		"a node that is refused": {"node manage n2 --wait 1m", "7", nil, `n2: ` + strings.TrimSuffix(refusal("u", "manage", "active"), ".") +
			"; that is possible in: enroll, available, clean failed, inspect failed, adopt failed", ""},
		"an abort that was just accepted": {
			"node abort n1", "7", map[string][]map[string]any{"7": {asked("cancel", "abort")}}, "", "deploy  cancelling",
		},
		"an abort that lets the step end": {
			"node abort n1", "7", map[string][]map[string]any{"7": {asked("abort", "abort")}}, "", "deploy  cancelling after this step",
		},
		"a cancel that was just accepted": {
			"operation cancel 7", "7", map[string][]map[string]any{"7": {asked("", ""), asked("cancel", "")}}, "", "deploy  cancelling",
		},
		"an unhold that was just accepted": {
			"node unhold n1", "7", map[string][]map[string]any{"7": {asked("unhold", "unhold")}}, "", "deploy  going on",
		},
		"a reboot of what waits": {
			"node power reboot n1", "7",
			map[string][]map[string]any{"7": {asked("power", "rebooting")}},
			"", "deploy  waiting for the agent's call, power change asked: rebooting",
		},
		"one that is not waited for": {
			"node deploy n1", "7", map[string][]map[string]any{"7": {failing}}, "", "failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &scriptedAPI{starts: map[string]string{"n1": c.start}, ops: c.ops}
			got := p.follow(t, strings.Fields(c.args)...)
			if c.want == "" {
				require.NoError(t, got.failed)
				for id, left := range p.ops {
					require.Len(t, left, 1, "operation %s was not followed to its end", id)
				}
			} else {
				require.EqualError(t, got.failed, c.want)
			}
			require.Contains(t, got.out, c.out)
		})
	}
}

func TestManyAreFollowedAtOnce(t *testing.T) {
	p := &scriptedAPI{starts: map[string]string{"n1": "1", "n2": "2", "n3": "3"}, ops: map[string][]map[string]any{
		"1": {clitest.Operation("1", "manage", "running"), clitest.Operation("1", "manage", "ended:succeeded")},
		"2": {clitest.With(clitest.Operation("2", "manage", "ended:failed", "power.verify failed"), "error", "wrong password")},
		"3": {clitest.Operation("3", "manage", "ended:succeeded")},
	}}
	got := p.follow(t, "node", "manage", "n1", "n2", "n3", "n4", "--wait", "1m", "-o", "json")
	require.ErrorContains(t, got.failed, "2 of 4 failed:\n  n2: operation 2 (manage) failed at power.verify: wrong password")
	require.ErrorContains(t, got.failed, "\n  n4: The requested action")
	var doc struct {
		Operations []client.Operation `json:"operations"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &doc))
	require.Len(t, doc.Operations, 3)
	for i, outcome := range []string{"succeeded", "failed", "succeeded"} {
		require.Equal(t, outcome, doc.Operations[i].Outcome)
	}
}

func TestWhoIsInterruptedIsToldWhatGoesOn(t *testing.T) {
	p := &scriptedAPI{
		starts: map[string]string{"n1": "7"}, looked: make(chan string, 1),
		ops: map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "running", "deploy.boot running c1")}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-p.looked
		<-p.looked // it has read the first
		cancel()
	}()
	got := askIn(t, ctx, serving(t, p.ServeHTTP), "", "node", "deploy", "n1", "--watch", "--every", "2ms")
	require.ErrorContains(t, got.failed, "n1: operation 7 (deploy) goes on")
	require.ErrorContains(t, got.failed, "temper operation watch 7 takes up again, temper operation cancel 7 ends it")
	require.Equal(t, exit.CodeInterrupted, exit.Code(got.failed))
}

// What still runs when somebody interrupts has not failed, and what was never asked for does not run.
func TestWhoIsInterruptedIsToldTheEndOfEach(t *testing.T) {
	p := &scriptedAPI{
		starts: map[string]string{"n1": "1", "n2": "2", "n3": "3"}, looked: make(chan string, 1),
		ops: map[string][]map[string]any{
			"1": {clitest.Operation("1", "deploy", "ended:succeeded")},
			"2": {clitest.With(clitest.Operation("2", "deploy", "ended:failed", "deploy.boot failed"), "error", "no disk")},
			"3": {clitest.Operation("3", "deploy", "running", "deploy.boot running c1")},
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for seen := map[string]int{}; seen["3"] < 2; seen[<-p.looked]++ { // all are read in the first round
		}
		cancel()
	}()
	got := askIn(t, ctx, serving(t, p.ServeHTTP), "", "node", "deploy", "n1", "n2", "n3", "--watch", "--every", "2ms")
	require.ErrorContains(t, got.failed, "of 3: 1 done; 1 failed; 1 still running:\n  n2: operation 2 (deploy) failed at deploy.boot: no disk")
	require.ErrorContains(t, got.failed, "n3: operation 3 (deploy) goes on, it is running at deploy.boot; temper operation watch 3 takes up again, temper operation cancel 3 ends it")
	require.Equal(t, exit.CodeInterrupted, exit.Code(got.failed))

	before, cancel := context.WithCancel(t.Context())
	cancel()
	got = askIn(t, before, serving(t, p.ServeHTTP), "", "node", "deploy", "n1", "n2", "--watch")
	require.ErrorContains(t, got.failed, "of 2: 2 not asked for:\n  n1, n2: interrupted before it was asked for")
	require.Equal(t, exit.CodeInterrupted, exit.Code(got.failed))
}

// What is being cancelled already is not offered to be cancelled.
func TestWhatIsCancelledIsNotOfferedToBeCancelled(t *testing.T) {
	p := &scriptedAPI{
		starts: map[string]string{"n1": "7"}, looked: make(chan string, 1),
		ops: map[string][]map[string]any{"7": {clitest.With(clitest.Operation("7", "deploy", "running", "deploy.boot running c1"), "asked", "cancel")}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-p.looked
		<-p.looked
		cancel()
	}()
	got := askIn(t, ctx, serving(t, p.ServeHTTP), "", "operation", "watch", "7", "--every", "2ms")
	require.ErrorContains(t, got.failed, "operation 7 (deploy) goes on, it is cancelling at deploy.boot; temper operation watch 7 takes up again")
	require.NotContains(t, got.failed.Error(), "operation cancel")
}

func TestPowerIsAskedInIronicsWords(t *testing.T) {
	for args, want := range map[string]map[string]any{
		"on n1":                       {"verb": "power on"},
		"off n1":                      {"verb": "power off"},
		"off n1 --soft":               {"verb": "soft power off"},
		"reboot n1":                   {"verb": "rebooting"},
		"reboot n1 --soft":            {"verb": "soft rebooting"},
		"off n1 --soft --timeout 90s": {"verb": "soft power off", "timeout": 90.0},
	} {
		p := &scriptedAPI{starts: map[string]string{"n1": "7"}, ops: map[string][]map[string]any{"7": {clitest.Operation("7", "power", "running")}}}
		got := p.follow(t, append([]string{"node", "power"}, strings.Fields(args)...)...)
		require.NoError(t, got.failed)
		require.Equal(t, []map[string]any{want}, p.power, args)
	}
}

func TestHelpSaysWhenTheExitCodeIsNought(t *testing.T) {
	for command, want := range map[string]string{
		"node manage": "it succeeded", "node deploy": "it succeeded", "node unhold": "it succeeded",
		"node abort": "the operation has ended cancelled", "operation cancel": "the operation has ended cancelled",
		"node undeploy": "the node was given back", "node power reboot": "the power was changed",
	} {
		got := ask(t, "", "", append(strings.Fields(command), "--help")...)
		require.NoError(t, got.failed)
		require.Equal(t, 2, strings.Count(got.out, "exit code 0 only if "+want+"\n"), got.out)
	}
}

func TestStepsOfWhatHasEndedTakeNoMoreTime(t *testing.T) {
	raw, err := json.Marshal(clitest.Interrupted())
	require.NoError(t, err)
	o := &client.Operation{}
	require.NoError(t, json.Unmarshal(raw, o))
	for _, now := range clitest.Afterwards {
		steps := stepTable(o, nil, now).String()
		require.Regexp(t, `deploy\.prepare .*  2s `, steps)
		require.Regexp(t, `deploy\.boot .*  10s `, steps)
		require.Contains(t, operationFields(o, now).String(), "12s")
	}
}
