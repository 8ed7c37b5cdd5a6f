package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"go.temper.dev/temper/test/soak/oracle"
	"go.temper.dev/temper/test/stack"
)

// node is an enrolled server of the rack, and what was requested of it.
type node struct {
	uuid, server string
	requests     []oracle.Request
	accepted     map[string]bool // operations, by id
}

func (w *world) enroll(ctx context.Context) ([]*node, error) {
	servers, err := w.Servers(ctx)
	if err != nil {
		return nil, err
	}
	var out []*node
	for _, sv := range servers {
		made, err := w.Enroll(ctx, sv, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, &node{uuid: made.UUID, server: sv.Name, accepted: map[string]bool{}})
	}
	return out, nil
}

// faults are the faults that a server has now and then.
var faults = [][]map[string]any{
	nil, nil, nil,
	{{"kind": "reset", "when": "after", "method": "POST", "count": 1}},
	{{"kind": "reset", "when": "after", "method": "PATCH", "count": 1}},
	{{"kind": "reset", "when": "before", "count": 2}},
	{{"kind": "unavailable", "count": 3}},
	{{"kind": "latency", "delay": "500ms", "count": 10}},
	{{"kind": "slow_power", "delay": "3s", "count": 2}},
	{{"kind": "unauthorized", "count": 1}},
	{{"kind": "agent_dies", "command": "write_image", "count": 1}},
	{{"kind": "wrong_checksum", "count": 1}},
	{{"kind": "reset", "when": "after", "command": "write_image", "count": 1}},
	{{"kind": "truncated", "count": 1}},
}

// powers are the power states that are requested of nodes in stable states.
var powers = []string{"power on", "power off", "rebooting", "soft power off"}

// ask sends one request after the other for a node, each when the node's state allows it.
func (w *world) ask(ctx context.Context, n *node, dice *rand.Rand) {
	for ctx.Err() == nil {
		rest(ctx, time.Duration(dice.IntN(3000))*time.Millisecond)
		now, err := w.Show(ctx, n.uuid)
		if err != nil {
			continue
		}
		if now.Reservation != "" {
			if dice.IntN(40) == 0 {
				w.cancel(ctx, n)
			}
			continue
		}
		if now.Maintenance { // a clean step that failed sets it
			_ = w.Call(ctx, http.MethodDelete, "/v1/nodes/"+n.uuid+"/maintenance", nil, nil) // the next reading shows whether it worked
			continue
		}
		verbs := oracle.Verbs(now.State)
		if len(verbs) == 0 {
			continue
		}
		if err := w.Spoil(ctx, n.server, faults[dice.IntN(len(faults))]); err != nil {
			continue
		}
		if (now.State == "active" || now.State == "manageable") && dice.IntN(4) == 0 {
			w.send(ctx, n, now.State, "power", map[string]any{"target": powers[dice.IntN(len(powers))]})
			continue
		}
		verb := verbs[dice.IntN(len(verbs))]
		body := map[string]any{"target": verb}
		switch verb {
		case "clean":
			body["clean_steps"] = []map[string]any{{"interface": "deploy", "step": "erase_pstore"}}
		case "active", "rebuild":
			if w.SetImage(ctx, n.uuid, w.digest) != nil {
				continue
			}
		}
		w.send(ctx, n, now.State, "provision", body)
	}
}

// send sends a request and records it. One that got no answer may have been accepted.
func (w *world) send(ctx context.Context, n *node, state, what string, body map[string]any) {
	verb, _ := body["target"].(string)
	r := oracle.Request{At: time.Now(), Verb: verb, Instant: what == "provision" && oracle.Instant(state, verb)}
	h, err := w.Ask(ctx, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/"+what, body, nil)
	var refused *stack.Refused
	if errors.As(err, &refused) && refused.Status < 500 {
		return
	}
	r.Sure = err == nil
	if id := h.Get("Temper-Operation"); id != "" {
		n.accepted[id] = true
	}
	n.requests = append(n.requests, r)
}

// cancel cancels the node's open operation.
func (w *world) cancel(ctx context.Context, n *node) {
	o, err := w.Newest(ctx, n.uuid)
	if err != nil {
		return
	}
	// It may have ended by now, and then the request is refused.
	_ = w.Call(ctx, http.MethodPost, "/temper/v1/operations/"+o.ID+"/cancel", map[string]any{"reason": "the soak says so"}, nil)
}

// history returns all operations of a node, newest first.
func (w *world) history(ctx context.Context, n *node) ([]oracle.Operation, error) {
	all, err := w.Operations(ctx, "node="+n.uuid)
	var out []oracle.Operation
	for _, o := range all {
		one := oracle.Operation{ID: o.ID, Kind: o.Kind, Outcome: o.Outcome, Target: o.PowerTarget, Accepted: o.AcceptedAt}
		if o.EndedAt != nil {
			one.Ended = *o.EndedAt
		}
		for _, s := range o.Steps {
			one.Restarts += s.Restarts
			if s.PutOffs > 0 {
				one.PutOff = append(one.PutOff, s.Interface+"."+s.Step)
			}
		}
		out = append(out, one)
	}
	return out, err
}

// found returns the present state of the node and its server, and what the server did.
func (w *world) found(ctx context.Context, n *node) (oracle.Final, []oracle.Action, error) {
	now, err := w.Show(ctx, n.uuid)
	if err != nil {
		return oracle.Final{}, nil, err
	}
	sv, err := w.Server(ctx, n.server)
	var actions []oracle.Action
	for _, a := range sv.Actions {
		if a.Effect {
			actions = append(actions, oracle.Action{At: a.At, To: map[string]string{"On": "on", "Off": "off"}[a.To]})
		}
	}
	return oracle.Final{
		State: now.State, Reservation: now.Reservation, Maintenance: now.Maintenance,
		Powered: sv.Powered, Media: sv.Media, Override: sv.BootOverride,
	}, actions, err
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
