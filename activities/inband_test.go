package activities_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// withAgent gives the bench an agent, for which a test sets the answer to the nth look at its
// commands (from 1), and a step that has sent its command and can't begin anew.
func (b *bench) withAgent(answer func(n int) (status int, body string)) {
	n := 0
	b.withAgentAt(func(w http.ResponseWriter, _ *http.Request) {
		n++
		status, body := answer(n)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func (b *bench) withAgentAt(handler http.HandlerFunc) {
	srv := httptest.NewTLSServer(handler)
	b.Cleanup(srv.Close)
	now := time.Now()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	b.change(func(n *node.Node) {
		n.Agent = &node.Agent{URL: srv.URL, VerifyCA: ca, FirstHeartbeatAt: &now, LastHeartbeatAt: &now}
	})
	b.steps.Settings.Agent = agent.Settings{Callback: agent.CallbackPolicy{AllowLoopback: true}}
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{
			Interface: "deploy", Step: "erase_pstore", Source: node.SourceAgent, State: node.StepRunning,
			Issued: &node.Issued{At: now, Command: "clean.execute_clean_step", Before: 1, After: "c0"},
		}}
	})
}

const eraseRuns = `{"commands": [
	{"id": "c0", "command_name": "get_clean_steps", "command_status": "SUCCEEDED"},
	{"id": "c1", "command_name": "execute_clean_step", "command_status": "RUNNING"}]}`

func TestALongCommandIsNotGivenUpForBlinksThatAddUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(n int) (int, string)
		last   bool // the fifth failure is the last
	}{
		"the agent runs it between two failures": {func(n int) (int, string) {
			if n%2 == 0 {
				return http.StatusBadGateway, ""
			}
			return http.StatusOK, eraseRuns
		}, false},
		"the agent only fails": {func(int) (int, string) { return http.StatusBadGateway, "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindClean, node.CleanWait, bmc.PowerOn, direct, plan.Options{DisableRamdisk: true})
			b.withAgent(c.answer)
			b.changeOp(func(o *node.Operation) { o.StepWait = &node.Wait{For: node.WaitCommand, Since: o.Steps[0].Issued.At} })
			for i := 1; i <= conductor.StepLimit; i++ {
				_, err := b.run()
				require.Error(t, err)
				require.Equal(t, c.last && i == conductor.StepLimit, final(err), "failure %d: %v", i, err)
				if w := b.op().StepWait; !final(err) {
					require.True(t, w.Until.After(time.Now()), "the end is told")
					require.Less(t, time.Until(*w.Until), 2*time.Minute)
				}
			}
		})
	}
}

