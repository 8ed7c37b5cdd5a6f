// Command record drives every kind of operation on a stack of its own and
// writes their Temporal histories, which the tests of package workflows replay:
// a change of workflow code that old runs could not follow fails there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

func main() {
	temper := flag.String("temper", "bin/temper", "the temper binary")
	out := flag.String("out", "workflows/testdata/histories", "folder to write to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *temper, *out); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// recorder writes the histories of a stack's operations.
type recorder struct {
	*stack.Stack
	temporal client.Client
	out      string
}

func run(ctx context.Context, temper, out string) (err error) {
	s, err := stack.Start(ctx, temper, "deploy_callback_timeout: 20s\n", "--nodes", "3", "--conductors", "2", "--drivers", "redfish", "--restart")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	c, err := client.Dial(client.Options{HostPort: s.TemporalAddress, Namespace: "temper"})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	r := &recorder{Stack: s, temporal: c, out: out}
	return r.record(ctx)
}

// leg is one request and its result.
type leg struct {
	name   string // of the file; "" = not kept
	from   string
	verb   string
	to     string
	body   map[string]any
	before func(context.Context) error
	during func(context.Context) error
}

func (r *recorder) record(ctx context.Context) error {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return err
	}
	digest, err := r.Digest(ctx)
	if err != nil {
		return err
	}
	image := func(value string) func(context.Context) error {
		return func(ctx context.Context) error { return r.SetImage(ctx, nodes[0].UUID, value) }
	}
	wrong := "0000000000000000000000000000000000000000000000000000000000000000"
	legs := []leg{
		{name: "ManageNode", from: "enroll", verb: "manage", to: "manageable"},
		{name: "InspectNode", from: "manageable", verb: "inspect", to: "manageable"},
		{name: "CleanNode", from: "manageable", verb: "clean", to: "manageable", body: map[string]any{
			"clean_steps": []map[string]any{{"interface": "deploy", "step": "erase_devices_metadata"}},
		}},
		{name: "ProvideNode", from: "manageable", verb: "provide", to: "available"},
		{name: "DeployNode-failed", from: "available", verb: "active", to: "deploy failed", before: image(wrong)},
		{name: "DeployNode", from: "deploy failed", verb: "active", to: "active", before: image(digest)},
		{name: "RebuildNode", from: "active", verb: "rebuild", to: "active"},
		{name: "RescueNode", from: "active", verb: "rescue", to: "rescue", body: map[string]any{"rescue_password": "of the user rescue"}},
		{name: "UnrescueNode", from: "rescue", verb: "unrescue", to: "active"},
		{name: "ServiceNode", from: "active", verb: "service", to: "active", body: map[string]any{
			"service_steps": []map[string]any{{"interface": "deploy", "step": "inject_files"}},
		}},
		{name: "UndeployNode", from: "active", verb: "deleted", to: "available"},
		{name: "DeployNode-killed", from: "available", verb: "active", to: "active", before: image(digest), during: r.killConductor},
		{from: "active", verb: "deleted", to: "available"},
		{from: "available", verb: "manage", to: "manageable"},
		{name: "AdoptNode", from: "manageable", verb: "adopt", to: "active"},
		{from: "active", verb: "deleted", to: "available"},
		{name: "DeployNode-cancelled", from: "available", verb: "active", to: "deploy failed", before: both(image(digest), r.noAgent), during: r.cancel},
		{name: "DeployNode-timeout", from: "deploy failed", verb: "active", to: "deploy failed"},
	}
	for _, l := range legs {
		if err := r.play(ctx, nodes[0], l); err != nil {
			return fmt.Errorf("%s (%s): %w", l.verb, l.name, err)
		}
	}
	if err := r.power(ctx, nodes[1]); err != nil {
		return err
	}
	if err := r.management(ctx, nodes[1]); err != nil {
		return err
	}
	if err := r.vendor(ctx, nodes[1]); err != nil {
		return err
	}
	if err := r.undo(ctx, nodes[0]); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if err := r.steered(ctx, nodes[0]); err != nil {
		return err
	}
	return r.keepReconcile(ctx)
}

func both(f, g func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return errors.Join(f(ctx), g(ctx)) }
}

