package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// asCommand makes the test binary be temporal-dev: a process of its own that can be killed, without linking the
// server twice.
const asCommand = "TEMPORAL_DEV_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a running temporal-dev.
type process struct {
	ready ready
	cmd   *exec.Cmd
	log   *bytes.Buffer // to be read once ended is closed
	ended chan struct{}
	err   error // of the end
}

func command(data string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(os.Args[0], append([]string{"--data", data}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func start(t *testing.T, data string, args ...string) *process {
	t.Helper()
	file := filepath.Join(data, "ready.json")
	// The previous process on this data may have been killed, which leaves its ready file.
	require.NoError(t, os.RemoveAll(file))
	p := &process{ended: make(chan struct{})}
	p.cmd, p.log = command(data, append(args, "--ready-file", file)...)
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { _ = p.end(t, syscall.SIGKILL) })
	deadline, again := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-p.ended:
			require.Fail(t, "ended before it was ready", "%v: %s", p.err, p.log)
		case <-deadline:
			require.Fail(t, "not ready in a minute")
		case <-again.C:
		}
		body, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(body, &p.ready) == nil {
			return p
		}
	}
}

// end sends the signal to a process that has not ended, and waits for the end.
func (p *process) end(t *testing.T, sig syscall.Signal) error {
	t.Helper()
	_ = p.cmd.Process.Signal(sig) // the only error is that it has ended
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		require.Fail(t, "did not end after "+sig.String())
	}
	return p.err
}

func (p *process) dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort:  p.ready.Address,
		Namespace: p.ready.Namespace,
		Logger:    sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func contextFor(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestServesWhatItsReadyFileSays(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--metrics-listen", "127.0.0.1:0")
	require.Equal(t, "temper", p.ready.Namespace)
	ctx, c := contextFor(t, 30*time.Second), p.dial(t)

	ns, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: "temper"})
	require.NoError(t, err)
	require.Equal(t, retention, ns.Config.WorkflowExecutionRetentionTtl.AsDuration())

	attributes, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: "temper"})
	require.NoError(t, err)
	want := map[string]enumspb.IndexedValueType{}
	for _, a := range searchAttributes {
		want[a.name] = a.kind
	}
	require.Equal(t, want, attributes.CustomAttributes)

	require.Contains(t, get(t, p.ready.UIURL+"/"), "<html")
	for _, button := range []string{"Reset", "Pause", "Cancel", "Signal", "Update", "Terminate"} { // docs/steering.md
		require.Contains(t, get(t, p.ready.UIURL+"/api/v1/settings"), `"Workflow`+button+`Disabled":false`)
	}
	require.Contains(t, get(t, p.ready.UIURL+"/api/v1/namespaces/temper"), `"259200s"`)
	require.Contains(t, get(t, p.ready.MetricsURL), "service_requests")
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(contextFor(t, 30*time.Second), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
	return string(body)
}

// waiting is a workflow that has run a step and waits for a signal.
func waiting(ctx workflow.Context, name string) (string, error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute})
	var greeting string
	if err := workflow.ExecuteLocalActivity(ctx, greet, name).Get(ctx, &greeting); err != nil {
		return "", err
	}
	var end string
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, &end)
	return greeting + end, nil
}

func greet(_ context.Context, name string) (string, error) { return "hello " + name, nil }

func work(t *testing.T, c client.Client) worker.Worker {
	t.Helper()
	w := worker.New(c, "test", worker.Options{})
	w.RegisterWorkflow(waiting)
	w.RegisterWorkflow(patient)
	w.RegisterActivity(untilCancelled)
	require.NoError(t, w.Start())
	return w
}

// An accepted workflow must survive SIGKILL at any moment, so the kill comes while more are being started.
func TestOpenWorkflowsSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := start(t, data)
	c := first.dial(t)
	w := work(t, c)

	const enough = 40
	accepted := make(chan [2]string, 10_000)
	starting, stopStarting := context.WithCancel(t.Context())
	var starters sync.WaitGroup
	for s := range 8 {
		starters.Go(func() {
			for i := 0; starting.Err() == nil; i++ {
				id := fmt.Sprintf("node/%d/deploy/%d", s, i)
				ctx, cancel := context.WithTimeout(starting, 2*time.Second)
				run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
					ID: id, TaskQueue: "test",
					TypedSearchAttributes: temporal.NewSearchAttributes(
						temporal.NewSearchAttributeKeyKeyword("TemperNodeID").ValueSet("survivor")),
				}, waiting, id)
				cancel()
				if err != nil {
					return
				}
				accepted <- [2]string{id, run.GetRunID()}
			}
		})
	}
	require.Eventually(t, func() bool { return len(accepted) >= enough }, 30*time.Second, time.Millisecond)
	require.Error(t, first.end(t, syscall.SIGKILL))
	stopStarting()
	starters.Wait()
	close(accepted)
	w.Stop()

	second := start(t, data)
	ctx, c2 := contextFor(t, time.Minute), second.dial(t)
	var runs [][2]string
	for a := range accepted {
		d, err := c2.DescribeWorkflowExecution(ctx, a[0], a[1])
		require.NoError(t, err, "%s was accepted and is lost", a[0])
		require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, d.WorkflowExecutionInfo.Status)
		runs = append(runs, a)
	}
	require.GreaterOrEqual(t, len(runs), enough)
	require.Eventually(t, func() bool {
		n, err := c2.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: `TemperNodeID = 'survivor' AND ExecutionStatus = 'Running'`,
		})
		return err == nil && n.Count >= int64(len(runs))
	}, 30*time.Second, 50*time.Millisecond, "visibility never lists them all")

	defer work(t, c2).Stop()
	for _, r := range runs {
		require.NoError(t, c2.SignalWorkflow(ctx, r[0], r[1], "go", "!"))
	}
	for _, r := range runs {
		var got string
		require.NoError(t, c2.GetWorkflow(ctx, r[0], r[1]).Get(ctx, &got))
		require.Equal(t, "hello "+r[0]+"!", got)
	}
}

