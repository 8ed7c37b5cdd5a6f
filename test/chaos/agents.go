package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

// fails says what must hold in a row about agents if the operation can't continue.
const fails = "fails, with the reason, into the state that the table names; what is half done is undone"

// afresh says what must hold for steps that may be begun anew.
const afresh = "begins the step anew with another boot, where the table of steps lets it; else " + fails

var agentRows = []row{
	{
		name: "the agent dies in the middle of a command", holds: afresh, points: commanded, judge: died,
		happen: func(ctx context.Context, r *round) error {
			return r.spoiled(ctx, func(t *trial) []fault { return []fault{{"kind": "agent_dies", "command": t.Request, "count": 1}} })
		},
	},
	{
		name: "the agent reboots in the middle of a command, and asks who it is", holds: "is told no token, and given no command; " + afresh,
		points: commanded, judge: rebooted,
		happen: func(ctx context.Context, r *round) error {
			return r.spoiled(ctx, func(t *trial) []fault { return []fault{{"kind": "agent_reboots", "command": t.Request, "count": 1}} })
		},
	},
	{
		name: "an agent says all twice: its inventory, its lookup, its heartbeats, its list of commands", holds: "the same", points: booting,
		happen: func(ctx context.Context, r *round) error {
			return r.spoiled(ctx, func(t *trial) []fault {
				paths := spoken(t.k)
				if t.k.column != node.KindInspect { // an inspection sends its agent no commands
					paths = append(paths, "/v1/commands")
				}
				return to(paths, "twice", 100)
			})
		},
	},
	{
		name: "the answers to an agent's inventory, its lookup and its heartbeat are lost", holds: "it asks again; the same", points: booting,
		happen: func(ctx context.Context, r *round) error {
			return r.spoiled(ctx, func(t *trial) []fault { return to(spoken(t.k), "unheard", 1) })
		},
	},
	{
		name: "the agent answers late, too late and not at all when it is asked how a command goes", holds: "asked again, not repeated", points: commanded,
		happen: func(ctx context.Context, r *round) error {
			return r.spoiled(ctx, func(*trial) []fault {
				status := func(f fault) fault {
					f["method"], f["path"], f["when"] = "GET", "/v1/commands", "after"
					return f
				}
				return []fault{
					status(fault{"kind": "latency", "delay": "3s", "count": 2}),
					status(fault{"kind": "hang", "delay": "6s", "count": 1}), // longer than a request may take
					status(fault{"kind": "reset", "count": 1}),
				}
			})
		},
	},
}

// spoken returns the paths of the API to which an agent sends requests when it boots in an operation of the kind. An
// inspection continues as soon as it has the inventory, and switches the server off.
func spoken(k kind) []string {
	if k.column == node.KindInspect {
		return []string{"/v1/continue_inspection"}
	}
	return []string{"/v1/continue_inspection", "/v1/lookup", "/v1/heartbeat/"}
}

// to returns one fault for each path.
func to(paths []string, kind string, count int) (all []fault) {
	for _, p := range paths {
		all = append(all, fault{"kind": kind, "path": p, "count": count})
	}
	return all
}

// commanded returns the points right before commands that take an agent some time.
func commanded(k kind) ([]point, error) {
	return where(k, func(p point) bool { return p.Name == chaos.Request && strings.Contains(p.Request, ".execute_") })
}

// booting returns the points right before a server is switched on to boot an agent.
func booting(k kind) ([]point, error) {
	return where(k, func(p point) bool {
		return p.Name == chaos.Request && p.Request == "On" && slices.Equal(changes[p.Step], boots)
	})
}

// restarts reports whether the step at which a case is stopped is begun anew when its agent is lost.
func restarts(t *trial) bool {
	iface, name, _ := strings.Cut(t.Step, ".")
	s := node.Step{Interface: iface, Step: name}
	return s.Restart("")
}

// died judges an operation whose agent has died.
func died(ctx context.Context, l *lab, t *trial) error {
	if !restarts(t) {
		return failed("on the agent")(ctx, l, t)
	}
	_, err := l.begunAnew(ctx, t, 2)
	return err
}

// rebooted judges an operation whose agent was rebooted: the new agent did its lookup, and got no command.
func rebooted(ctx context.Context, l *lab, t *trial) error {
	boots := 2
	var sv stack.Server
	var err error
	if restarts(t) {
		boots = 3
		sv, err = l.begunAnew(ctx, t, boots)
	} else if err = failed("on the agent")(ctx, l, t); err == nil {
		sv, err = l.Server(ctx, t.s.server)
	}
	if err != nil {
		return err
	}
	for _, c := range sv.Commands[len(t.s.before.Commands):] {
		if c.Boot == t.s.before.AgentBoots+2 {
			return fmt.Errorf("the agent that asked who it is was given %s", c.Name)
		}
	}
	switch {
	case sv.AgentBoots != t.s.before.AgentBoots+boots:
		return fmt.Errorf("agents came up %d times, and not %d", sv.AgentBoots-t.s.before.AgentBoots, boots)
	case sv.Lookups < t.s.before.Lookups+boots:
		return errors.New("the new one did not ask who it is")
	}
	return nil
}

// begunAnew judges that the operation went as an undisturbed one, except for one more boot and one more command of its step.
func (l *lab) begunAnew(ctx context.Context, t *trial, boots int) (stack.Server, error) {
	sv, err := l.becomesAsAsked(ctx, t)
	if err != nil {
		return sv, err
	}
	_, name, _ := strings.Cut(t.Step, ".")
	calm, got := l.calm[t.k.name], since(t.k, t.s.before, sv)
	var want []string
	for _, c := range calm.commands {
		if want = append(want, c); strings.HasSuffix(c, " "+name) {
			want = append(want, c)
		}
	}
	switch {
	case !slices.Equal(want, got.commands):
		return sv, fmt.Errorf("commands to its agents %v, and not %v", got.commands, want)
	case calm.left != got.left:
		return sv, fmt.Errorf("the server is left %s, and undisturbed %s", got.left, calm.left)
	case sv.AgentBoots != t.s.before.AgentBoots+boots:
		return sv, fmt.Errorf("agents came up %d times, and not %d", sv.AgentBoots-t.s.before.AgentBoots, boots)
	}
	return sv, nil
}
