package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestWhySaysWhatHappensAndWhatToDo(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	since, until := now.Add(-3*time.Minute), now.Add(27*time.Minute)
	open := func(phase node.Phase, step node.Step) *node.Operation {
		return &node.Operation{
			ID: 12, Kind: node.KindDeploy, Phase: phase, RequestedBy: "ann", AcceptedAt: since, Conductor: "c1",
			Driver: "redfish", Steps: []node.Step{step}, WaitingUntil: &until,
		}
	}
	wait := open(node.Waiting, node.Step{Interface: "deploy", Step: "deploy", State: node.StepWaiting})
	wait.WaitingFor = "the agent's call after boot"
	held := open(node.Holding, node.Step{Interface: "raid", Step: "apply", Source: node.SourceDriver, State: node.StepFailed, LastError: "no disk"})
	held.WaitingFor = "a decision: retry, skip or abort"
	failed := &node.Operation{ID: 11, Kind: node.KindDeploy, Outcome: node.Failed}
	for name, c := range map[string]struct {
		node  node.Node
		facts node.Facts
		want  string
	}{
		"it waits for its agent": {
			node.Node{ProvisionState: node.DeployWait, Operation: wait},
			node.Facts{Covered: true, Worker: true},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05 UTC (3m0s). It is asked for by ann, on conductor c1. " +
				"It waits for the agent's call after boot. Next: step deploy.deploy, at 2030-01-02 03:31:05 UTC at the latest (in 27m0s). " +
				"You can: temper operation watch 12; temper operation cancel 12.",
		},
		"it holds for a decision": {
			node.Node{ProvisionState: node.DeployHold, Operation: held},
			node.Facts{Covered: true},
			"Node n1 is deploy hold, operation 12 (deploy) is holding since 2030-01-02 03:01:05 UTC (3m0s). It is asked for by ann, last on conductor c1, which is not alive. " +
				"It waits for a decision: retry, skip or abort. Next: it fails unless somebody decides, at 2030-01-02 03:31:05 UTC at the latest (in 27m0s). " +
				"You can: temper operation retry 12; temper operation skip 12; temper operation abort 12.",
		},
		"it has failed": {
			node.Node{ProvisionState: node.DeployFailed, LastError: "no disk"},
			node.Facts{Covered: true, Previous: failed},
			"Node n1 is deploy failed, nobody holds it: no disk. You can: temper operation retry 11; temper node deploy n1; temper node undeploy n1.",
		},
		"it owes, and nobody covers it": {
			node.Node{ProvisionState: node.DeployFailed, Driver: "redfish", Owed: []node.Undo{node.UndoPowerOff, node.UndoEjectMedia}},
			node.Facts{},
			`Node n1 is deploy failed, nobody holds it. It waits for a conductor with driver redfish in conductor group "". ` +
				"Next: an undo of what earlier work left: power off, eject media. You can: temper node deploy n1; temper node undeploy n1.",
		},
		"it rests in maintenance": {
			node.Node{ProvisionState: node.Available, Maintenance: true, MaintenanceReason: "disk"},
			node.Facts{Covered: true},
			"Node n1 is available, nobody holds it, in maintenance (disk). You can: temper node deploy n1; temper node manage n1; temper node maintenance unset n1.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.node.Name, c.facts.Now = "n1", now
			require.Equal(t, c.want, node.WhyOf(&c.node, c.facts).Text)
		})
	}
}
