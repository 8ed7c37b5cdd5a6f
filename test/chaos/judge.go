package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

// calm is the result of an operation to which nothing happens.
type calm struct {
	actions  []string // requests to change the power that did something
	requests []string // all of them
	commands []string // given to agents
	left     string   // how the server is left
}

// undisturbed does an operation of each kind once, records the result, and compares the points that it passed with those
// that are computed from its list of steps.
func (l *lab) undisturbed(ctx context.Context) (err error) {
	var first []point
	for _, k := range kinds {
		first = append(first, point{kind: k.name})
	}
	r, err := l.newRound(row{}, first)
	if err != nil {
		return err
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	c, err := r.another(ctx, "calm")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	if err := errors.Join(r.start(ctx), r.over(ctx, patience)); err != nil {
		return err
	}
	passed, err := c.trace()
	if err != nil {
		return err
	}
	for _, t := range r.trials {
		sv, err := l.asAsked(ctx, t)
		if err != nil {
			return fmt.Errorf("%s, undisturbed: %w", t.k.name, err)
		}
		l.calm[t.k.name] = since(t.k, t.s.before, sv)
		if err := samePoints(t, passed); err != nil && !l.unguarded {
			return err
		}
	}
	return nil
}

// samePoints compares the points of a kind with those that its operation has passed.
func samePoints(t *trial, passed []chaos.Passed) error {
	want, err := points(t.k)
	if err != nil {
		return err
	}
	var computed, met []string
	for _, p := range want {
		computed = append(computed, p.String())
	}
	for _, p := range passed {
		if p.Operation != number(t.id) || p.Name == chaos.HandedOver {
			continue
		}
		p.Point.Operation, p.Point.Node = 0, ""
		at := point{kind: t.k.name, Point: p.Point}
		if p.Name == chaos.Looked && p.Request == "power" && !slices.Contains(computed, at.String()) {
			continue // every step may read at this point
		}
		if !slices.Contains(met, at.String()) {
			met = append(met, at.String())
		}
	}
	if slices.Equal(met, computed) {
		return nil
	}
	return fmt.Errorf("the points of %s are computed as\n  %s\nand it came by\n  %s", t.k.name, strings.Join(computed, "\n  "), strings.Join(met, "\n  "))
}

// since returns what was done to a server since the operation was requested.
func since(k kind, before, now stack.Server) calm {
	var c calm
	for _, a := range now.Actions[len(before.Actions):] {
		c.requests = append(c.requests, a.String())
		if a.Effect {
			c.actions = append(c.actions, a.String())
		}
	}
	for _, a := range now.Commands[len(before.Commands):] {
		if !slices.Contains(questions, a.Name) {
			c.commands = append(c.commands, a.Name+" "+a.Step)
		}
	}
	c.left = fmt.Sprintf("on %t, media %q, override %q, %d volumes, %d made", now.Powered, now.Media, now.BootOverride, now.Volumes, now.VolumesMade-before.VolumesMade)
	switch k.column {
	case node.KindDeploy, node.KindRebuild, node.KindProvide, node.KindUndeploy: // others leave the disk as it was
		c.left += fmt.Sprintf(", disk %q", now.DiskSHA256)
	}
	return c
}

// judge compares the result of a case, whose operation has ended, with that of an undisturbed operation.
func (l *lab) judge(ctx context.Context, t *trial) error {
	return l.compare(ctx, t, "requests", func(c calm) []string { return c.requests })
}

// sameEffects is judge for cases in which a request may be repeated that changes nothing any more.
func sameEffects(ctx context.Context, l *lab, t *trial) error {
	return l.compare(ctx, t, "changes", func(c calm) []string { return c.actions })
}

// compare compares power requests, commands and the state of the server with those of an undisturbed operation.
func (l *lab) compare(ctx context.Context, t *trial, what string, power func(calm) []string) error {
	o, err := l.Operation(ctx, t.id)
	if err == nil {
		err = blamed(o)
	}
	if err != nil {
		return err
	}
	if t.k.once && unknown(o.Error) {
		return becomes(ctx, func() error { return l.atMostOnce(ctx, t) })
	}
	sv, err := l.becomesAsAsked(ctx, t)
	if err != nil {
		return err
	}
	want, got := l.calm[t.k.name], since(t.k, t.s.before, sv)
	var wrong []string
	if !slices.Equal(power(want), power(got)) {
		wrong = append(wrong, fmt.Sprintf("power %s %v, and undisturbed %v", what, power(got), power(want)))
	}
	if !slices.Equal(want.commands, got.commands) {
		wrong = append(wrong, fmt.Sprintf("commands to its agent %v, and undisturbed %v", got.commands, want.commands))
	}
	if want.left != got.left {
		wrong = append(wrong, fmt.Sprintf("the server is left %s, and undisturbed %s", got.left, want.left))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// atMostOnce judges a restart of a server, or an NMI. Its effect can't be read back, so a conductor that finds that one was
// about to be sent does not send it again.
func (l *lab) atMostOnce(ctx context.Context, t *trial) error {
	n, err := l.Show(ctx, t.s.uuid)
	if err != nil {
		return err
	}
	sv, err := l.Server(ctx, t.s.server)
	if err != nil {
		return err
	}
	requests, may := since(t.k, t.s.before, sv).requests, l.calm[t.k.name].requests
	switch {
	case t.Name != chaos.Request && t.Name != chaos.Answered && t.Name != chaos.Over:
		return fmt.Errorf("its outcome is unknown, and nothing was about to be sent: the node says %q", n.LastError)
	case !slices.Equal(requests, may) && (t.Name != chaos.Request || len(requests) > 0):
		return fmt.Errorf("power requests %v, and undisturbed %v", requests, may)
	case n.State != string(t.k.to) || n.Reservation != "" || n.TargetPower != "":
		return fmt.Errorf("the node is %q, held by %q, its target power state is %q", n.State, n.Reservation, n.TargetPower)
	case t.k.power != "" && !unknown(n.LastError):
		return fmt.Errorf("the node says %q", n.LastError)
	}
	return nil
}

// unknown reports whether an error says that the outcome is unknown.
func unknown(words string) bool {
	return holds(words, "outcome unknown") || holds(words, "outcome is unknown")
}

// becomesAsAsked waits until asAsked succeeds, because what a node shows of its conductors lags behind their heartbeats.
func (l *lab) becomesAsAsked(ctx context.Context, t *trial) (sv stack.Server, err error) {
	err = becomes(ctx, func() (err error) { sv, err = l.asAsked(ctx, t); return err })
	return sv, err
}

// asAsked checks that the operation has ended as requested and that nothing holds the node. It reads the server after both,
// because before that the operation might still have been running.
func (l *lab) asAsked(ctx context.Context, t *trial) (sv stack.Server, err error) {
	o, err := l.Operation(ctx, t.id)
	if err != nil {
		return sv, err
	}
	n, err := l.Show(ctx, t.s.uuid)
	if err != nil {
		return sv, err
	}
	if sv, err = l.Server(ctx, t.s.server); err != nil {
		return sv, err
	}
	var wrong []string
	if o.Outcome != string(node.Succeeded) {
		wrong = append(wrong, "it did not succeed")
	}
	if n.State != string(t.k.to) {
		wrong = append(wrong, fmt.Sprintf("the node is %q, not %q", n.State, t.k.to))
	}
	if n.Reservation != "" || n.TargetPower != "" {
		wrong = append(wrong, fmt.Sprintf("the node is held by %q, its target power state is %q", n.Reservation, n.TargetPower))
	}
	quarantined := strings.Contains(n.Reason, "quarantine") // conductors come and go here, which does not concern the operation
	said := ""                                              // a request to the management interface leaves what the operation before has said
	if t.k.column.Spec().Management {
		said = t.s.said
	}
	if n.LastError != said || n.Maintenance && !quarantined {
		wrong = append(wrong, fmt.Sprintf("the node says %q, maintenance %t because of %q", n.LastError, n.Maintenance, n.Reason))
	}
	if on := map[bool]string{true: "power on", false: "power off"}[sv.Powered]; n.Power != on {
		wrong = append(wrong, fmt.Sprintf("the node shows %q, and the server is %q", n.Power, on))
	}
	if _, ok := n.Internal["agent_url"]; ok {
		wrong = append(wrong, "its agent is not forgotten")
	}
	if t.k.column == node.KindBMCPassword {
		if sv.Password == t.s.before.Password {
			wrong = append(wrong, "its BMC has the old password")
		}
		if err := l.knowsPassword(ctx, t.s, sv); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return sv, fmt.Errorf("%s; %s", strings.Join(wrong, "; "), o)
	}
	return sv, nil
}

// knowsPassword checks that Temper can log in to the BMC of a node, and that no second account is left there.
func (l *lab) knowsPassword(ctx context.Context, s *subject, sv stack.Server) error {
	if err := l.Call(ctx, http.MethodGet, "/v1/nodes/"+s.uuid+"/management/boot_device", nil, nil); err != nil {
		return fmt.Errorf("its BMC can't be read: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, sv.Address+"/redfish/v1/AccountService/Accounts", http.NoBody)
	if err != nil {
		return err
	}
	req.SetBasicAuth(sv.Username, sv.Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var all struct{ Members []any }
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		return err
	}
	if len(all.Members) != 1 {
		return fmt.Errorf("its BMC has %d accounts", len(all.Members))
	}
	return nil
}

// Queries of an agent change nothing and may be repeated.
var questions = []string{agent.GetDeploySteps, agent.GetCleanSteps, agent.GetServiceSteps, agent.GetPartitionUUIDs}