func (r *recorder) play(ctx context.Context, n stack.Node, l leg) error {
	if l.before != nil {
		if err := l.before(ctx); err != nil {
			return err
		}
	}
	if err := r.provision(ctx, n, l.verb, "", l.body); err != nil {
		return err
	}
	if l.during != nil {
		if err := l.during(ctx); err != nil {
			return err
		}
	}
	op, err := r.awaitEnd(ctx, n.UUID)
	if err != nil {
		return err
	}
	now, err := r.Show(ctx, n.UUID)
	if err == nil && now.State != l.to {
		err = fmt.Errorf("node is %q, not %q: %s", now.State, l.to, now.LastError)
	}
	if err != nil {
		return err
	}
	return r.keep(ctx, l.name, op.WorkflowID, op.RunID)
}

// patience is how long anything may take.
const patience = 2 * time.Minute

// until waits for the newest operation of a node.
func (r *recorder) until(ctx context.Context, uuid, what string, good func(stack.Operation) bool) (stack.Operation, error) {
	return r.AwaitOperation(ctx, uuid, what, patience, good)
}

func (r *recorder) awaitEnd(ctx context.Context, uuid string) (stack.Operation, error) {
	return r.until(ctx, uuid, "ended", func(o stack.Operation) bool { return o.State == "ended" })
}

// first returns the node that the legs use.
func (r *recorder) first(ctx context.Context) (stack.Node, error) {
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return stack.Node{}, err
	}
	return nodes[0], nil
}

// killConductor kills the conductor that works on the node's step.
func (r *recorder) killConductor(ctx context.Context) error {
	n, err := r.first(ctx)
	if err != nil {
		return err
	}
	op, err := r.until(ctx, n.UUID, "at work", func(o stack.Operation) bool { return o.State == "running" && o.Conductor != "" })
	if err != nil {
		return err
	}
	_, err = r.Signal(op.Conductor, syscall.SIGKILL)
	return err
}

func (r *recorder) cancel(ctx context.Context) error {
	n, err := r.first(ctx)
	if err != nil {
		return err
	}
	op, err := r.until(ctx, n.UUID, "waiting", func(o stack.Operation) bool { return o.State == "waiting" })
	if err != nil {
		return err
	}
	return r.Call(ctx, http.MethodPost, "/temper/v1/operations/"+op.ID+"/cancel", map[string]any{"reason": "recorded"}, nil)
}

// noAgent keeps the agents of all servers from coming up.
func (r *recorder) noAgent(ctx context.Context) error {
	return r.Faults(ctx, []map[string]any{{"kind": "no_agent", "when": "before"}})
}

func (r *recorder) power(ctx context.Context, n stack.Node) error {
	err := r.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/power", map[string]any{"target": "rebooting"}, nil)
	if err != nil {
		return err
	}
	op, err := r.awaitEnd(ctx, n.UUID)
	if err != nil {
		return err
	}
	return r.keep(ctx, "PowerNode", op.WorkflowID, op.RunID)
}

// management makes the requests to the management interface, whose operations have ended when they are answered, and reads.
func (r *recorder) management(ctx context.Context, n stack.Node) error {
	path := "/v1/nodes/" + n.UUID + "/management/"
	for _, one := range []struct {
		name, path string
		body       map[string]any
	}{
		{"SetBootDevice", "boot_device", map[string]any{"boot_device": "pxe", "persistent": false}},
		{"InjectNMI", "inject_nmi", map[string]any{}},
		{"SetIndicator", "indicators/1@chassis", map[string]any{"state": node.IndicatorOn}},
	} {
		if err := r.Call(ctx, http.MethodPut, path+one.path, one.body, nil); err != nil {
			return err
		}
		op, err := r.Newest(ctx, n.UUID)
		if err == nil {
			err = r.keep(ctx, one.name, op.WorkflowID, op.RunID)
		}
		if err != nil {
			return err
		}
	}
	if err := r.Call(ctx, http.MethodGet, path+"boot_device", nil, nil); err != nil {
		return err
	}
	return errors.Join(r.keepReading(ctx), r.answered(ctx, n), r.password(ctx, n))
}

