package worker_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
	"go.temper.dev/temper/workflows"
)

func TestAReadingIsAnsweredByAConductor(t *testing.T) {
	c, err := worker.Dial(t.Context(), worker.Temporal{Address: temporal(t), Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	orchestrator := sdk.New(c, workflows.OrchestratorQueue, sdk.Options{})
	orchestrator.RegisterWorkflowWithOptions(workflows.ReadBMC, workflow.RegisterOptions{Name: workflows.ReadType})
	asked := sdk.New(c, node.QueueName("", "redfish"), sdk.Options{DisableWorkflowWorker: true})
	asked.RegisterActivityWithOptions(func(_ context.Context, in conductor.ReadInput) (node.BMCReading, error) {
		if in.What == node.ReadBootDevice {
			return node.BMCReading{BootDevice: node.BootDevice{Device: "pxe", Persistent: true}}, nil
		}
		return node.BMCReading{}, activities.NonRetryable(fault.Coded(fault.BMCWrongPassword, "no, says the BMC"))
	}, activity.RegisterOptions{Name: "ReadBMC"})
	for _, w := range []sdk.Worker{orchestrator, asked} {
		require.NoError(t, w.Start())
		defer w.Stop()
	}
	s := worker.Starter{Client: c, Namespace: "temper"}
	n := &node.Node{UUID: "11111111-1111-1111-1111-111111111111", Driver: "redfish"}
	within := func(d time.Duration) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		t.Cleanup(cancel)
		return ctx
	}
	out, err := s.Read(within(time.Minute), n, node.ReadBootDevice, "")
	require.NoError(t, err)
	require.Equal(t, node.BootDevice{Device: "pxe", Persistent: true}, out.BootDevice)

	_, err = s.Read(within(time.Minute), n, node.ReadBootDevices, "")
	require.Equal(t, []any{fault.Denied, fault.BMCWrongPassword}, []any{fault.KindOf(err), fault.CodeOf(err)})
	require.ErrorContains(t, err, "no, says the BMC")

	n.Driver = "ipmi" // which nobody has
	_, err = s.Read(within(5*time.Second), n, node.ReadBootDevice, "")
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "%v", err)
	_, err = s.Read(t.Context(), n, node.ReadBootDevice, "")
	require.ErrorContains(t, err, "no deadline")
}

// A Temporal that is frozen takes no reading, and the client hears of that long before its own time is over.
func TestAReadingIsRefusedSoonIfTemporalIsFrozen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // connections are open, and nothing answers
	require.NoError(t, err)
	defer l.Close()
	c, err := worker.NewLazyClient(worker.Temporal{Address: l.Addr().String(), Namespace: "temper", Identity: "test"}, zap.NewNop())
	require.NoError(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	_, err = worker.Starter{Client: c, Namespace: "temper"}.Read(ctx, &node.Node{UUID: "11111111-1111-1111-1111-111111111111", Driver: "redfish"}, node.ReadBootDevice, "")
	require.Equal(t, fault.TemporalUnavailable, fault.CodeOf(err), "%v", err)
	require.NoError(t, ctx.Err())
}
