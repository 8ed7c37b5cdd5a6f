package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
	"go.temper.dev/temper/workflows"
)

// The workflow of the floor, its task queues, and the processes that take part.
const (
	floorType         = "BenchFloor"
	floorQueue        = "bench-floor"
	floorStepsQueue   = "conductor/bench/floor"
	floorOrchestrator = "orchestrator"
	floorConductor    = "conductor"
	floorAPI          = "api"
)

// serveFloor is one process of the floor. It works at the Temporal at address until it is ended, and prints the address at which it takes
// requests, if it is an API.
func serveFloor(ctx context.Context, role, address string) error {
	c, err := worker.Dial(ctx, worker.Temporal{Address: address, Namespace: "temper", Identity: "floor-" + role}, zap.NewNop())
	if err != nil {
		return err
	}
	defer c.Close()
	switch role {
	case floorOrchestrator:
		return runUntil(ctx, floorOrchestrators(c))
	case floorConductor:
		return runUntil(ctx, floorConductors(c))
	case floorAPI:
		return takeFloorRequests(ctx, c)
	}
	return fmt.Errorf("the floor has no role %q", role)
}

func runUntil(ctx context.Context, w sdk.Worker) error {
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	fmt.Println("ready")
	<-ctx.Done()
	return nil
}

// floorOrchestrators has the options of worker.Orchestrator.
func floorOrchestrators(c client.Client) sdk.Worker {
	w := sdk.New(c, floorQueue, sdk.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 2, MaxConcurrentWorkflowTaskExecutionSize: 200})
	w.RegisterWorkflowWithOptions(floorWorkflow, workflow.RegisterOptions{Name: floorType})
	w.RegisterActivityWithOptions(floorBegin, activity.RegisterOptions{Name: "Begin"})
	w.RegisterActivityWithOptions(floorClose, activity.RegisterOptions{Name: "Close"})
	return w
}

// floorConductors has the options of worker.Conductor.
func floorConductors(c client.Client) sdk.Worker {
	w := sdk.New(c, floorStepsQueue, sdk.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 2, MaxConcurrentActivityExecutionSize: 500,
		MaxHeartbeatThrottleInterval: 1500 * time.Millisecond, DefaultHeartbeatThrottleInterval: 1500 * time.Millisecond,
	})
	w.RegisterActivityWithOptions(floorSteps, activity.RegisterOptions{Name: "RunSteps"})
	return w
}

// takeFloorRequests starts a workflow with each PUT of a number.
func takeFloorRequests(ctx context.Context, c client.Client) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
		if err == nil {
			err = startFloor(r.Context(), c, number)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})}
	go func() { <-ctx.Done(); _ = s.Close() }()
	return s.Serve(l)
}

// floorNode is the uuid of the node in the payloads of the floor. Nothing reads it.
const floorNode = "51625494-9a11-473b-847f-f8fe266c1677"

// startFloor starts a workflow as worker.Starter does.
func startFloor(ctx context.Context, c client.Client, number int64) error {
	o := node.Operation{ID: number, NodeUUID: floorNode, NodeName: floorNode, Kind: node.KindDeploy, Driver: "fake-hardware", Steps: []node.Step{{Interface: "deploy", Step: "prepare"}}}
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: fmt.Sprintf("node/%s/floor/%d/%d", floorNode, number, os.Getpid()), TaskQueue: floorQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "deploy " + floorNode, StaticDetails: fmt.Sprintf("deploy of node %s, operation %d.", floorNode, number),
		TypedSearchAttributes: workflows.StartAttributes(&o),
		Memo:                  map[string]any{"node": floorNode, "node_uuid": floorNode, "operation": strconv.FormatInt(number, 10), "kind": o.Kind},
	}, floorType, workflows.Input{Operation: number, Node: floorNode, Kind: o.Kind})
	return err
}

// floorWorkflow does in Temporal what a deploy of fake hardware does there, and nothing else: two local activities, and between them one
// activity in another process. The payloads have the types of a deploy's, so that they are of its size.
func floorWorkflow(ctx workflow.Context, in workflows.Input) error {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second, Summary: "begin"})
	var settings orchestrator.WorkflowSettings
	if err := workflow.ExecuteLocalActivity(local, "Begin", in.Operation).Get(ctx, &settings); err != nil {
		return err
	}
	onConductor := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: floorStepsQueue, ScheduleToStartTimeout: settings.ConductorTimeout, StartToCloseTimeout: settings.StepsTimeout,
		HeartbeatTimeout: settings.HeartbeatTimeout, WaitForCancellation: true, Summary: "deploy " + in.Node + ", from step deploy.prepare",
	})
	var res conductor.StepsResult
	if err := workflow.ExecuteActivity(onConductor, "RunSteps", conductor.StepsInput{Operation: in.Operation, Node: in.Node, Seq: 1}).Get(ctx, &res); err != nil {
		return err
	}
	local = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second, Summary: "close"})
	return workflow.ExecuteLocalActivity(local, "Close", orchestrator.EndInput{Operation: in.Operation, Outcome: node.Succeeded}).Get(ctx, nil)
}

func floorStepLines(state node.StepState, attempts int, by string) (lines []activities.StepLine) {
	for _, name := range []string{"prepare", "deploy", "boot_instance"} {
		lines = append(lines, activities.StepLine{Name: "deploy." + name, State: state, Attempts: attempts, Conductor: by})
	}
	return lines
}

func floorBegin(context.Context, int64) (orchestrator.WorkflowSettings, error) {
	return orchestrator.WorkflowSettings{
		Driver: "fake-hardware", HeartbeatTimeout: 5 * time.Second, ConductorTimeout: 15 * time.Second, WaitForConductor: 15 * time.Minute,
		StepsTimeout: 48 * time.Hour, DecisionWait: 24 * time.Hour, Steps: floorStepLines(node.StepPending, 0, ""),
	}, nil
}

func floorSteps(context.Context, conductor.StepsInput) (conductor.StepsResult, error) {
	return conductor.StepsResult{Next: conductor.NextClose, Conductor: "conductor-1", Steps: floorStepLines(node.StepDone, 1, "conductor-1")}, nil
}

func floorClose(context.Context, orchestrator.EndInput) (orchestrator.Closed, error) {
	return orchestrator.Closed{}, nil
}
