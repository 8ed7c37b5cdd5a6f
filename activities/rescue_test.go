package activities_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// rescuing returns a bench whose node is to be rescued, with a hash as its password.
func rescuing(t *testing.T) *bench {
	b := newBench(t, node.KindRescue, node.Rescuing, bmc.PowerOn,
		map[string]string{"rescue": "agent", "boot": "redfish-virtual-media", "network": "noop"}, plan.Options{RescuePassword: "$6$salt$hash"})
	b.change(func(n *node.Node) { n.DriverInfo["rescue_iso"] = "http://images/rescue.iso" })
	return b
}

// called gives the bench's node an agent of this boot, which answers as f says.
func (b *bench) called(f http.HandlerFunc) {
	srv := httptest.NewTLSServer(f)
	b.Cleanup(srv.Close)
	now := time.Now()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	b.change(func(n *node.Node) {
		n.Agent = &node.Agent{URL: srv.URL, VerifyCA: ca, FirstHeartbeatAt: &now, LastHeartbeatAt: &now}
	})
	b.steps.Settings.Agent = agent.Settings{Callback: agent.CallbackPolicy{AllowLoopback: true}}
}

func TestARescueLeavesTheServerOnWithItsMedium(t *testing.T) {
	t.Parallel()
	b := rescuing(t)
	b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoPowerOff} })
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, node.RescueWait, b.node().ProvisionState)
	require.Equal(t, "http://images/rescue.iso", b.machine.media.Image)
	require.ElementsMatch(t, []node.Undo{node.UndoPowerOff, node.UndoEjectMedia, node.UndoClearBoot}, b.op().Undo)

	var got agent.Command
	gone := false
	b.called(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case gone:
			panic(http.ErrAbortHandler)
		case req.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"commands": []}`)
		default:
			gone = json.NewDecoder(req.Body).Decode(&got) == nil // the agent ends its API with this answer
			_, _ = io.WriteString(w, `{"id": "r1", "command_name": "finalize_rescue", "command_status": "SUCCEEDED", "command_result": null}`)
		}
	})
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, agent.FinalizeRescue, got.Name)
	require.JSONEq(t, `{"rescue_password": "$6$salt$hash", "hashed": true}`, string(got.Params))
	require.Empty(t, b.op().Undo)
	require.Empty(t, b.node().Owed, "reconciliation would switch the rescued server off")
	require.Equal(t, bmc.PowerOn, b.machine.power)
	require.True(t, b.machine.media.Inserted)
	require.Nil(t, b.node().Agent)
}

func TestAnAgentThatEndsWithoutAnAnswerIsBootedAgainForTheRescue(t *testing.T) {
	t.Parallel()
	b := rescuing(t)
	_, err := b.run()
	require.NoError(t, err)
	gone := false
	b.called(func(w http.ResponseWriter, req *http.Request) {
		if gone = gone || req.Method == http.MethodPost; gone {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"commands": []}`)
	})
	for range conductor.StepLimit + 1 {
		if r, err := b.run(); err == nil {
			require.Equal(t, conductor.NextAgent, r.Next)
			break
		}
	}
	require.True(t, b.op().Steps[1].Restarting)
	require.Nil(t, b.node().Agent, "the agent of a new boot is awaited")
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn, bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
}

func TestUnrescueBootsTheDisk(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindUnrescue, node.Unrescuing, bmc.PowerOn,
		map[string]string{"rescue": "agent", "boot": "redfish-virtual-media", "network": "noop"}, plan.Options{})
	b.machine.media = bmc.Media{Inserted: true, Image: "http://images/rescue.iso"}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.False(t, b.machine.media.Inserted)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
}