// The settings of erasing reach an agent where ironic-python-agent looks for them, and are not stored with the node.
func TestAgentsAreGivenTheSettingsOfErasing(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindClean, node.CleanWait, bmc.PowerOn, direct, plan.Options{DisableRamdisk: true})
	var sent []byte
	b.withAgentAt(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "execute_clean_step") {
				sent = body
			}
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, `{"commands": [{"id": "c0", "command_name": "get_clean_steps", "command_status": "SUCCEEDED"}]}`)
	})
	b.changeOp(func(o *node.Operation) { o.Steps[0].Issued = nil })
	b.change(func(n *node.Node) { n.DriverInternalInfo = map[string]any{"kept": 1} })
	b.steps.Settings.Erasing = conductor.Erasing{NoNVMe: true, Overwrite: true}
	_, err := b.run()
	require.Error(t, err)
	var got struct {
		Params struct {
			Node struct {
				Internal map[string]any `json:"driver_internal_info"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(sent, &got))
	require.Equal(t, map[string]any{
		"kept": 1.0, "agent_enable_ata_secure_erase": true, "agent_enable_nvme_secure_erase": false,
		"agent_continue_if_secure_erase_failed": true, "agent_continue_if_ata_erase_failed": true,
	}, got.Params.Node.Internal)
	require.NotContains(t, b.node().DriverInternalInfo, "agent_enable_ata_secure_erase")
}

// An agent that shows its commands and answers none that is sent is silent since the first sending, and fails the step.
func TestAnAgentThatTakesNoCommandIsSilent(t *testing.T) {
	t.Parallel()
	const idle = `{"commands": [{"id": "c0", "command_name": "get_clean_steps", "command_status": "SUCCEEDED"}]}`
	refusing := func(lists int, look func(b *bench)) *bench {
		b := newBench(t, node.KindClean, node.CleanWait, bmc.PowerOn, direct, plan.Options{DisableRamdisk: true})
		b.steps.Settings.TellEvery = time.Nanosecond
		b.withAgent(func(n int) (int, string) {
			switch {
			case n%2 == 0: // a command that is sent
				return http.StatusBadGateway, ""
			case n > 2*lists:
				return http.StatusBadRequest, ""
			case n > 1:
				look(b)
			}
			return http.StatusOK, idle
		})
		return b
	}
	var told []node.Wait
	b := refusing(4, func(b *bench) { told = append(told, *b.op().StepWait) })
	_, err := b.run()
	require.True(t, final(err), err)
	require.Len(t, told, 3)
	for _, w := range told {
		require.Equal(t, node.WaitCommand, w.For)
		require.NotEmpty(t, w.Unread)
		require.True(t, w.Same(&told[0]), "what is sent again is the same request")
		require.Equal(t, told[0].UnreadSince, w.UnreadSince)
	}

	b = refusing(4, func(*bench) {})
	long := told[0]
	since := long.Since.Add(-2 * node.StallLimit)
	long.Since, long.UnreadSince = since, &since
	b.changeOp(func(o *node.Operation) { o.StepWait = &long })
	_, err = b.run()
	require.ErrorContains(t, err, "502")
	require.False(t, final(err), "it is tried again")
	require.Equal(t, 1, b.op().Steps[0].Failures)
}

func TestAStepWhoseAgentWasLostBeginsAnewOnce(t *testing.T) {
	t.Parallel()
	silent := func(int) (int, string) { return http.StatusBadGateway, "" }
	rebooted := func(int) (int, string) { return http.StatusOK, `{"commands": []}` }
	for name, c := range map[string]struct {
		step   string
		answer func(int) (int, string)
		change func(*bench)
		runs   int // until the step has failed for good or begins anew
		anew   bool
	}{
		"it is silent":                      {"erase_devices", silent, nil, conductor.StepLimit, true},
		"it has forgotten the command":      {"erase_devices", rebooted, nil, 1, true},
		"it went with the power":            {"erase_devices", silent, func(b *bench) { b.change(func(n *node.Node) { n.Agent = nil }) }, 1, true},
		"it went before it was told":        {"erase_pstore", silent, func(b *bench) { b.change(func(n *node.Node) { n.Agent, n.Operation.Steps[0].Issued = nil, nil }) }, 1, true},
		"it went, and can't be begun anew":  {"erase_pstore", silent, func(b *bench) { b.change(func(n *node.Node) { n.Agent = nil }) }, conductor.StepLimit, false},
		"the step can't be begun anew":      {"erase_pstore", rebooted, nil, 1, false},
		"it was begun anew before":          {"erase_devices", rebooted, func(b *bench) { b.changeOp(func(o *node.Operation) { o.Steps[0].Restarts = 1 }) }, 1, false},
		"it was given nothing yet":          {"erase_devices", silent, func(b *bench) { b.changeOp(func(o *node.Operation) { o.Steps[0].Issued = nil }) }, conductor.StepLimit, false},
		"somebody has asked for the end":    {"erase_devices", rebooted, func(b *bench) { b.changeOp(func(o *node.Operation) { o.Asked = node.AskCancel }) }, 1, false},
		"it says that the command went bad": {"erase_devices", failedErase, nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindClean, node.CleanWait, bmc.PowerOn, direct, plan.Options{DisableRamdisk: true})
			b.withAgent(c.answer)
			b.changeOp(func(o *node.Operation) { o.Steps[0].Step = c.step })
			until := time.Now()
			b.changeOp(func(o *node.Operation) {
				o.UsualUntil, o.Steps[0].Usual = &until, &node.Usual{MS: 1, Samples: node.EnoughSamples}
			})
			if c.change != nil {
				c.change(b)
			}
			var err error
			for range c.runs {
				_, err = b.run()
			}
			step := b.op().Steps[0]
			if !c.anew {
				require.True(t, err == nil || final(err), err)
				require.False(t, step.Restarting)
				require.Empty(t, b.machine.asked)
				return
			}
			require.False(t, final(err), err)
			require.True(t, step.Restarting)
			require.Nil(t, step.Issued)
			require.Contains(t, step.Note, "begun anew")
			require.Nil(t, step.Usual, "it says nothing about another boot of the agent")
			require.Nil(t, b.op().UsualUntil)
			_, err = b.run()
			require.NoError(t, err, "it waits for another agent")
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
			require.Nil(t, b.node().Agent, "the old one's word counts no more")
			require.Nil(t, b.op().Steps[0].Usual)
			require.True(t, b.op().StepWait.LateAt.After(time.Now()), "the call has a time of its own")
		})
	}
}

func failedErase(int) (int, string) {
	return http.StatusOK, `{"commands": [
	{"id": "c0", "command_name": "get_clean_steps", "command_status": "SUCCEEDED"},
	{"id": "c1", "command_name": "execute_clean_step", "command_status": "FAILED", "command_error": {"message": "no such disk"}}]}`
}
