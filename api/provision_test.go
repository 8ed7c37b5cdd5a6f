package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// request is what a PUT of states/provision needs to be complete.
func request(verb string) map[string]any {
	body := map[string]any{"target": verb}
	switch verb {
	case "clean":
		body["clean_steps"] = []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
	case "rescue":
		body["rescue_password"] = "hunter2"
	case "service":
		body["service_steps"] = []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
	}
	return body
}

func words(verb, uuid string, s node.State) string {
	return fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.", verb, uuid, s)
}

func locked(uuid, host string) string {
	return fmt.Sprintf("Node %s is locked by host %s, please retry after the current operation is completed.", uuid, host)
}

// requireHint: a refusal is in Ironic's words, and after them come at most a few that say what would work.
func requireHint(t *testing.T, ironics, got string, why ...any) {
	t.Helper()
	hint, begins := strings.CutPrefix(got, ironics)
	require.True(t, begins, "%q does not begin with %q: %v", got, ironics, why)
	require.Less(t, len(hint), 300, why)
}

// Every state with every word that clients may send, over HTTP: what the table
// has not is refused in Ironic's words and changes nothing; what it has is
// accepted, steers, or is told that it can't be done here.
func TestEveryVerbInEveryState(t *testing.T) {
	b := newBench(t)
	counted := map[int]int{}
	for i, s := range node.States() {
		b.withConductors() // all of it may take longer than they live without a heartbeat
		name := fmt.Sprintf("s%d", i)
		uuid := b.in(name, s)
		for _, v := range append(node.Verbs, node.VerbOf("explode")) {
			before := string(b.get("/v1/nodes/" + uuid).raw)
			held := b.field(uuid, "reservation")
			a := b.put("/v1/nodes/"+name+"/states/provision", request(v.Target))
			counted[a.status]++
			to, illegal := node.Next(s, v.Event)
			what := fmt.Sprintf("%s in %s: %s", v.Target, s, a.raw)
			switch {
			case illegal != nil && held != nil:
				requireHint(t, locked(uuid, held.(string)), a.fails(409), what)
			case illegal != nil:
				requireHint(t, words(v.Target, uuid, s), a.fails(400), what)
			case node.Transient(s) && !v.Steers(s):
				require.Contains(t, a.fails(409), "is locked by host ", what)
			case !node.Transient(s) && node.Transient(to) && v.Kind == "":
				require.Equal(t, "Driver fake-hardware does not support "+v.Target+" (disabled or not implemented).", a.fails(400), what)
			default:
				a.is(202)
				state := b.get("/v1/nodes/" + uuid + "/states").is(200)
				if v.Event != node.EventAbort || node.Holds(s) || !node.Waits(s) {
					require.Equal(t, string(to), state["provision_state"], "%s: visible in the first GET", what)
				}
				b.sql(`DELETE FROM operations WHERE node_uuid = $1`, uuid)
				b.sql(`UPDATE nodes SET last_error = NULL WHERE uuid = $1`, uuid)
				b.moveTo(uuid, s)
				continue
			}
			require.Equal(t, before, string(b.get("/v1/nodes/"+uuid).raw), "%s: a refused request changed something", what)
		}
	}
	require.Equal(t, len(node.States())*(len(node.Verbs)+1), counted[202]+counted[400]+counted[409])
	t.Log(counted)
}

func TestAnAcceptedRequest(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.enrolled("n1")
	b.sql(`UPDATE nodes SET last_error = 'of old'`)
	a := b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"})
	require.Empty(t, a.raw)
	a.is(202)
	require.Equal(t, "http://temper.test:6385/v1/nodes/n1/states", a.header.Get("Location"))
	id := a.header.Get("Temper-Operation")
	require.NotEmpty(t, id)
	require.Equal(t, id, strconv.FormatInt(b.ops.startedIDs()[0], 10))

	n := b.get("/v1/nodes/n1").is(200)
	require.Equal(t, "verifying", n["provision_state"])
	require.Equal(t, "manageable", n["target_provision_state"])
	require.Nil(t, n["last_error"])
	require.Contains(t, []any{"c1", "c2"}, n["reservation"], "the ring's owner, until a conductor has the step")
	require.Equal(t, n["conductor"], n["reservation"])
	story := n["driver_internal_info"].(map[string]any)["temper"].(map[string]any)
	require.Equal(t, id, story["operation"])
	require.Equal(t, "power.verify", story["step"])

	op := b.get("/temper/v1/operations/" + id).is(200)
	require.Equal(t, "manage", op["kind"])
	require.Equal(t, "accepted", op["state"])
	require.Equal(t, "node/"+uuid+"/manage/"+id, op["workflow_id"])
	require.Nil(t, op["outcome"])

	requireHint(t, locked(uuid, n["reservation"].(string)), b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).fails(409))
	require.Len(t, b.ops.startedIDs(), 1)
}