// answered makes the requests to the management interface that are answered before their operations have ended.
func (r *recorder) answered(ctx context.Context, n stack.Node) error {
	path := "/v1/nodes/" + n.UUID
	image := r.Image("")["image_source"]
	for _, one := range []struct {
		name, method, path string
		body               map[string]any
	}{
		{"SetBootMode", http.MethodPut, "/states/boot_mode", map[string]any{"target": node.BootModeBIOS}},
		{"SetSecureBoot", http.MethodPut, "/states/secure_boot", map[string]any{"target": false}},
		{"AttachVirtualMedia", http.MethodPost, "/vmedia", map[string]any{"device_type": node.MediaCDROM, "image_url": image}},
		{"DetachVirtualMedia", http.MethodDelete, "/vmedia", nil},
	} {
		var body any
		if one.body != nil {
			body = one.body
		}
		if err := r.Call(ctx, one.method, path+one.path, body, nil); err != nil {
			return err
		}
		op, err := r.awaitEnd(ctx, n.UUID)
		if err == nil {
			err = r.keep(ctx, one.name, op.WorkflowID, op.RunID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// password gives the BMC a new password.
func (r *recorder) password(ctx context.Context, n stack.Node) error {
	err := r.Call(ctx, http.MethodPost, "/temper/v1/nodes/"+n.UUID+"/operations", map[string]any{"verb": node.VerbRotatePassword}, nil)
	if err != nil {
		return err
	}
	op, err := r.awaitEnd(ctx, n.UUID)
	if err != nil {
		return err
	}
	return r.keep(ctx, "ChangeBMCPassword", op.WorkflowID, op.RunID)
}

// vendor calls a method of the vendor interface that changes something.
func (r *recorder) vendor(ctx context.Context, n stack.Node) error {
	path := "/v1/nodes/" + n.UUID + "/vendor_passthru/" + node.StepEjectMedia
	if err := r.Call(ctx, http.MethodPost, path, map[string]any{}, nil); err != nil {
		return err
	}
	op, err := r.awaitEnd(ctx, n.UUID)
	if err == nil {
		err = r.keep(ctx, "CallVendorMethod", op.WorkflowID, op.RunID)
	}
	return err
}

// keepReading keeps the history of the reading that was made.
func (r *recorder) keepReading(ctx context.Context) error {
	return stack.Await(ctx, patience, func() error {
		page, err := r.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'ReadBMC' AND ExecutionStatus = 'Completed'"})
		if err == nil && len(page.GetExecutions()) == 0 {
			err = errors.New("no reading is in Temporal's list")
		}
		if err != nil {
			return err
		}
		run := page.GetExecutions()[0].GetExecution()
		return r.keep(ctx, "ReadBMC", run.GetWorkflowId(), run.GetRunId())
	})
}

// undo terminates a deploy that waits for its agent: what it left is undone by an operation of its own.
func (r *recorder) undo(ctx context.Context, n stack.Node) error {
	if err := r.Provision(ctx, n.UUID, "active"); err != nil {
		return err
	}
	op, err := r.until(ctx, n.UUID, "waiting", func(o stack.Operation) bool { return o.State == "waiting" })
	if err != nil {
		return err
	}
	if err := r.temporal.TerminateWorkflow(ctx, op.WorkflowID, op.RunID, "recorded"); err != nil {
		return err
	}
	op, err = r.until(ctx, n.UUID, "undone", func(o stack.Operation) bool { return o.Kind == "undo" && o.State == "ended" })
	if err != nil {
		return err
	}
	return r.keep(ctx, "UndoNode", op.WorkflowID, op.RunID)
}

func (r *recorder) keepReconcile(ctx context.Context) error {
	c, err := client.NewClientFromExistingWithContext(ctx, r.temporal, client.Options{Namespace: r.TemporalReconcile})
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.ScheduleClient().GetHandle(ctx, "reconcile").Describe(ctx)
	if err != nil {
		return err
	}
	for _, a := range list.Info.RecentActions {
		if w := a.StartWorkflowResult; w != nil {
			return r.keepOf(ctx, c, "Reconcile", w.WorkflowID, w.FirstExecutionRunID)
		}
	}
	return errors.New("the reconciliation has not run yet")
}

// keep writes a closed workflow's history.
func (r *recorder) keep(ctx context.Context, name, workflowID, runID string) error {
	return r.keepOf(ctx, r.temporal, name, workflowID, runID)
}

func (r *recorder) keepOf(ctx context.Context, c client.Client, name, workflowID, runID string) error {
	if name == "" {
		return nil
	}
	var h historypb.History
	it := c.GetWorkflowHistory(ctx, workflowID, runID, true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			return err
		}
		h.Events = append(h.Events, e)
	}
	b, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&h)
	if err != nil {
		return err
	}
	fmt.Printf("%-22s %4d events\n", name, len(h.Events))
	return os.WriteFile(filepath.Join(r.out, name+".json"), append(b, '\n'), 0o644)
}
