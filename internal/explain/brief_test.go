package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/node"
)

// Three lines say what happens and why, until when or what comes next, and what to do.
func TestThreeLinesSayWhatUntilWhenAndWhatToDo(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	from, until := at.Add(-time.Minute), at.Add(time.Hour)
	alive := []coverage.Conductor{{Hostname: "c1", Alive: true, HeartbeatAt: at}}
	step := node.Step{Interface: "deploy", Step: node.StepWriteImage, State: node.StepRunning, StartedAt: &from, Attempts: 1}
	failed := step
	failed.State, failed.LastError = node.StepFailed, "no disk"
	of := func(phase node.Phase, s node.Step, w *node.Wait) *node.Operation {
		return &node.Operation{
			ID: 7, Kind: node.KindDeploy, Phase: phase, Conductor: "c1", AcceptedAt: from, WaitingUntil: &until, StepWait: w,
			Steps: []node.Step{s, {Index: 1, Interface: "deploy", Step: "boot_instance"}},
		}
	}
	for name, c := range map[string]struct {
		n    node.Node
		f    explain.Facts
		want string
	}{
		"nothing happens": {
			node.Node{ProvisionState: node.Active},
			explain.Facts{Covered: true},
			"Node n1 is active, nobody holds it.\nNext: nothing, until somebody asks for it.\nYou can: c",
		},
		"a step waits": {
			node.Node{ProvisionState: node.DeployWait, Operation: of(node.Running, step, &node.Wait{For: node.WaitCall, Subject: "deploy.iso", Since: from, Until: &until})},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is wait call-back, operation 7 (deploy) is running since 2030-01-02 03:03:05Z (1m). Step deploy.write_image: medium deploy.iso inserted, power on at 03:03:05Z; " +
				"its agent has not called since; gives up at 04:04:05Z.\nUntil 2030-01-02 04:04:05Z at the latest (in 1h); then step deploy.boot_instance.\nYou can: c",
		},
		"a decision": {
			node.Node{ProvisionState: node.DeployHold, Operation: of(node.Holding, failed, nil)},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is deploy hold, operation 7 (deploy) is holding since 2030-01-02 03:03:05Z (1m). Step deploy.write_image failed: no disk.\n" +
				"Next: it fails unless somebody decides, at 2030-01-02 04:04:05Z at the latest (in 1h).\nYou can: c",
		},
		"no conductor covers it": {
			node.Node{ProvisionState: node.Available, Driver: "redfish"},
			explain.Facts{},
			"Node n1 is available, nobody holds it. No live conductor covers it: none with driver redfish in the default conductor group has its interfaces and takes work. " +
				"It is offered to nobody until one is back.\nNext: nothing, until somebody asks for it.\nYou can: c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.n.Name, c.f.Now = "n1", at
			e := explain.Node(&c.n, c.f)
			require.Equal(t, c.want, strings.Join(e.Brief("c"), "\n"))
		})
	}
}