func TestAnOperationThatCanNotBeStartedIsAccepted(t *testing.T) {
	b := newBench(t).withConductors()
	b.ops.fail = errors.New("temporal is away")
	b.enrolled("n1")
	b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).is(202)
	require.Equal(t, "verifying", b.field("n1", "provision_state"))
}

func TestWithoutAConductor(t *testing.T) {
	b := newBench(t)
	c1 := b.conductor("c1", "", "fake-hardware")
	uuid := b.enrolled("n1")
	b.in("held", node.DeployHold)
	b.conductor("c2", "", "redfish")
	require.NoError(t, b.store.StopConductor(t.Context(), "c1", c1))
	none := `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "". Ensure the driver is valid and enabled.`
	require.Equal(t, none, b.put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).fails(404))
	require.Equal(t, none, b.put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).fails(404))
	require.Equal(t, none, b.put("/v1/nodes/held/states/power", map[string]any{"target": "power on"}).fails(404), "no operation waits for what nobody can do")
	require.Equal(t, none, b.get("/v1/nodes/n1/validate").fails(404))
	require.Nil(t, b.field("n1", "conductor"))
	b.patch("/v1/nodes/n1", add("/extra/a", 1)).is(200)
	b.put("/v1/nodes/n1/maintenance", nil).is(202)
	b.delete("/v1/nodes/n1/maintenance").is(202)

	// An operation that lost its conductor is held by nobody who is dead.
	b.moveTo(uuid, node.Deploying)
	op, err := b.store.Operations(t.Context(), node.OperationFilter{})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("operation-%d", op[0].ID), b.field("n1", "reservation"))
}

func TestDeploy(t *testing.T) {
	b := newBench(t).withConductors()
	refused := "Failed to validate deploy or power info for node %s: "
	uuid := b.post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n1"}).is(201)["uuid"].(string)
	b.moveTo(uuid, node.Available)
	deploy := func(extra ...any) *answer {
		body := map[string]any{"target": "active"}
		for i := 0; i < len(extra); i += 2 {
			body[extra[i].(string)] = extra[i+1]
		}
		return b.put("/v1/nodes/n1/states/provision", body)
	}
	prefix := fmt.Sprintf(refused, uuid)
	require.Equal(t, prefix+"Missing redfish_address", deploy().fails(400))
	b.patch("/v1/nodes/n1", add("/driver_info/redfish_address", "https://bmc")).is(200)
	require.Contains(t, deploy().fails(400), prefix)
	b.patch("/v1/nodes/n1", add("/instance_info", map[string]any{"image_source": "http://images/a.raw"})).is(200)
	require.Contains(t, deploy().fails(400), prefix, "no checksum")
	b.patch("/v1/nodes/n1", add("/instance_info/image_checksum", strings.Repeat("a", 64))).is(200)
	require.Contains(t, deploy().fails(400), "deploy_iso", "no boot image")
	b.patch("/v1/nodes/n1", add("/driver_info/deploy_iso", "http://images/ipa.iso"), add("/instance_info/traits", []string{"CUSTOM_GOLD"})).is(200)
	require.Contains(t, deploy().fails(400), "CUSTOM_GOLD", "a trait that the node does not have")
	b.put("/v1/nodes/n1/traits/CUSTOM_GOLD", nil).is(204)
	require.Contains(t, deploy("deploy_steps", []any{map[string]any{"interface": "nose", "step": "x", "args": map[string]any{}, "priority": 1}}).fails(400), "Invalid deploy_steps")
	require.Contains(t, deploy("clean_steps", []any{1}).fails(400), `"clean_steps" is only valid`)
	require.Contains(t, deploy("configdrive", "{not base64").fails(400), "Invalid configdrive format: ")
	require.Contains(t, deploy("configdrive", map[string]any{"meta": 1}).fails(400), "Invalid configdrive format: ")
	require.Contains(t, deploy("target", 3).fails(400), "target")
	require.Contains(t, deploy("colour", "red").fails(400), "Unexpected arguments: colour")
	require.Equal(t, "available", b.field("n1", "provision_state"), "all that changed nothing")

	drive := map[string]any{"meta_data": map[string]any{"hostname": "web1"}, "user_data": "#!secret-script"}
	require.Contains(t, b.at(55, "PUT", "/v1/nodes/n1/states/provision", map[string]any{"target": "active", "configdrive": drive}).fails(400), "1.56")
	id := deploy("configdrive", drive).header.Get("Temper-Operation")
	require.NotEmpty(t, id, string(b.last.raw))
	n := b.get("/v1/nodes/n1").is(200)
	require.Equal(t, "deploying", n["provision_state"])
	require.Equal(t, "******", n["instance_info"].(map[string]any)["configdrive"])
	secrets, err := b.credentials(uuid)
	require.NoError(t, err)
	require.Equal(t, drive, secrets["instance_info/configdrive"])
	for _, path := range []string{"/v1/nodes/n1", "/temper/v1/operations/" + id, "/v1/nodes/n1/history?detail=true"} {
		require.NotContains(t, string(b.get(path).raw), "secret-script")
	}
	steps := b.get("/temper/v1/operations/" + id).is(200)["steps"].([]any)
	require.Equal(t, "prepare", steps[0].(map[string]any)["step"])
	require.Equal(t, "deploy", steps[1].(map[string]any)["step"])
}

