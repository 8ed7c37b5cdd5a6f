package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// played is an API whose operations go on each time somebody looks.
type played struct {
	t  *testing.T
	mu sync.Mutex
	// starts: node to the operation that a PUT on it starts; "" = the node is there at once.
	starts map[string]string
	ops    map[string][]map[string]any // by id: what is seen in turn; the last stays
	looked chan string                 // ids, unless nil
	power  []map[string]any            // bodies of power requests
	other  []string                    // requests that are not looks at operations
}

func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
			_, _ = w.Write(faultOf(refused("u", "manage", "active"), fault.StateNotAllowed))
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

func (p *played) look(w http.ResponseWriter, id string) {
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
func (p *played) list(w http.ResponseWriter, r *http.Request) {
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

// op is an operation on node n1 as the API shows it, with steps "name state[ conductor]".
func op(id, kind, state string, steps ...string) map[string]any {
	state, outcome, _ := strings.Cut(state, ":")
	out := map[string]any{
		"id": id, "kind": kind, "state": state, "outcome": nil, "node_name": "n1", "node_uuid": "u1", "error": nil,
		"accepted_at": "2026-01-02T03:04:05+00:00",
	}
	if outcome != "" {
		out["outcome"], out["ended_at"] = outcome, "2026-01-02T03:04:17+00:00"
	}
	var list []map[string]any
	for i, s := range steps {
		f := strings.Fields(s)
		iface, name, _ := strings.Cut(f[0], ".")
		step := map[string]any{"index": i, "interface": iface, "step": name, "state": f[1], "attempts": 1}
		if len(f) > 2 {
			step["conductor"] = f[2]
		}
		list = append(list, step)
	}
	out["steps"] = list
	return out
}

func with(o map[string]any, key string, v any) map[string]any {
	o[key] = v
	return o
}

// asked is an operation that waits and has just been asked for something.
func asked(ask, reason string) map[string]any {
	o := with(op("7", "deploy", "waiting", "deploy.boot waiting"), "waiting_for", "the agent's call")
	return with(with(o, "asked", ask), "asked_reason", reason)
}

// follow runs a command against p.
func (p *played) follow(t *testing.T, args ...string) said {
	t.Helper()
	p.t = t
	return ask(t, serving(t, p.ServeHTTP), "", append(args, "--every", "2ms")...)
}

func TestWatchingSaysWhatChanges(t *testing.T) {
	p := &played{starts: map[string]string{"n1": "7"}, ops: map[string][]map[string]any{"7": {
		op("7", "deploy", "accepted", "deploy.prepare pending", "deploy.boot pending"),
		op("7", "deploy", "running", "deploy.prepare running c1", "deploy.boot pending"),
		op("7", "deploy", "running", "deploy.prepare running c1", "deploy.boot pending"),
		op("7", "deploy", "running", "deploy.prepare done c1", "deploy.boot running c2"),
		with(op("7", "deploy", "waiting", "deploy.prepare done c1", "deploy.boot waiting c2"), "waiting_for", "the agent's call"),
		op("7", "deploy", "ended:succeeded", "deploy.prepare done c1", "deploy.boot done c2"),
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

func TestFollowingEndsAsTheOperationDoes(t *testing.T) {
	failing := with(op("7", "deploy", "ended:failed", "deploy.prepare done c1", "deploy.boot failed c2"), "error", "the disk is too small.")
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
			map[string][]map[string]any{"7": {with(with(op("7", "provide", "ended:cancelled"), "asked_by", "ada"), "asked_reason", "fire")}},
			"n1: operation 7 (provide) was stopped by ada: fire", "cancelled",
		},
		"an abort wants it stopped": {
			"node abort n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {op("7", "deploy", "cancelling"), op("7", "deploy", "ended:cancelled")}},
			"", "cancelled",
		},
		"an abort that is too late": {
			"node abort n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {op("7", "deploy", "ended:succeeded")}},
			"n1: operation 7 (deploy) had succeeded before it could be stopped", "succeeded",
		},
		"a cancel wants it stopped": {
			"operation cancel 7 --wait 1m", "", map[string][]map[string]any{"7": {op("7", "deploy", "cancelling"), op("7", "deploy", "ended:cancelled")}}, "", "cancelled",
		},
		"a deleted node is given back by what follows": {
			"node undeploy n1 --wait 1m", "7", map[string][]map[string]any{
				"7": {op("7", "deploy", "cancelling"), op("7", "deploy", "ended:cancelled")},
				"9": {op("9", "undeploy", "running"), op("9", "undeploy", "ended:succeeded")},
			}, "", "9",
		},
		"a deleted node that nothing gives back": {
			"node undeploy n1 --wait 1m", "7", map[string][]map[string]any{
				"7": {op("7", "deploy", "ended:cancelled")}, "3": {op("3", "undeploy", "ended:succeeded")},
			}, "n1: operation 7 ended as cancelled, and nothing gives the node back", "",
		},
		"a power change while it waits is over before the operation": {
			"node power reboot n1 --wait 1m", "7", map[string][]map[string]any{"7": {
				with(op("7", "deploy", "waiting", "deploy.boot waiting"), "asked", "power"),
				op("7", "deploy", "running", "power.off running", "power.on pending", "deploy.boot waiting"),
				op("7", "deploy", "running", "power.off done", "power.on running", "deploy.boot waiting"),
				op("7", "deploy", "waiting", "power.off done", "power.on done", "deploy.boot waiting"),
			}}, "", "waiting",
		},
		"a power change in an operation that fails": {
			"node power reboot n1 --wait 1m", "7",
			map[string][]map[string]any{"7": {with(op("7", "deploy", "ended:failed", "power.off failed"), "error", "no")}},
			"n1: operation 7 (deploy) failed at power.off: no; temper operation show 7 has its steps", "failed",
		},
		"a node that needs no operation": {"node manage n1 --wait 1m", "", nil, "", "manageable"},
		"one that takes too long": {
			"node deploy n1 --wait 300ms", "7",
			map[string][]map[string]any{"7": {op("7", "deploy", "running", "deploy.boot running c1")}},
			"n1: operation 7 (deploy) has not ended within 300ms, it is running at deploy.boot; temper operation watch 7 stays with it", "running",
		},
		"one that is lost": {"node deploy n1 --wait 1m", "7", nil, "n1: lost sight of operation 7: Operation 7 could not be found", "7"},
		"a node that is refused": {"node manage n2 --wait 1m", "7", nil, `n2: ` + strings.TrimSuffix(refused("u", "manage", "active"), ".") +
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
			p := &played{starts: map[string]string{"n1": c.start}, ops: c.ops}
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
	p := &played{starts: map[string]string{"n1": "1", "n2": "2", "n3": "3"}, ops: map[string][]map[string]any{
		"1": {op("1", "manage", "running"), op("1", "manage", "ended:succeeded")},
		"2": {with(op("2", "manage", "ended:failed", "power.verify failed"), "error", "wrong password")},
		"3": {op("3", "manage", "ended:succeeded")},
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
	p := &played{
		starts: map[string]string{"n1": "7"}, looked: make(chan string, 1),
		ops: map[string][]map[string]any{"7": {op("7", "deploy", "running", "deploy.boot running c1")}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-p.looked
		<-p.looked // it has read the first
		cancel()
	}()
	got := askWith(t, ctx, serving(t, p.ServeHTTP), "", "node", "deploy", "n1", "--watch", "--every", "2ms")
	require.ErrorContains(t, got.failed, "n1: operation 7 (deploy) goes on")
	require.ErrorContains(t, got.failed, "temper operation cancel 7 ends it")
	require.Equal(t, exitInterrupted, exitCode(got.failed))
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
		p := &played{starts: map[string]string{"n1": "7"}, ops: map[string][]map[string]any{"7": {op("7", "power", "running")}}}
		got := p.follow(t, append([]string{"node", "power"}, strings.Fields(args)...)...)
		require.NoError(t, got.failed)
		require.Equal(t, []map[string]any{want}, p.power, args)
	}
}

// pursuits makes what is followed of operations as the API shows them.
func pursuits(t *testing.T, ops ...map[string]any) []*pursuit {
	t.Helper()
	var all []*pursuit
	for i, o := range ops {
		raw, err := json.Marshal(o)
		require.NoError(t, err)
		p := &pursuit{name: fmt.Sprintf("node-%d", i+1), id: o["id"].(string), op: &client.Operation{}}
		require.NoError(t, json.Unmarshal(raw, p.op))
		if p.over = p.op.Ended(); p.over {
			p.err = verdict(p.op, toSucceed)
		}
		all = append(all, p)
	}
	return all
}

func TestThePictureFitsTheTerminal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 15, 0, time.UTC)
	var steps []string
	for i := range 40 {
		state := "pending"
		if i < 20 {
			state = "done c1"
		} else if i == 20 {
			state = "running c2"
		}
		steps = append(steps, fmt.Sprintf("deploy.step_%02d %s", i, state))
	}
	long := with(op("7", "deploy", "running", steps...), "error", strings.Repeat("long words ", 50))
	var many []map[string]any
	for i := range 100 {
		state := []string{"running", "ended:succeeded", "ended:failed"}[i%3]
		many = append(many, op(fmt.Sprint(i+1), "manage", state, "power.verify running c1"))
	}
	for name, all := range map[string][]*pursuit{
		"one": pursuits(t, long), "many": pursuits(t, many...), "none": nil, "not seen yet": {{name: "n1", id: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for height := 2; height < 60; height += 3 {
				lines := picture(all, now, height)
				require.LessOrEqual(t, len(lines), max(height, 4), "height %d", height)
				for _, l := range lines {
					for _, width := range []int{20, 80} {
						require.LessOrEqual(t, len([]rune(l.render(width, false))), width-1)
					}
				}
			}
		})
	}
	text := func(lines []line) string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l.render(200, false) + "\n")
		}
		return b.String()
	}
	require.Contains(t, text(picture(pursuits(t, long), now, 10)), "deploy.step_20", "the present step is off the picture")
	summary := text(picture(pursuits(t, many...), now, 10))
	require.Contains(t, summary, "34 under way, 33 succeeded, 33 failed")
	require.True(t, strings.HasPrefix(summary, "✗"), "what failed comes first:\n"+summary)
	require.Contains(t, summary, "and 92 more")
}

func TestThePictureIsDrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	v := &liveView{
		out: &out, size: func() (int, int) { return 60, 24 }, now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 8, 0, time.UTC) },
	}
	v.update(pursuits(t, op("7", "deploy", "running", "deploy.prepare running c1", "deploy.boot pending")))
	require.Equal(t, "\r\x1b[J▸ node-1  deploy 7  running  3s\n  ▸ deploy.prepare                      c1\n  · deploy.boot\n", out.String())
	out.Reset()
	v.colour = true
	v.update(pursuits(t, op("7", "deploy", "ended:succeeded", "deploy.prepare done c1", "deploy.boot done c2")))
	require.Equal(t, "\x1b[3A\r\x1b[J\x1b[32m✓ node-1  deploy 7  succeeded  12s\x1b[0m\n"+
		"\x1b[32m  ✓ deploy.prepare                      c1\x1b[0m\n\x1b[32m  ✓ deploy.boot                         c2\x1b[0m\n", out.String())
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
	o := op("7", "deploy", "ended:cancelled", "deploy.prepare done c1", "deploy.boot waiting c2", "deploy.end pending")
	steps := o["steps"].([]map[string]any)
	steps[0]["started_at"], steps[0]["ended_at"] = "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:07+00:00"
	steps[1]["started_at"] = "2026-01-02T03:04:07+00:00"
	followed := pursuits(t, o)
	for _, now := range []time.Time{time.Date(2026, 1, 2, 3, 4, 20, 0, time.UTC), time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)} {
		var shown strings.Builder
		for _, l := range picture(followed, now, 20) {
			shown.WriteString(l.render(200, false) + "\n")
		}
		require.Contains(t, shown.String(), "c2  10s\n")
		require.NotRegexp(t, `deploy\.end.*\ds`, shown.String())
		table := stepTable(followed[0].op, now).Render()
		require.Regexp(t, `deploy\.prepare .*  2s `, table)
		require.Regexp(t, `deploy\.boot .*  10s `, table)
		require.Contains(t, operationFields(followed[0].op, now).Render(), "12s")
	}
}
