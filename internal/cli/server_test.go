package cli

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/worker"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// fakeWorkflows carries out operations by ending them: all succeed, but deploys of nodes called stuck go on until they are cancelled.
type fakeWorkflows struct {
	*store.Store
	under  sync.WaitGroup
	refuse error          // of decisions; nil = they are taken
	status node.RunStatus // of workflows
}

// runID is what the SDK's test environment calls a run.
const runID = "default-test-run-id"

func (w *fakeWorkflows) Start(ctx context.Context, o *node.Operation) error {
	_, err := w.Begin(ctx, o.ID, o.WorkflowID, runID)
	if err != nil || strings.HasPrefix(o.NodeName, "stuck") && o.Kind == node.KindDeploy {
		return err
	}
	w.end(ctx, o.ID, node.Succeeded)
	return nil
}

func (w *fakeWorkflows) Cancel(ctx context.Context, o *node.Operation, _ string) error {
	w.end(ctx, o.ID, node.Cancelled)
	return nil
}

func (w *fakeWorkflows) Nudge(context.Context, *node.Operation) error { return nil }

func (w *fakeWorkflows) Decide(ctx context.Context, o *node.Operation, a node.Action, by, reason string) error {
	if w.refuse != nil {
		return w.refuse
	}
	err := w.workflow(func(ops *orchestrator.Operations) any { return ops.Decide }, orchestrator.DecideInput{Operation: o.ID, Seq: o.Claim.Seq + 1, Action: a, By: by, Reason: reason})
	if err == nil && a == node.ActionAbort {
		w.end(ctx, o.ID, node.Cancelled)
	}
	return err
}

// workflow has one of the activities done that an operation's workflow does.
func (w *fakeWorkflows) workflow(do func(*orchestrator.Operations) any, in any) error {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	ops := &orchestrator.Operations{Store: w.Store}
	env.RegisterActivity(ops)
	_, err := env.ExecuteActivity(do(ops), in)
	return err
}

// hold has an operation hold at a step, as if that had failed and those before it were done.
func (w *fakeWorkflows) hold(ctx context.Context, id int64, step string) error {
	o, err := w.Direct(ctx, id, func(n *node.Node) (node.OperationChange, error) {
		for i := range n.Operation.Steps {
			if s := &n.Operation.Steps[i]; s.Name() == step {
				s.Attempts, s.Failures, s.Limit = 6, 5, 5
				break
			} else {
				s.State = node.StepDone
			}
		}
		return node.OperationChange{}, nil
	})
	if err != nil {
		return err
	}
	return w.workflow(func(ops *orchestrator.Operations) any { return ops.Hold }, orchestrator.HoldInput{Operation: id, Seq: o.Claim.Seq + 1, Error: "no disk", Wait: time.Hour})
}

func (w *fakeWorkflows) Status(context.Context, *node.Operation) (node.RunStatus, error) {
	return w.status, nil
}

func (w *fakeWorkflows) Unpause(context.Context, *node.Operation, string, string) error {
	w.status.Pause = nil
	return nil
}

func (w *fakeWorkflows) Await(context.Context, *node.Operation) error { return nil }

func (w *fakeWorkflows) Read(context.Context, *node.Node, node.Reading, string) (node.BMCReading, error) {
	return node.BMCReading{
		BootDevice: node.BootDevice{Device: node.DevicePXE}, BootDevices: []string{node.DevicePXE, node.DeviceDisk},
		Subscription: &node.EventSubscription{ID: "5", Protocol: "Redfish", Destination: "https://listener.example.org/events"},
	}, nil
}

func (w *fakeWorkflows) Terminate(context.Context, *node.Operation, string) error { return nil }

func (w *fakeWorkflows) end(ctx context.Context, id int64, outcome node.Outcome) {
	w.under.Add(1)
	go func() {
		defer w.under.Done()
		_, _ = w.CloseOperation(context.WithoutCancel(ctx), node.End{Operation: id, RunID: runID, Outcome: outcome})
	}()
}

// serverURL is the API itself over a database of its own, with one conductor that has both drivers.
func serverURL(t *testing.T, auth api.Auth) string {
	t.Helper()
	url, _ := newServer(t, auth)
	return url
}

