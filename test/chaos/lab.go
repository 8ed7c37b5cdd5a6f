package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

// settings are the defaults, with fast hardware.
const settings = `
reconcile_interval: 3s
power_timeout: 20s
bmc_away_timeout: 20s
virtual_media_timeout: 5s
soft_power_off_timeout: 20s
rack_power_delay: 20ms
rack_boot_delay: 50ms
rack_step_delay: 20ms
wait_for_conductor_groups: {` + hasty + ": " + hastyWait + "}\n"

// personas are the machines of the rack, in turn. They are those that take each request at once: what a BMC refuses for a while
// is sent again by another attempt, which has other points.
const personas = "generic,smc-x13,openbmc,ilo5,asrock,smc-x11"

const (
	atOnce   = 32 // nodes that are made ready at a time
	patience = 2 * time.Minute
)

// lab is a stack whose processes stop at points, and the nodes of the cases.
type lab struct {
	*stack.Stack
	shared *post // of the API and the orchestrator
	digest string
	// unguarded: a guard was removed, so the program does not do what is computed.
	unguarded bool
	slack     time.Duration
	say       func(format string, args ...any)

	nodes  []*subject
	spoilt []*subject // whose state is unknown; see restore
	rounds int

	restored int             // how often servers were restored
	group    string          // of the nodes and conductors of a round
	calm     map[string]calm // of each kind, by name
}

// subject is a node of the lab and its server.
type subject struct {
	uuid   string
	server string
	group  string // its node's

	before stack.Server // when its operation was asked for
	said   string       // the last error of its node at that time
}

func openLab(ctx context.Context, temper string, servers int, say func(string, ...any)) (*lab, error) {
	dir, err := os.MkdirTemp("", "temper-chaos-")
	if err != nil {
		return nil, err
	}
	shared, err := newPost(filepath.Join(dir, "shared"))
	if err != nil {
		return nil, err
	}
	l := &lab{shared: shared, say: say, calm: map[string]calm{}}
	l.Stack, err = stack.Config{
		Temper: temper, Settings: settings, Env: []string{shared.env()},
		Args: []string{"--nodes", strconv.Itoa(servers), "--conductors", "0", "--enroll=false", "--drivers", "redfish", "--persona", personas, "--restart"},
	}.Start(ctx)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if l.digest, err = l.Digest(ctx); err != nil {
		return nil, errors.Join(err, l.close(false))
	}
	all, err := l.Servers(ctx)
	if err != nil {
		return nil, errors.Join(err, l.close(false))
	}
	for _, sv := range all {
		l.nodes = append(l.nodes, &subject{server: sv.Name})
	}
	return l, nil
}

// close ends the stack. If keep is set, its data and logs stay.
func (l *lab) close(keep bool) error {
	if keep {
		l.say("data and logs are in %s, what was stopped where in %s", l.Dir, filepath.Dir(l.shared.dir))
		return l.End()
	}
	return errors.Join(l.Stop(), os.RemoveAll(filepath.Dir(l.shared.dir)))
}

// enroll enrols the subject's server, again if it is enrolled.
func (l *lab) enroll(ctx context.Context, s *subject) error {
	if s.uuid != "" {
		if err := l.Call(ctx, http.MethodDelete, "/v1/nodes/"+s.uuid, nil, nil); err != nil {
			return err
		}
	}
	sv, err := l.Server(ctx, s.server)
	if err != nil {
		return err
	}
	made, err := l.Enroll(ctx, sv, map[string]any{"automated_clean": false, "conductor_group": l.group, "rescue_interface": "agent"})
	s.uuid, s.group = made.UUID, l.group
	return err
}

// next returns the verb that brings a node nearer to the state aim, on the shortest way.
func next(at, aim node.State) string {
	switch at {
	case node.Enroll, node.CleanFailed, node.InspectFailed, node.AdoptFailed:
		return "manage"
	case node.Manageable:
		return "provide"
	case node.Available, node.DeployFailed:
		if aim == node.Active || aim == node.Rescue {
			return "active"
		}
		if at == node.Available {
			return "manage"
		}
		return "deleted"
	case node.Active:
		if aim == node.Rescue {
			return "rescue"
		}
		return "deleted"
	case node.Rescue, node.RescueFailed, node.UnrescueFailed:
		if aim == node.Active {
			return "unrescue"
		}
		return "deleted"
	case node.ErrorState, node.ServiceFailed:
		return "deleted"
	}
	return ""
}

// ready brings a subject into the state in which an operation of the kind can be requested.
func (l *lab) ready(ctx context.Context, s *subject, k kind) error {
	if s.uuid == "" {
		if err := l.enroll(ctx, s); err != nil {
			return err
		}
	}
	if s.group != l.group {
		// What an operation of an earlier row left may be undone just now, which refuses the move.
		if err := stack.Await(ctx, patience, func() error { return l.move(ctx, s, l.group) }); err != nil {
			return err
		}
	}
	if err := stack.Await(ctx, patience, func() error { return l.settled(ctx, s) }); err != nil {
		return err
	}
	if err := l.usedUp(ctx, s); err != nil {
		return err
	}
	for range 8 {
		n, err := l.Show(ctx, s.uuid)
		if err == nil && n.NeverOff {
			err = l.Set(ctx, s.uuid, map[string]any{"disable_power_off": false})
		}
		if err != nil {
			return err
		}
		at := node.State(n.State)
		if at == k.from {
			break
		}
		if k.from == node.Enroll && (at == node.Manageable || at == node.Available) {
			if err := l.enroll(ctx, s); err != nil {
				return err
			}
			break
		}
		aim := k.from
		if aim == node.Enroll {
			aim = node.Manageable
		}
		if err := l.step(ctx, s, n, next(at, aim)); err != nil {
			return err
		}
	}
	if err := l.switched(ctx, s, k.on); err != nil {
		return err
	}
	if err := l.prepare(ctx, s, k); err != nil {
		return err
	}
	edits := map[string]any{"automated_clean": true}
	if k.neverOff {
		edits["disable_power_off"] = true
	}
	if k.column == node.KindInspect { // the inspect interface can't be changed in other states
		edits["inspect_interface"] = k.inspector()
	}
	return l.Set(ctx, s.uuid, edits)
}