func TestDeployIsRefusedInMaintenance(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.in("n1", node.Available)
	b.put("/v1/nodes/n1/maintenance", nil).is(202)
	for _, target := range []string{"active", "rebuild", "deploy"} {
		require.Equal(t, "The provisioning operation can't be performed on node "+uuid+" because it's in maintenance mode.",
			b.put("/v1/nodes/n1/states/provision", map[string]any{"target": target}).fails(400))
	}
}

func TestVerbsByVersion(t *testing.T) {
	b := newBench(t).withConductors()
	for verb, c := range map[string]struct {
		in    node.State
		first int
	}{
		"manage": {node.Enroll, 4}, "provide": {node.Manageable, 4}, "inspect": {node.Manageable, 6}, "clean": {node.Manageable, 15},
		"deploy": {node.Available, 73}, "undeploy": {node.Active, 73}, "unhold": {node.CleanHold, 85}, "abort": {node.CleanWait, 13},
	} {
		uuid := b.in(verb, c.in)
		path := "/v1/nodes/" + uuid + "/states/provision"
		b.at(c.first-1, "PUT", path, request(verb)).fails(406)
		b.at(c.first, "PUT", path, request(verb)).is(202)
	}
	inspecting := b.in("w1", node.InspectWait)
	b.at(40, "PUT", "/v1/nodes/"+inspecting+"/states/provision", request("abort")).fails(406)
	b.at(41, "PUT", "/v1/nodes/"+inspecting+"/states/provision", request("abort")).is(202)
	deploying := b.in("w2", node.DeployWait)
	b.at(94, "PUT", "/v1/nodes/"+deploying+"/states/provision", request("abort")).fails(406)
	b.at(95, "PUT", "/v1/nodes/"+deploying+"/states/provision", request("abort")).is(202)
	clean := b.in("c1", node.Manageable)
	body := request("clean")
	body["disable_ramdisk"] = true
	b.at(69, "PUT", "/v1/nodes/"+clean+"/states/provision", body).fails(406)
	body["runbook"] = "rb"
	require.Contains(t, b.at(92, "PUT", "/v1/nodes/"+clean+"/states/provision", body).fails(404), "Runbook")
	delete(body, "runbook")
	b.at(70, "PUT", "/v1/nodes/"+clean+"/states/provision", body).is(202)
}

func TestSteering(t *testing.T) {
	b := newBench(t).withConductors()
	last := func() string { told := b.ops.toldWhat(); return told[len(told)-1] }

	b.in("aborted", node.DeployWait)
	id := b.put("/v1/nodes/aborted/states/provision", request("abort"))
	id.is(202)
	require.NotEmpty(t, id.header.Get("Temper-Operation"))
	require.Equal(t, "wait call-back", b.field("aborted", "provision_state"), "the step is not abortable: it is let finish")
	require.Contains(t, last(), ": abort")

	b.sql(`UPDATE operations SET steps = jsonb_set(steps, '{1,abortable}', 'true'), asked = ''`)
	b.put("/v1/nodes/aborted/states/provision", request("abort")).is(202)
	n := b.get("/v1/nodes/aborted").is(200)
	require.Equal(t, "deploy failed", n["provision_state"], "shown at once")
	require.Contains(t, last(), "cancel ")

	b.in("given-back", node.DeployWait)
	b.put("/v1/nodes/given-back/states/provision", request("deleted")).is(202)
	n = b.get("/v1/nodes/given-back").is(200)
	require.Equal(t, "deleting", n["provision_state"])
	require.Equal(t, "available", n["target_provision_state"])
	require.Contains(t, last(), "cancel ")

	b.in("held", node.DeployHold)
	b.put("/v1/nodes/held/states/provision", request("unhold")).is(202)
	require.Equal(t, "wait call-back", b.field("held", "provision_state"))
	require.Contains(t, last(), ": unhold")

	b.in("stuck", node.DeployWait)
	b.put("/v1/nodes/stuck/states/power", map[string]any{"target": "rebooting"}).is(202)
	require.Equal(t, "power on", b.field("stuck", "target_power_state"))
	require.Contains(t, last(), ": power")
	require.Empty(t, b.ops.startedIDs())
}