func TestSIGTERMEndsItInFiveSecondsWithPollsOpen(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, data)
	w := work(t, p.dial(t))
	defer w.Stop()
	require.Eventually(t, func() bool {
		d, err := p.dial(t).DescribeTaskQueue(contextFor(t, 5*time.Second), "test", enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		return err == nil && len(d.Pollers) > 0
	}, 30*time.Second, 50*time.Millisecond)

	begin := time.Now()
	require.NoError(t, p.end(t, syscall.SIGTERM), "%s", p.log)
	require.Less(t, time.Since(begin), 5*time.Second)
	require.NoFileExists(t, filepath.Join(data, "ready.json"))
	// On a busy machine the server's own client may ask the frontend before it is ready, or the end may cut off a reading of the
	// namespaces, which the server logs.
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(p.log.String()), "\n"), func(line string) bool {
		return strings.Contains(line, "Frontend is not healthy yet") || strings.Contains(line, "context canceled")
	})
	require.Len(t, lines, 1, "it is quiet: %s", p.log)
}

func TestSecondProcessOnTheSameDataIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	start(t, data)
	cmd, log := command(data)
	require.Error(t, cmd.Run())
	require.Contains(t, log.String(), "another temporal-dev holds")
}

func TestUnfinishedSchemaIsThrownAway(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(data, "schema.new"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "schema.new", storeFile), []byte("half"), 0o600))
	start(t, data, "--ui-listen", "")
	require.NoDirExists(t, filepath.Join(data, "schema.new"))
}

// patient starts an activity that never ends by itself, and waits until it has seen the cancellation.
func patient(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    time.Minute,
		WaitForCancellation: true,
	})
	return workflow.ExecuteActivity(ctx, untilCancelled).Get(ctx, nil)
}

func untilCancelled(ctx context.Context) error {
	activity.RecordHeartbeat(ctx, "begun")
	<-ctx.Done()
	return ctx.Err()
}

// Without worker commands an activity learns of its cancellation only from the answer to its next heartbeat. This one
// sends no more heartbeats.
func TestCancelReachesARunningActivityAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--ui-listen", "")
	ctx, c := contextFor(t, time.Minute), p.dial(t)
	defer work(t, c).Stop()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "test"}, patient)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		d, err := c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: "temper", Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID()},
		})
		return err == nil && len(d.PendingActivities) == 1 && d.PendingActivities[0].HeartbeatDetails != nil
	}, 30*time.Second, 20*time.Millisecond)

	begin := time.Now()
	require.NoError(t, c.CancelWorkflow(ctx, run.GetID(), ""))
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, run.Get(ctx, nil), &cancelled)
	require.Less(t, time.Since(begin), 5*time.Second)
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no data folder":          {nil, "--data is required"},
		"an address for everyone": {[]string{"--data", "d", "--listen", "0.0.0.0:7233"}, "not a loopback address"},
		"a UI for everyone":       {[]string{"--data", "d", "--ui-listen", ":8080"}, "--ui-listen"},
		"a host name":             {[]string{"--data", "d", "--listen", "db.example.org:1"}, "--listen"},
		"no frontend":             {[]string{"--data", "d", "--listen", ""}, "--listen must not be empty"},
		"no port":                 {[]string{"--data", "d", "--listen", "127.0.0.1"}, "missing port"},
		"an unknown level":        {[]string{"--data", "d", "--log-level", "loud"}, "log-level"},
		"a stray argument":        {[]string{"--data", "d", "up"}, `unexpected argument "up"`},
		"a nameless namespace":    {[]string{"--data", "d", "--namespace", ""}, "--namespace must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseOptions(tc.args)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestAnAddressThatIsTakenIsOneLine(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	for _, flag := range []string{"--listen", "--ui-listen", "--metrics-listen"} {
		cmd, out := command(t.TempDir(), flag, l.Addr().String())
		require.Error(t, cmd.Run(), flag)
		require.Equal(t, "temporal-dev: listen tcp "+l.Addr().String()+": bind: address already in use\n", out.String(), flag)
	}
}

// If the address is taken after checkFree has looked at it, Temporal itself reports that.
func TestTheServersErrorsHaveNoStack(t *testing.T) {
	t.Parallel()
	if os.Getenv(asCommand+"_LOG") != "" {
		newLogger(zap.NewAtomicLevelAt(zapcore.WarnLevel)).Fatal("no address")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), asCommand+"_LOG=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "no address")
	require.Equal(t, 1, strings.Count(strings.TrimSpace(string(out)), "\n")+1, "%s", out)
}

func TestPortZeroBecomesAFreePort(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"--data", "d", "--listen", "localhost:0"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", o.listen.Addr().String())
	require.NotZero(t, o.listen.Port())
	require.NotZero(t, o.ui.Port())
	require.NotEqual(t, o.listen.Port(), o.ui.Port())
	require.False(t, o.metrics.IsValid())
}
