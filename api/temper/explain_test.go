package temper_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/temper"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

func TestWhySaysWhatHappensAndWhatToDo(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	before, since, until := now.Add(-time.Hour), now.Add(-3*time.Minute), now.Add(27*time.Minute)
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
	redfish := map[string]map[string][]string{"redfish": {}}
	alive := []coverage.Conductor{{Hostname: "c1", Interfaces: redfish, Alive: true, HeartbeatAt: now.Add(-2 * time.Second)}}
	dead := []coverage.Conductor{
		{Hostname: "c1", Interfaces: redfish, HeartbeatAt: now.Add(-40 * time.Second)},
		{Hostname: "c2", Group: "rack", Interfaces: redfish, Alive: true, HeartbeatAt: now},
	}
	other := []coverage.Conductor{{Hostname: "f1", Interfaces: map[string]map[string][]string{"ipmi": {}, "fake-hardware": {}}, Alive: true, HeartbeatAt: now}}
	stalled := open(node.Waiting, node.Step{Interface: "deploy", Step: "deploy", State: node.StepRunning})
	stalled.WaitingFor, stalled.Blocked, stalled.BlockedAt = node.WaitsForConductor("", "redfish"), node.BlockedNoConductor, &since
	overdue := open(node.Waiting, node.Step{Interface: "deploy", Step: "deploy", State: node.StepWaiting})
	overdue.WaitingFor, overdue.WaitingUntil = "the agent's call after boot", &since
	refused := &node.Operation{ID: 11, Kind: node.KindDeploy, Driver: "redfish", Outcome: node.Failed, Cause: fault.BMCWrongPassword}
	ending := open(node.Holding, node.Step{Interface: "raid", Step: "apply", Source: node.SourceDriver, State: node.StepFailed, StartedAt: &since, LastError: "no disk"})
	ending.WaitingFor, ending.Asked, ending.AskedBy, ending.AskedReason = "a decision: retry, skip or abort", node.AskCancel, "bob", "wrong image"
	ending.Undo = []node.Undo{node.UndoEjectMedia}
	fresh := &node.Operation{ID: 13, Kind: node.KindDeploy, Phase: node.Accepted, AcceptedAt: since, Steps: []node.Step{{Interface: "deploy", Step: "deploy"}}}
	paused := open(node.Waiting, node.Step{Interface: "deploy", Step: "deploy", State: node.StepWaiting, LastError: "no answer."})
	paused.WaitingFor, paused.WaitingUntil, paused.Paused = node.PausedForMaintenance, nil, true
	rests := open(node.Waiting, node.Step{Interface: "deploy", Step: "deploy", State: node.StepWaiting})
	rests.WaitingFor, rests.TemporalPause = "the agent's call after boot", &node.Pause{What: node.PauseOfWorkflow, At: since, By: "ann@desk", Reason: "let me look"}
	died := node.Step{Interface: "deploy", Step: "deploy", State: node.StepRunning, Attempts: 3}
	for i, name := range []string{"c1", "c2", "c3"} {
		died.Deaths = append(died.Deaths, node.Death{Conductor: name, At: now.Add(time.Duration(i-3) * 10 * time.Second)})
	}
	died.LastError = node.DeathsOf(died.Deaths, "step "+died.Name(), 10*time.Second)
	putOff := open(node.Waiting, died)
	putOff.WaitingFor, putOff.Blocked = node.WaitsForNextTry(&died), node.BlockedDeaths
	lately := now.Add(-3 * time.Second)
	slow := open(node.Running, node.Step{Interface: "deploy", Step: "deploy", State: node.StepRunning})
	slow.WaitingUntil = nil
	slow.StepWait = &node.Wait{
		For: node.WaitPower, Subject: "power off", Since: since, Until: &until, Every: 2 * time.Second, Seen: "On", SeenAt: &lately, Power: node.PowerOn,
	}
	booted := open(node.Waiting, node.Step{Interface: "deploy", Step: "deploy", State: node.StepWaiting})
	booted.WaitingFor, booted.StepWait = "the agent's call after boot", &node.Wait{For: node.WaitCall, Subject: "deploy.iso", Since: since, Until: &until}
	terminated := &node.RunStatus{Known: true, How: "terminated", ClosedAt: now.Add(-2 * time.Second)}
	for name, c := range map[string]struct {
		node  node.Node
		facts explain.Facts
		want  string
	}{
		"it waits for its agent": {
			node.Node{ProvisionState: node.DeployWait, Operation: wait},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m). The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). " +
				"It waits for the agent's call after boot. Now: step deploy.deploy, until 2030-01-02 03:31:05Z at the latest (in 27m). Next: the operation ends, and the node is active. " +
				"You can: temper operation watch 12; temper operation cancel 12.",
		},
		"its step waits for the power": {
			node.Node{ProvisionState: node.Deploying, Operation: slow, PowerState: node.PowerOn, PowerReadAt: &before},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is deploying, operation 12 (deploy) is running since 2030-01-02 03:01:05Z (3m). The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). " +
				"Step deploy.deploy: power off asked at 03:01:05Z; the BMC still says On; looked at again every 2s; gives up at 03:31:05Z. " +
				"Its power: on, read 3s ago; wanted: off. Next: the operation ends, and the node is active. You can: temper operation watch 12; temper operation cancel 12.",
		},
		"its agent has not called, and looked itself up": {
			node.Node{ProvisionState: node.DeployWait, Operation: booted, Agent: &node.Agent{LookedUpAt: &lately}},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m). The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). " +
				"Step deploy.deploy: medium deploy.iso inserted, power on at 03:01:05Z; at 03:04:02Z its agent looked itself up, and has not called since; gives up at 03:31:05Z. " +
				"Its power: on, read 3m ago. Next: the operation ends, and the node is active. You can: temper operation watch 12; temper operation cancel 12.",
		},
		"its power is not known any more": {
			node.Node{ProvisionState: node.Available, PowerReadAt: &before},
			explain.Facts{Covered: true},
			"Node n1 is available, nobody holds it. Its power: unknown, last read 1h ago. You can: temper node deploy n1; temper node manage n1.",
		},
		"it holds for a decision": {
			node.Node{ProvisionState: node.DeployHold, Operation: held},
			explain.Facts{Covered: true, Fleet: dead},
			"Node n1 is deploy hold, operation 12 (deploy) is holding since 2030-01-02 03:01:05Z (3m). Step raid.apply failed: no disk. " +
				"The operation is asked for by ann, last on conductor c1, which is not alive (last heartbeat 40s ago). " +
				"It waits for a decision: retry, skip or abort. Next: it fails unless somebody decides, at 2030-01-02 03:31:05Z at the latest (in 27m). " +
				"You can: temper operation retry 12; temper operation skip 12; temper operation abort 12.",
		},
		"it was cancelled from a hold": {
			node.Node{ProvisionState: node.DeployHold, Operation: ending},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is deploy hold, operation 12 (deploy) is holding since 2030-01-02 03:01:05Z (3m). " +
				"The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). It is asked to end: cancel by bob (wrong image). " +
				"Next: what it may have left half done is undone (eject media, power off), then it ends. You can: temper operation watch 12.",
		},
		"its workflow was terminated in the hold": {
			node.Node{ProvisionState: node.DeployHold, Operation: held},
			explain.Facts{Covered: true, Fleet: alive, Run: terminated},
			"Node n1 is deploy hold, operation 12 (deploy) is holding since 2030-01-02 03:01:05Z (3m). " +
				"Its workflow was terminated at 2030-01-02 03:04:03Z: nobody works on it any more. The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). " +
				"Next: reconciliation ends it some seconds after its workflow has ended, and undoes what it left half done. You can: temper node recover n1 --reason WHY.",
		},
		"Temporal has lost its workflow": {
			node.Node{ProvisionState: node.DeployHold, Operation: held},
			explain.Facts{Covered: true, Fleet: alive, Run: &node.RunStatus{}},
			"Node n1 is deploy hold, operation 12 (deploy) is holding since 2030-01-02 03:01:05Z (3m). " +
				"Temporal does not know its workflow: nobody works on it. The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). " +
				"Next: reconciliation ends it when Temporal has not known it for some seconds or, where very many are unknown at once, for ten minutes " +
				`("temper operation recover --lost-temporal --reason WHY" confirms that Temporal has lost its data). You can: temper node recover n1 --force --reason WHY.`,
		},
		"all orchestrators are dead": {
			node.Node{ProvisionState: node.Deploying, Operation: fresh},
			explain.Facts{Covered: true, System: status.System{Now: now, Fleet: &coverage.Health{Age: 4 * time.Minute}, Late: time.Minute}},
			"Node n1 is deploying, operation 13 (deploy) is accepted since 2030-01-02 03:01:05Z (3m). " +
				"No orchestrator has reconciled for 4m: nothing goes on until one runs. Next: step deploy.deploy. You can: temper operation watch 13; temper operation cancel 13.",
		},
		"nobody takes up what was accepted": {
			node.Node{ProvisionState: node.Deploying, Operation: fresh},
			explain.Facts{Covered: true},
			"Node n1 is deploying, operation 13 (deploy) is accepted since 2030-01-02 03:01:05Z (3m). " +
				"No orchestrator has taken it up in 3m: it begins when one does. Next: step deploy.deploy. You can: temper operation watch 13; temper operation cancel 13.",
		},
		"its workflow is paused in Temporal, as the row says": {
			node.Node{ProvisionState: node.DeployWait, Operation: rests},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is wait call-back, operation 12 (deploy) is paused since 2030-01-02 03:01:05Z (3m). " +
				"It is paused in Temporal since 2030-01-02 03:01:05Z by ann@desk (let me look); no further step begins, and its time limits stop meanwhile. " +
				"The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). Next: step deploy.deploy, when somebody lets it go on. " +
				"You can: temper operation unpause 12; temper operation cancel 12.",
		},
		"its activity is paused in the hold, as Temporal says": {
			node.Node{ProvisionState: node.DeployHold, Operation: held},
			explain.Facts{Covered: true, Fleet: alive, Run: &node.RunStatus{Known: true, Open: true, Pause: &node.Pause{What: node.PauseOfActivity, At: since.Add(time.Minute)}}},
			"Node n1 is deploy hold, operation 12 (deploy) is paused since 2030-01-02 03:02:05Z (2m). " +
				"It is paused in Temporal since 2030-01-02 03:02:05Z; its step was interrupted, and its time limits stop meanwhile. " +
				"The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). Next: step raid.apply (last error: no disk), when somebody lets it go on. " +
				"You can: temper operation unpause 12; temper operation retry 12; temper operation skip 12; temper operation abort 12; temper operation cancel 12.",
		},
		"it was unpaused since the row was written": {
			node.Node{ProvisionState: node.DeployWait, Operation: rests},
			explain.Facts{Covered: true, Fleet: alive, Run: &node.RunStatus{Known: true, Open: true}},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m). The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). " +
				"It waits for the agent's call after boot. Now: step deploy.deploy, until 2030-01-02 03:31:05Z at the latest (in 27m). Next: the operation ends, and the node is active. " +
				"You can: temper operation watch 12; temper operation cancel 12.",
		},
		"it is paused": {
			node.Node{ProvisionState: node.DeployWait, Operation: paused, Maintenance: true},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m), in maintenance. " +
				"The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). It is paused: maintenance. Next: step deploy.deploy (last error: no answer). " +
				"You can: temper operation watch 12; temper operation cancel 12; temper node maintenance unset n1.",
		},
		"its conductors died of the step": {
			node.Node{ProvisionState: node.Deploying, Operation: putOff},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is deploying, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m). " +
				"3 conductors in a row died within 10s of taking up step deploy.deploy: c1 at 2030-01-02 03:03:35Z, c2 at 2030-01-02 03:03:45Z, c3 at 2030-01-02 03:03:55Z. " +
				"The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). It waits for the next try of step deploy.deploy: 3 conductors died of it. " +
				"Next: another try of step deploy.deploy, at 2030-01-02 03:31:05Z (in 27m). You can: temper operation watch 12; temper operation cancel 12.",
		},
		"it has failed": {
			node.Node{ProvisionState: node.DeployFailed, LastError: "no disk"},
			explain.Facts{Covered: true, Previous: failed},
			"Node n1 is deploy failed, nobody holds it: no disk. You can: temper operation retry 11; temper node deploy n1; temper node undeploy n1.",
		},
		"a service has failed": {
			node.Node{ProvisionState: node.ServiceFailed, LastError: "no setting"},
			explain.Facts{Covered: true},
			"Node n1 is service failed, nobody holds it: no setting. You can: temper node undeploy n1; temper node abort n1; temper node rescue n1.",
		},
		"it has failed and is in maintenance": {
			node.Node{ProvisionState: node.DeployFailed, LastError: "no disk", Maintenance: true, Fault: node.FaultPower},
			explain.Facts{Covered: true, Previous: failed},
			"Node n1 is deploy failed, nobody holds it: no disk, in maintenance with fault power failure. You can: temper node maintenance unset n1; temper operation retry 11; temper node undeploy n1.",
		},
		"it owes, and nobody covers it": {
			node.Node{
				ProvisionState: node.DeployFailed, LastError: "no disk", Driver: "redfish", Owed: []node.Undo{node.UndoPowerOff, node.UndoEjectMedia},
				Quarantine: &node.Quarantine{Since: since},
			},
			explain.Facts{Fleet: dead, Previous: failed},
			"Node n1 is deploy failed, nobody holds it: no disk. No live conductor covers it since 2030-01-02 03:01:05Z (3m): " +
				`none with driver redfish in the default conductor group has its interfaces and takes work. ` +
				"It is offered to nobody until one is back. " +
				"Known conductors: c1 (dead, with driver redfish, in the default conductor group, last heartbeat 40s ago); " +
				`c2 (alive, with driver redfish, in conductor group "rack", last heartbeat 0s ago). ` +
				`It waits for a conductor with driver redfish in the default conductor group. ` +
				"Next: an undo of what earlier work left: power off, eject media. " +
				"What to do: " + fault.NoConductor.Row().Advise + " " +
				"You can: temper conductor list; temper conductor --name c1 --enabled-drivers redfish; " +
				"temper node set n1 --conductor-group rack; temper node waive n1 --reason WHY.",
		},
		"it owes in the maintenance of its own failure": {
			node.Node{
				ProvisionState: node.CleanFailed, LastError: "no disk", Owed: []node.Undo{node.UndoEjectMedia},
				Maintenance: true, MaintenanceByFault: true, Fault: node.FaultClean, MaintenanceReason: "no disk",
			},
			explain.Facts{Covered: true},
			"Node n1 is clean failed, nobody holds it: no disk, in maintenance with fault clean failure. " +
				"Next: an undo of what earlier work left: eject media. You can: temper node manage n1; temper node waive n1 --reason WHY; temper node maintenance unset n1.",
		},
		"it owes in somebody's maintenance": {
			node.Node{ProvisionState: node.CleanFailed, LastError: "no disk", Owed: []node.Undo{node.UndoEjectMedia}, Maintenance: true, MaintenanceReason: "mine"},
			explain.Facts{Covered: true},
			"Node n1 is clean failed, nobody holds it: no disk, in maintenance (mine). It waits for the end of maintenance. " +
				"Next: an undo of what earlier work left: eject media. You can: temper node manage n1; temper node waive n1 --reason WHY; temper node maintenance unset n1.",
		},
		"what it owes was refused for good": {
			node.Node{
				ProvisionState: node.Manageable, Owed: []node.Undo{node.UndoEjectMedia}, OwedError: "eject virtual media of node n: 400.", OwedRefused: true,
				Maintenance: true, MaintenanceReason: "mine", MaintenanceSince: &since, ProvisionUpdatedAt: &before,
			},
			explain.Facts{Covered: true, Undo: &node.Operation{ID: 15, Kind: node.KindUndo, Outcome: node.Failed}},
			"Node n1 is manageable since 2030-01-02 02:04:05Z (1h), nobody holds it, in maintenance since 2030-01-02 03:01:05Z (3m) (mine). " +
				"The hardware refused the undo of earlier work: eject media (eject virtual media of node n: 400). It is tried again when somebody retries it, " +
				"changes how the BMC is reached, or boots the node anew. " +
				"You can: temper operation retry 15; temper node provide n1; temper node inspect n1; temper node waive n1 --reason WHY; temper node maintenance unset n1.",
		},
		"what it owes could not be done yet": {
			node.Node{ProvisionState: node.DeployFailed, LastError: "no disk", Owed: []node.Undo{node.UndoEjectMedia}, OwedError: "no answer"},
			explain.Facts{Covered: true},
			"Node n1 is deploy failed, nobody holds it: no disk. The last try to undo what earlier work left failed: no answer. " +
				"Next: an undo of what earlier work left: eject media. You can: temper node deploy n1; temper node undeploy n1; temper node waive n1 --reason WHY.",
		},
		"nobody covers it": {
			node.Node{ProvisionState: node.Available, Driver: "redfish", ConductorGroup: "mars"},
			explain.Facts{Fleet: dead[:1]},
			"Node n1 is available, nobody holds it. No live conductor covers it: " +
				`none with driver redfish in conductor group "mars" has its interfaces and takes work. ` +
				"It is offered to nobody until one is back. " +
				"Known conductors: c1 (dead, with driver redfish, in the default conductor group, last heartbeat 40s ago). " +
				"What to do: " + fault.NoConductor.Row().Advise +
				" You can: temper conductor list; temper conductor --conductor-group mars --enabled-drivers redfish; temper node manage n1.",
		},
		"it waits for a conductor": {
			node.Node{ProvisionState: node.DeployWait, Operation: stalled, Driver: "redfish"},
			explain.Facts{Fleet: other},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m). No live conductor covers it: " +
				"none with driver redfish in the default conductor group has its interfaces and takes work. " +
				"It is offered to nobody until one is back. " +
				"Known conductors: f1 (alive, with driver fake-hardware, ipmi, in the default conductor group, last heartbeat 0s ago). " +
				"The operation is asked for by ann, last on conductor c1, which is not alive. " +
				"It waits for a conductor with driver redfish in the default conductor group; it fails at 2030-01-02 03:31:05Z if none comes. " +
				"Next: step deploy.deploy, as soon as such a conductor comes. What to do: " + fault.NoConductor.Row().Advise +
				" You can: temper conductor list; temper conductor --enabled-drivers redfish; temper operation watch 12; temper operation cancel 12.",
		},
		"it should have failed, and Temporal is away": {
			node.Node{ProvisionState: node.DeployWait, Operation: overdue, Driver: "redfish"},
			explain.Facts{Covered: true, Fleet: alive, System: status.System{Now: now, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: since}}}},
			"Node n1 is wait call-back, operation 12 (deploy) is waiting since 2030-01-02 03:01:05Z (3m). " +
				"Temporal does not answer since 2030-01-02 03:01:05Z (3m): nodes can be read and changed, and requests are accepted; operations begin and go on when it answers. " +
				"The operation is asked for by ann, on conductor c1 (last heartbeat 2s ago). It waits for the agent's call after boot. " +
				"Now: step deploy.deploy, until 2030-01-02 03:01:05Z at the latest (overdue by 3m, because Temporal does not answer). " +
				"Next: the operation ends, and the node is active. You can: temper operation watch 12; temper operation cancel 12.",
		},
		"it has failed, and nobody covers it": {
			node.Node{ProvisionState: node.DeployFailed, LastError: "401", Driver: "redfish"},
			explain.Facts{Fleet: other, Previous: refused},
			"Node n1 is deploy failed, nobody holds it: 401. No live conductor covers it: " +
				"none with driver redfish in the default conductor group has its interfaces and takes work. " +
				"It is offered to nobody until one is back. " +
				"Known conductors: f1 (alive, with driver fake-hardware, ipmi, in the default conductor group, last heartbeat 0s ago). " +
				"What to do first: " + fault.NoConductor.Row().Advise + " What to do about the failure: " + fault.BMCWrongPassword.Row().Advise +
				" You can: temper conductor list; temper conductor --enabled-drivers redfish; temper node set n1 --driver-info redfish_password=-.",
		},
		"its conductors come and go": {
			node.Node{ProvisionState: node.Available, Quarantine: &node.Quarantine{Since: since, Held: true}},
			explain.Facts{Covered: true, Fleet: alive},
			"Node n1 is available, nobody holds it. It is in quarantine since 2030-01-02 03:01:05Z (3m) because its conductors come and go. " +
				"It is offered again when they have stayed for 1m. You can: temper node deploy n1; temper node manage n1.",
		},
		"it rests in maintenance": {
			node.Node{ProvisionState: node.Available, Maintenance: true, MaintenanceReason: "disk"},
			explain.Facts{Covered: true},
			"Node n1 is available, nobody holds it, in maintenance (disk). You can: temper node manage n1; temper node maintenance unset n1.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.node.Name, c.facts.Now = "n1", now
			require.Equal(t, c.want, temper.Explained(&c.node, c.facts).Text)
		})
	}
}