// newServer is realAPI, with who works on what it accepts.
func newServer(t *testing.T, auth api.Auth) (string, *fakeWorkflows) {
	t.Helper()
	keys, err := store.NewKeyset()
	require.NoError(t, err)
	db, err := store.Open(t.Context(), store.Config{URL: testenv.Postgres(t), Keyset: keys, MaxConns: 8, ConductorTimeout: time.Hour}) // nobody sends heartbeats
	require.NoError(t, err)
	t.Cleanup(db.Close)
	w := &fakeWorkflows{Store: db, status: node.RunStatus{Known: true, Open: true}}
	t.Cleanup(w.under.Wait)
	hardware, err := worker.NewHardware(node.HardwareTypes(), worker.HardwareConfig{BMC: bmc.Settings{Reach: dial.Reach{Loopback: true}}, Log: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { hardware.Close(context.Background()) })
	_, err = db.RegisterConductor(t.Context(), coverage.Conductor{Hostname: "c1", Interfaces: hardware.Enabled()})
	require.NoError(t, err)
	s, err := api.New(api.Config{
		Store: db, Operations: w, Drivers: hardware, Auth: auth, AutomatedClean: true, Safe: time.Second, Discovery: true,
		Reconcile: func(context.Context) error { return nil }, ReconcileLate: time.Minute,
	})
	require.NoError(t, err)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL, w
}

func TestAgainstTheAPIItself(t *testing.T) {
	url := serverURL(t, api.Auth{})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "user_data"), []byte("#cloud-config\npassword: hunter2\n"), 0o600))
	bmc := filepath.Join(t.TempDir(), "bmc.json")
	require.NoError(t, os.WriteFile(bmc, []byte(`{"redfish_password":"hunter2","redfish_username":"admin"}`), 0o600))
	for _, c := range []struct {
		args string
		out  string // part of it
		err  string // part of it; "" = none
	}{
		{args: "driver list", out: "redfish        c1"},
		{args: "driver show redfish", out: "redfish_address"},
		{args: "driver show fake-hardware", out: "LOGICAL DISK"},
		{args: "driver show abacus", err: "Could not find the following driver(s) or hardware type(s): abacus"},
		{args: "conductor list", out: "c1    alive"},
		{args: "conductor show c1", out: "nodes it owns"},
		{args: "conductor drain c1", out: "c1 is draining: it takes no new steps until temper conductor undrain or a restart"},
		{args: "conductor list", out: "c1    draining"},
		{args: "conductor undrain c1", out: "c1 takes steps again"},
		{args: "conductor undrain c2", err: "Conductor c2 could not be found"},
		{args: "conductor list", out: "c1    alive"},
		{args: "conductor show c2", err: "Conductor c2 could not be found; temper conductor list shows which there are"},

		{args: "node create n1 --driver fake-hardware --property cpus=8 --extra rack={\"row\":3} --resource-class big", out: "extra.rack.row"},
		{args: "node create n2 --driver fake-hardware"},
		{args: "node create stuck --driver fake-hardware"},
		{args: "node create r1 --driver redfish --driver-info redfish_address=https://10.0.0.1 --driver-info @" + bmc, out: "driver_info.redfish_password  ******"},
		{args: "node create n1 --driver fake-hardware", err: "n1: A node with name n1 already exists"},
		{args: "node create n9 --driver abacus", err: "n9: No valid host was found"},
		{args: "node list", out: "n1 "},
		{args: "node boot-device show n1", out: "n1    pxe          no          pxe, disk"},
		{args: "node boot-device set n1 --device disk --persistent --wait 1m", out: "boot_device"},
		{args: "node boot-device set n1 --device disk --dry-run", out: "management.set_boot_device"},
		{args: "node boot-device set n1 --device toaster", err: "Invalid boot device toaster specified"},
		{args: "node nmi r1 --wait 1m", out: "nmi"},
		{args: "node nmi n1", err: "does not support inject_nmi"},
		{args: "node bmc-password rotate r1 n1", out: "bmc_password  succeeded"},
		{args: "node bmc-password rotate n1 --wait 1m", out: "bmc_password  succeeded"},
		{args: "node bmc-password rotate n1 --at-once 0", err: "--at-once must be from 1 to 64"},
		{args: "node passthru list r1", out: "create_subscription    POST"},
		{args: "node passthru call r1 --method delete_subscription --arg id=5 --wait 1m", out: "vendor_passthru"},
		{args: "node passthru call r1 --method eject_vmedia --arg boot_device=cd --dry-run", out: "vendor.eject_vmedia"},
		{args: "node passthru call r1 --method levitate", err: "No handler for method levitate"},
		{args: "node passthru call r1", err: `required flag(s) "method" not set`},
		{args: "node passthru read r1 --method get_subscription --arg id=5", out: "https://listener.example.org/events"},
		{args: "node passthru read r1 --method get_subscription", err: "id can't be None"},
		{args: "ring nodes n1", out: "c1"},
		{args: "ring nodes n9", err: "Node n9 could not be found"},
		{args: "ring nodes n1 --driver redfish", err: "not both"},
		{args: "node list --state enroll --fields name --sort name:desc --limit 2 -o yaml", out: "    links:"},
		{args: "node list --state asleep", err: `Provision state "asleep" is not valid; it is one of: enroll, verifying, manageable, available, deploying, `},
		{args: "node list --sort frob", err: "frob"},
		{args: "node show n1 -o json", out: `"row": 3`},
		{args: "node show n1 n9", out: "n1", err: "1 of 2 failed:\n  n9: Node n9 could not be found; temper node list shows which there are"},

		{args: "node set n1 n2 --description both --driver-info a=b --interface deploy=fake", out: "n2: set driver_info.a, description, deploy_interface"},
		{args: "node health n1", out: "the health of node n1 was never read: conductors read it every health_interval"},
		{args: "node console show n1", out: "n1    no"},
		{args: "node console n1", err: "the console of node n1 is not enabled; temper node console enable n1 enables it"},
		{args: "node console enable n1", out: "console enabled"},
		{args: "node console show n1", out: "n1    yes"},
		{args: "node console disable n1", out: "console disabled"},
		{args: "node console enable r1", err: "Driver redfish does not support console"},
		{args: "node console show n9", err: "Node n9 could not be found; temper node list shows which there are"},
		{args: "node console n9", err: "Node n9 could not be found; temper node list shows which there are"},
		{args: "node health n9", err: "Node n9 could not be found; temper node list shows which there are"},
		{args: "node health", out: "NODE"},
		{args: "node health --status ill", err: "status must be one of"},
		{args: "node health n1 --status ok", err: "not for one node"},
		{args: "node why n1 n2", out: "2 nodes: nobody is needed\n"},
		{args: "node why n1 n9", err: "Node n9 could not be found"},
		{args: "node why", err: "name at least one node or filter"},
		{args: "why", out: "no node needs a person\n"},
		{args: "why --nodes --reason held -o json", out: `"nodes": []`},
		{args: "status", out: "orchestrators: no orchestrator runs\n  still works: requests are accepted", err: "not all is well: orchestrators"},
		{args: "node set n1 --name", err: "flag needs an argument"},
		{args: "node set n1 --description=", out: "n1: removed description"},
		{args: "node unset n1 --extra rack --resource-class --interface deploy", out: "n1: removed extra.rack, resource_class, deploy_interface"},
		{args: "node set n1 --frob=1", err: "unknown flag"},
		{args: "node set n9 --extra a=1", err: "n9: Node n9 could not be found"},

		{args: "node trait add n1 CUSTOM_A CUSTOM_B", out: "n1: now has CUSTOM_A, CUSTOM_B"},
		{args: "node trait remove n1 CUSTOM_A", out: "n1: no longer has CUSTOM_A"},
		{args: "node trait list n1", out: "CUSTOM_B\n"},
		{args: "node trait remove n1 CUSTOM_A", err: "trait CUSTOM_A"},
		{args: "node trait set n1 CUSTOM_C", out: "n1: has CUSTOM_C"},
		{args: "node trait remove n1 --all", out: "n1: has no traits"},

		{args: "node maintenance set n1 --reason dust", out: "n1: in maintenance"},
		{args: "node show n1", out: "maintenance_reason"},
		{args: "node maintenance unset n1", out: "n1: out of maintenance"},

		{args: "port create 52:54:00:00:00:01 --node n1 --local-link port_id=1 --local-link switch_id=02:00:00:00:00:01", out: "local_link_connection.port_id"},
		{args: "port create 52:54:00:00:00:01 --node n2", err: "52:54:00:00:00:01"},
		{args: "port create 52:54:00:00:00:02 --node n9", err: "Node n9 could not be found"},
		{args: "port list --node n1", out: "52:54:00:00:00:01"},
		{args: "port set 52:54:00:00:00:01 --name p1 --pxe-enabled=false --extra a=1", out: "p1"},
		{args: "port show p1", out: "pxe_enabled"},
		{args: "port set p1 --extra a.b=1", err: "PATCH takes letters"},
		{args: "port-group create --name bond0 --mode 802.3ad --property miimon=100", err: `required flag(s) "node" not set`},
		{args: "port-group create --node n1 --name bond0 --mode 802.3ad --property miimon=100", out: "properties.miimon"},
		{args: "port-group create --node n1 --name bond0", err: "A portgroup with name bond0 already exists"},
		{args: "port-group set bond0 --address 52:54:00:00:00:0a --standalone-ports=false", out: "52:54:00:00:00:0a"},
		{args: "port-group set bond0", err: "say what is to change"},
		{args: "port-group list --node n1 --address 52:54:00:00:00:0a", err: "simultaneously is not supported"},
		{args: "port-group list --node n1", out: "802.3ad"},
		{args: "port-group show bond0", out: "standalone_ports_supported"},
		{args: "port list --port-group bond0", out: "UUID"},
		{args: "port-group delete bond0 bond9", out: "bond0: deleted", err: "Portgroup bond9 could not be found"},
		{args: "port delete p1 52:54:00:00:00:09", out: "p1: deleted", err: "no port has the address 52:54:00:00:00:09"},

		{args: "volume connector create --node n1 --type ip --connector-id 10.0.0.2", out: "10.0.0.2"},
		{args: "volume connector create --node n1 --type ip", err: `required flag(s) "connector-id" not set`},
		{args: "volume connector list --node n1", out: "10.0.0.2"},
		{args: "volume target create --node n1 --type iscsi --volume-id v7 --boot-index 0 --property auth_password=hunter2", out: "properties.auth_password"},
		{args: "volume target create --node n1 --type iscsi --volume-id v8 --boot-index 0", err: "boot index '0'"},
		{args: "volume target list", out: "v7"},

		{args: `deploy-template create --name CUSTOM_A --steps [{"interface":"bios","step":"factory_reset","args":{},"priority":150}]`, out: "CUSTOM_A"},
		{args: `deploy-template create --name CUSTOM_B --steps bios`, err: "--steps wants a list in JSON, or a file with one"},
		{args: `deploy-template create --name fast --steps [{"interface":"bios","step":"factory_reset","args":{},"priority":150}]`, err: "is not a trait"},
		{args: `deploy-template set CUSTOM_A --extra a=1`, out: "extra.a"},
		{args: "deploy-template list", out: "bios.factory_reset"},
		{args: "deploy-template delete CUSTOM_A", out: "CUSTOM_A: deleted"},

		{args: `runbook create --name CUSTOM_R --public --steps [{"interface":"bios","step":"factory_reset","args":{},"order":1}]`, out: "CUSTOM_R"},
		{args: "runbook set CUSTOM_R --public=false --owner ann --description fast", out: "fast"},
		{args: "node clean n1 --runbook CUSTOM_R --dry-run", err: "the request would be refused"},
		{args: "runbook trait add CUSTOM_R CUSTOM_A CUSTOM_B", out: "CUSTOM_R: now has CUSTOM_A, CUSTOM_B"},
		{args: "runbook trait remove CUSTOM_R CUSTOM_A", out: "CUSTOM_R: no longer has CUSTOM_A"},
		{args: "runbook trait remove CUSTOM_R CUSTOM_A", err: "trait CUSTOM_A"},
		{args: "runbook trait list CUSTOM_R", out: "CUSTOM_B\n"},
		{args: `runbook create --name other --traits CUSTOM_C,CUSTOM_D --steps [{"interface":"bios","step":"x","args":{},"order":1}]`, out: "CUSTOM_D"},
		{args: "runbook list", out: "CUSTOM_B"},
		{args: "runbook delete other", out: "other: deleted"},
		{args: "runbook list", out: "bios.factory_reset"},
		{args: "node clean n1 --runbook CUSTOM_R --dry-run", out: "can not be performed on node", err: "the request would be refused"},
		{args: "node clean n1", err: "[clean-steps runbook] is required"},
		{args: "runbook delete CUSTOM_R", out: "CUSTOM_R: deleted"},

		{args: "chassis create --description rack1", out: "rack1"},
		{args: "chassis list", out: "rack1"},
		{args: "node set n1 --chassis-uuid " + someChassis, err: "Chassis " + someChassis + " could not be found"},

		{args: "node deploy n1", err: "n1: The requested action \"active\" can not be performed on node"},
		{args: "node deploy n1", err: "temper node manage n1 first makes it manageable, temper node provide n1 then makes it available"},
		{args: "node manage --all-in-state enroll --yes --wait 1m --every 5ms", out: "manage  succeeded"},
		{args: "node validate r1", out: "not good"},
		{args: "node inspect n1 --wait 1m --every 5ms", out: "inspect  succeeded"},
		{args: "node clean n1 --clean-steps=", err: "--clean-steps is empty"},
		{args: "node clean n1 --clean-steps [{\"interface\":\"power\",\"step\":\"frob\",\"args\":1}]", err: "Invalid clean_steps"},
		{args: "node provide n1 n2 stuck --watch --every 5ms", out: "succeeded"},
		{args: "node manage n1", out: "manageable"},
		{args: "node manage n1", err: "it is manageable already"},
		{args: "node provide n1 --wait 1m --every 5ms", out: "succeeded"},
		{args: "node deploy n1 n2 --image http://images/disk.raw --checksum " + strings.Repeat("ab", 32) + " --config-drive " + dir + " --instance-info root_gb=5 --wait 1m --every 5ms", out: "deploy  succeeded"},
	} {
		t.Run(c.args, func(t *testing.T) {
			got := ask(t, url, "", strings.Fields(c.args)...)
			if c.err == "" {
				require.NoError(t, got.failed)
			} else {
				require.ErrorContains(t, got.failed, c.err)
			}
			require.Contains(t, got.out, c.out)
			require.NotContains(t, got.out+got.err, "hunter2")
		})
	}

	t.Run("what was deployed is noted", func(t *testing.T) {
		info := instanceInfo(t, url, "n1")
		require.Equal(t, map[string]any{
			"image_source": "http://images/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": strings.Repeat("ab", 32),
			"root_gb": 5.0, "configdrive": "******",
		}, info)
		got := ask(t, url, "", strings.Fields("node rebuild n1 --image http://images/other.raw --checksum http://images/SHA512SUMS --wait 1m --every 5ms")...)
		require.NoError(t, got.failed)
		info = instanceInfo(t, url, "n1")
		require.Equal(t, map[string]any{
			"image_source": "http://images/other.raw", "image_checksum": "http://images/SHA512SUMS", "root_gb": 5.0, "configdrive": "******",
		}, info, "the checksum of the older image is left")
	})

	t.Run("what is refused leaves the node as it was", func(t *testing.T) {
		before := instanceInfo(t, url, "n1")
		for args, want := range map[string]string{
			"deploy n1 --image http://images/x.raw --checksum http://images/X":                                                              `n1: The requested action "active" can not be performed on node`,
			`rebuild n1 --image http://images/x.raw --checksum http://images/X --instance-info new=1 --deploy-steps [{"interface":"frob"}]`: "Invalid deploy_steps",
		} {
			require.ErrorContains(t, ask(t, url, "", append([]string{"node"}, strings.Fields(args)...)...).failed, want)
			require.Equal(t, before, instanceInfo(t, url, "n1"), args)
		}
	})

	t.Run("power, protection and giving back", func(t *testing.T) {
		require.NoError(t, ask(t, url, "", strings.Fields("node power reboot n1 --wait 1m --every 5ms")...).failed)
		require.NoError(t, ask(t, url, "", strings.Fields("node set n1 --protected --protected-reason precious")...).failed)
		require.ErrorContains(t, ask(t, url, "", "node", "undeploy", "n1").failed, "temper node set n1 --protected=false lifts that")
		require.NoError(t, ask(t, url, "", strings.Fields("node set n1 --protected=false")...).failed)
		require.NoError(t, ask(t, url, "", strings.Fields("node undeploy n1 n2 --wait 1m --every 5ms")...).failed)
	})

	t.Run("an operation that goes on", func(t *testing.T) {
		got := ask(t, url, "", strings.Fields("node deploy stuck -o json")...)
		require.NoError(t, got.failed)
		var started struct{ Operations []struct{ ID string } }
		require.NoError(t, json.Unmarshal([]byte(got.out), &started))
		id := started.Operations[0].ID
		require.ErrorContains(t, ask(t, url, "", "node", "deploy", "stuck").failed, "temper node why stuck says what happens to it, temper operation cancel "+id+" ends it")
		require.ErrorContains(t, ask(t, url, "", "node", "set", "stuck", "--driver", "redfish").failed, "state transition")
		require.ErrorContains(t, ask(t, url, "", "operation", "watch", "--node", "stuck", "--wait", "1s", "--every", "20ms").failed,
			"operation "+id+" (deploy) has not ended within 1s")
		require.Contains(t, ask(t, url, "", "operation", "list", "--node", "stuck", "--state", "running").out, id)
		got = ask(t, url, "", "operation", "cancel", id, "--reason", "enough", "--wait", "1m", "--every", "5ms")
		require.NoError(t, got.failed)
		require.Contains(t, got.out, "cancelled")
		require.Contains(t, ask(t, url, "", "operation", "show", id).out, "cancel: enough")
		require.ErrorContains(t, ask(t, url, "", "operation", "cancel", id).failed, "has ended already")
		require.ErrorContains(t, ask(t, url, "", "operation", "watch", id).failed, "was cancelled: enough")
		require.Contains(t, ask(t, url, "", "node", "history", "stuck").out, "deploy")
	})

	t.Run("deleting", func(t *testing.T) {
		got := ask(t, url, "", "node", "delete", "n1", "r1", "n9")
		require.Equal(t, "n1: deleted\nr1: deleted\n", got.out)
		require.ErrorContains(t, got.failed, "1 of 3 failed:\n  n9: Node n9 could not be found")
	})
}