func TestPower(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.in("n1", node.Active)
	put := func(minor int, body map[string]any) *answer {
		return b.at(minor, "PUT", "/v1/nodes/n1/states/power", body)
	}
	put(26, map[string]any{"target": "soft power off"}).fails(406)
	put(26, map[string]any{"target": "power off", "timeout": 5}).fails(406)
	require.Equal(t, "Missing mandatory parameter: target", put(27, map[string]any{}).fails(400))
	require.Contains(t, put(27, map[string]any{"target": "power off", "timeout": 0}).fails(400), "timeout has to be positive integer")
	put(27, map[string]any{"target": "power off", "timeout": "soon"}).fails(400)
	put(27, map[string]any{"target": "power off", "timeout": 1e18}).fails(400)
	require.Equal(t, `The requested action "warp" can not be performed on node "`+uuid+`" while it is in state "None".`, put(27, map[string]any{"target": "warp"}).fails(400))
	require.Empty(t, b.ops.startedIDs())

	a := put(27, map[string]any{"target": "soft power off", "timeout": 90})
	a.is(202)
	require.Equal(t, "http://temper.test:6385/v1/nodes/n1/states", a.header.Get("Location"))
	o, err := b.store.Operation(t.Context(), b.ops.startedIDs()[0])
	require.NoError(t, err)
	require.Equal(t, []any{node.KindPower, node.SoftPowerOff, 90 * time.Second}, []any{o.Kind, o.PowerTarget, o.SoftTimeout})
	n := b.get("/v1/nodes/n1").is(200)
	require.Equal(t, []any{"active", "power off"}, []any{n["provision_state"], n["target_power_state"]})
	require.NotNil(t, n["reservation"])
	requireHint(t, locked(uuid, n["reservation"].(string)), put(27, map[string]any{"target": "power on"}).fails(409))

	for _, s := range []node.State{node.Cleaning, node.CleanWait} {
		busy := b.in(strings.ReplaceAll(string(s), " ", "-"), s)
		requireHint(t, words("power on", busy, s), b.put("/v1/nodes/"+busy+"/states/power", map[string]any{"target": "power on"}).fails(400))
	}
	b.enrolled("fixed")
	b.patch("/v1/nodes/fixed", replace("/disable_power_off", true)).is(200)
	b.put("/v1/nodes/fixed/states/power", map[string]any{"target": "power off"}).fails(400)
}

func TestMoveWithoutWork(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Available)
	a := b.put("/v1/nodes/n1/states/provision", request("manage"))
	a.is(202)
	require.Empty(t, a.header.Get("Temper-Operation"), "nothing runs")
	require.Equal(t, "manageable", b.field("n1", "provision_state"))
	b.patch("/v1/nodes/n1", replace("/retired", true), replace("/retired_reason", "old")).is(200)
	require.Contains(t, b.put("/v1/nodes/n1/states/provision", request("provide")).fails(400), "because it is retired")
}

// Many requests at once: one is accepted, the others are told who has the node.
func TestOneOfManyRequestsIsAccepted(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.enrolled("n1")
	answers := make([]int, 16)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/nodes/n1/states/provision", strings.NewReader(`{"target":"manage"}`))
			r.Header.Set(reqVersion, "1.95")
			w := httptest.NewRecorder()
			b.handler.ServeHTTP(w, r)
			answers[i] = w.Code
		})
	}
	all.Wait()
	counted := map[int]int{}
	for _, status := range answers {
		counted[status]++
	}
	require.Equal(t, map[int]int{202: 1, 409: 15}, counted)
	require.Len(t, b.ops.startedIDs(), 1)
	ops, err := b.store.Operations(t.Context(), node.OperationFilter{Node: uuid})
	require.NoError(t, err)
	require.Len(t, ops, 1)
}