// prepare makes a subject ready for what its kind needs besides a state.
func (l *lab) prepare(ctx context.Context, s *subject, k kind) error {
	sv, err := l.Server(ctx, s.server)
	if err == nil && sv.Media != "" { // an operation of another row has attached it
		err = l.prepared(ctx, s, *detaches)
	}
	if err == nil && sv.Volumes > 0 { // an operation that was ended has left them
		err = l.prepared(ctx, s, kind{verb: "clean", body: map[string]any{"clean_steps": raids[1:]}})
	}
	if err == nil && k.before != nil {
		err = l.prepared(ctx, s, *k.before)
	}
	return err
}

// prepared carries out what makes a subject ready, and waits for the end of its operation, if it has one.
func (l *lab) prepared(ctx context.Context, s *subject, k kind) error {
	id, err := l.ask(ctx, s, k)
	if err != nil || id == "" {
		return err
	}
	o, err := l.ended(ctx, id)
	if err == nil && o.Outcome != string(node.Succeeded) {
		err = fmt.Errorf("make node %s (%s) ready: %s", s.uuid, s.server, o)
	}
	return err
}

func (l *lab) step(ctx context.Context, s *subject, n stack.Node, verb string) error {
	if verb == "" {
		return fmt.Errorf("node %s (%s) is %q: no way on from there: %s", s.uuid, s.server, n.State, n.LastError)
	}
	edits := map[string]any{"automated_clean": false}
	if verb == "active" {
		edits["instance_info"] = l.Image(l.digest)
	}
	if err := l.Set(ctx, s.uuid, edits); err != nil {
		return err
	}
	id, err := l.ask(ctx, s, kind{verb: verb})
	if err != nil || id == "" {
		return err
	}
	o, err := l.ended(ctx, id)
	if err == nil && o.Outcome != string(node.Succeeded) {
		err = fmt.Errorf("make node %s (%s) ready: %s", s.uuid, s.server, o)
	}
	return err
}

// settled fails while an operation holds a subject, or while it owes an undo, for which reconciliation opens an operation as
// soon as a conductor covers the node.
func (l *lab) settled(ctx context.Context, s *subject) error {
	n, err := l.Show(ctx, s.uuid)
	if err == nil && (n.Internal["temper_owed"] != nil || n.Reservation != "") {
		err = fmt.Errorf("%s owes %v and is held by %q", s.server, n.Internal["temper_owed"], n.Reservation)
	}
	return err
}

// move puts a subject into another conductor group.
func (l *lab) move(ctx context.Context, s *subject, group string) error {
	err := l.Set(ctx, s.uuid, map[string]any{"conductor_group": group})
	if err == nil {
		s.group = group
	}
	return err
}

// usedUp boots a server that has a boot override for once, which an operation before was to set.
func (l *lab) usedUp(ctx context.Context, s *subject) error {
	sv, err := l.Server(ctx, s.server)
	if err != nil || sv.BootOverride == "" {
		return err
	}
	for _, on := range []bool{false, true} {
		if err := l.switched(ctx, s, on); err != nil {
			return err
		}
	}
	return stack.Await(ctx, patience, func() error {
		sv, err := l.Server(ctx, s.server)
		if err == nil && sv.BootOverride != "" {
			err = fmt.Errorf("the boot override of %s is %q", s.server, sv.BootOverride)
		}
		return err
	})
}

// switched switches a server on or off.
func (l *lab) switched(ctx context.Context, s *subject, on bool) error {
	sv, err := l.Server(ctx, s.server)
	if err != nil || sv.Powered == on {
		return err
	}
	k := kind{power: node.PowerOff}
	if on {
		k.power = node.PowerOn
	}
	id, err := l.ask(ctx, s, k)
	if err != nil {
		return err
	}
	_, err = l.ended(ctx, id)
	return err
}

// ask requests an operation of a kind and returns its id; "" = the request needed none.
func (l *lab) ask(ctx context.Context, s *subject, k kind) (string, error) {
	method, path, body := http.MethodPut, "/v1/nodes/"+s.uuid+"/states/provision", map[string]any{"target": k.verb}
	switch {
	case k.path != "":
		method, path = cmp.Or(k.method, http.MethodPut), "/v1/nodes/"+s.uuid+k.path
		delete(body, "target")
	case k.power != "":
		path, body["target"] = "/v1/nodes/"+s.uuid+"/states/power", string(k.power)
	case k.column.Spec().Management: // Ironic's request would wait for the end
		method, path, body = http.MethodPost, "/temper/v1/nodes/"+s.uuid+"/operations", map[string]any{"verb": k.verb}
	}
	if k.verb == "rescue" {
		body["rescue_password"] = "of the user rescue"
	}
	maps.Copy(body, k.body)
	if body["image_url"] == ofRack {
		body["image_url"] = l.RackURL + "/images/deploy.iso"
	}
	var sent any = body
	if method == http.MethodDelete {
		sent = nil
	}
	h, err := l.Ask(ctx, method, path, sent, nil)
	if err != nil {
		return "", err
	}
	return h.Get("Temper-Operation"), nil
}

// each calls f for all subjects, some at a time, and joins the errors.
func each(subjects []*subject, f func(int, *subject) error) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(subjects))
	for i, s := range subjects {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i, s)
			<-slots
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