func instanceInfo(t *testing.T, url, name string) map[string]any {
	t.Helper()
	got := ask(t, url, "", "node", "show", name, "--fields", "instance_info", "-o", "json")
	require.NoError(t, got.failed)
	var n struct {
		Info map[string]any `json:"instance_info"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &n))
	return n.Info
}

func TestAnAPIThatWantsNames(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("ada:"+string(hash)+"\n"), 0o600))
	url := serverURL(t, api.Auth{Strategy: api.HTTPBasic, File: file})
	require.EqualError(t, ask(t, url, "", "node", "list").failed,
		"the API at "+url+" refused the login: Authorization required; say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD")
	t.Setenv("TEMPER_API_USER", "ada")
	t.Setenv("TEMPER_API_PASSWORD", "wrong")
	require.ErrorContains(t, ask(t, url, "", "node", "list").failed, "Incorrect username or password")
	t.Setenv("TEMPER_API_PASSWORD", "open sesame")
	require.NoError(t, ask(t, url, "", "node", "list").failed)
	require.NoError(t, ask(t, url, "", "node", "create", "n1", "--driver", "fake-hardware").failed)
	require.Contains(t, ask(t, url, "", "node", "history", "n1").out, "ada")
	require.NoError(t, ask(t, url, "", "node", "delete", "n1", "--yes").failed)
	require.Regexp(t, `n1 .*ada`, ask(t, url, "", "node", "list", "--deleted").out)
	require.Contains(t, ask(t, url, "", "node", "history", "n1").out, "deleted in enroll")
	require.Error(t, ask(t, url, "", "node", "history", "n2").failed)
}

const someChassis = "00000000-0000-0000-0000-00000000000c"
