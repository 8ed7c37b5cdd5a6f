package ironic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestHostileSteps(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Manageable)
	step := func(over map[string]any) map[string]any {
		s := map[string]any{"interface": "deploy", "step": "erase_devices"}
		for k, v := range over {
			s[k] = v
		}
		return map[string]any{"target": "clean", "clean_steps": []any{s}}
	}
	many := make([]any, 300)
	for i := range many {
		many[i] = map[string]any{"interface": "deploy", "step": "erase_devices"}
	}
	for name, body := range map[string]map[string]any{
		"no list":               {"target": "clean", "clean_steps": "all"},
		"an empty list":         {"target": "clean", "clean_steps": []any{}},
		"nothing":               {"target": "clean"},
		"a step that is a word": {"target": "clean", "clean_steps": []any{"erase"}},
		"too many":              {"target": "clean", "clean_steps": many},
		"an unknown interface":  step(map[string]any{"interface": "nose"}),
		"an unknown step":       step(map[string]any{"step": "rm -rf /"}),
		"no step":               step(map[string]any{"step": nil}),
		"an unknown key":        step(map[string]any{"colour": "red"}),
		"args that are a list":  step(map[string]any{"args": []any{1}}),
		"unexpected args":       step(map[string]any{"args": map[string]any{"x": 1}}),
		"a long name":           step(map[string]any{"step": strings.Repeat("x", 5000)}),
	} {
		words := b.Put("/v1/nodes/n1/states/provision", body).Fails(400)
		require.Less(t, len(words), 1000, name)
	}
	require.Equal(t, "manageable", b.Field("n1", "provision_state"))
	b.Put("/v1/nodes/n1/states/provision", step(nil)).Is(202)
}

// A wrong argument is refused before anything happens to the server.
func TestArgumentsOfStepsAreCheckedAtTheRequest(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n := b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://bmc"}}).Is(201)
	b.MoveTo(n["uuid"].(string), node.Manageable)
	clean := map[string]any{"target": "clean", "disable_ramdisk": true, "clean_steps": []any{map[string]any{
		"interface": "firmware", "step": "update", "args": map[string]any{"settings": []any{map[string]any{"component": "uefi", "url": "https://images/bios"}}},
	}}}
	words := b.Put("/v1/nodes/n1/states/provision", clean).Fails(400)
	require.Contains(t, words, "clean step firmware.update has a wrong argument settings: settings/0: component must be bios, bmc or nic:ID")
	require.Equal(t, "manageable", b.Field("n1", "provision_state"))
}

func TestABootModeThatNoServerHasIsRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	for _, capabilities := range []string{"boot_mode:legacy", "boot_mode:bios,secure_boot:true"} {
		b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/capabilities", capabilities)).Is(200)
		require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Fails(400), "boot_mode")
	}
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/capabilities", "boot_mode:uefi")).Is(200)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Is(202)
}

func TestSecretsOfSteps(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]map[string]any{
		"a password of the BIOS": {
			"interface": "bios", "step": "apply_configuration",
			"args": map[string]any{"settings": []any{map[string]any{"name": "AdminPassword", "value": "hunter2"}}},
		},
		"a signature of a URL": {
			"interface": "firmware", "step": "update",
			"args": map[string]any{"settings": []any{map[string]any{"component": "bios", "url": "https://images/bios?sig=hunter2"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apitest.New(t).WithConductors()
			n := b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://bmc"}}).Is(201)
			b.MoveTo(n["uuid"].(string), node.Manageable)
			id := b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "clean", "disable_ramdisk": true, "clean_steps": []any{step}}).Header.Get("Temper-Operation")
			require.NotEmpty(t, id, string(b.Last.Body))
			for _, path := range []string{"/v1/nodes/n1", "/temper/v1/operations/" + id, "/v1/nodes/n1/history?detail=true"} {
				require.NotContains(t, string(b.Get(path).Body), "hunter2", path)
			}
			secrets, err := b.Credentials(b.Field("n1", "uuid").(string))
			require.NoError(t, err)
			raw, err := json.Marshal(secrets)
			require.NoError(t, err)
			require.Contains(t, string(raw), "hunter2", "whoever runs the step finds it")
		})
	}
}

// notAllowed is Ironic's refusal of a verb that the life cycle does not have in a state.
func notAllowed(verb, uuid string, s node.State) string {
	return fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.", verb, uuid, s)
}

// locked is Ironic's refusal while an operation is open.
func locked(uuid, host string) string {
	return fmt.Sprintf("Node %s is locked by host %s, please retry after the current operation is completed.", uuid, host)
}

// requireHint requires that a refusal begins with Ironic's text, and that the hint after it is short.
func requireHint(t *testing.T, ironics, got string, why ...any) {
	t.Helper()
	hint, begins := strings.CutPrefix(got, ironics)
	require.True(t, begins, "%q does not begin with %q: %v", got, ironics, why)
	require.Less(t, len(hint), 300, why)
}

// Sends every verb to a node in every state, over HTTP. What the table lacks is refused with
// Ironic's text and changes nothing. What it has is accepted, acts on the open operation, or
// is refused because it is not implemented.
func TestEveryVerbInEveryState(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	counted := map[int]int{}
	for i, s := range node.States() {
		name := fmt.Sprintf("s%d", i)
		uuid := b.In(name, s)
		for _, v := range append(node.Verbs, node.VerbOf("explode")) {
			before := string(b.Get("/v1/nodes/" + uuid).Body)
			held := b.Field(uuid, "reservation")
			a := b.Put("/v1/nodes/"+name+"/states/provision", apitest.ProvisionBody(v.Target))
			counted[a.Status]++
			to, illegal := node.Next(s, v.Event)
			what := fmt.Sprintf("%s in %s: %s", v.Target, s, a.Body)
			switch {
			case illegal != nil && held != nil:
				requireHint(t, locked(uuid, held.(string)), a.Fails(409), what)
			case illegal != nil:
				requireHint(t, notAllowed(v.Target, uuid, s), a.Fails(400), what)
			case node.Transient(s) && !v.Steers(s):
				require.Contains(t, a.Fails(409), "is locked by host ", what)
			case !node.Transient(s) && node.Transient(to) && v.Kind == "":
				require.Equal(t, "Driver fake-hardware does not support "+v.Target+" (disabled or not implemented).", a.Fails(400), what)
			default:
				a.Is(202)
				state := b.Get("/v1/nodes/" + uuid + "/states").Is(200)
				if v.Event != node.EventAbort || node.Holds(s) || !node.Waits(s) {
					require.Equal(t, string(to), state["provision_state"], "%s: visible in the first GET", what)
				}
				b.SQL(`DELETE FROM operations WHERE node_uuid = $1`, uuid)
				b.SQL(`UPDATE nodes SET last_error = NULL WHERE uuid = $1`, uuid)
				b.MoveTo(uuid, s)
				continue
			}
			require.Equal(t, before, string(b.Get("/v1/nodes/"+uuid).Body), "%s: a refused request changed something", what)
		}
	}
	require.Equal(t, len(node.States())*(len(node.Verbs)+1), counted[202]+counted[400]+counted[409])
	t.Log(counted)
}

func TestAnAcceptedRequest(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	b.SQL(`UPDATE nodes SET last_error = 'of old'`)
	a := b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"})
	require.Empty(t, a.Body)
	a.Is(202)
	require.Equal(t, "http://temper.test:6385/v1/nodes/n1/states", a.Header.Get("Location"))
	id := a.Header.Get("Temper-Operation")
	require.NotEmpty(t, id)
	require.Equal(t, id, strconv.FormatInt(b.Operations.Started()[0], 10))

	n := b.Get("/v1/nodes/n1").Is(200)
	require.Equal(t, "verifying", n["provision_state"])
	require.Equal(t, "manageable", n["target_provision_state"])
	require.Nil(t, n["last_error"])
	require.Contains(t, []any{"c1", "c2"}, n["reservation"], "the ring's owner, until a conductor has the step")
	require.Equal(t, n["conductor"], n["reservation"])
	story := n["driver_internal_info"].(map[string]any)["temper"].(map[string]any)
	require.Equal(t, id, story["operation"])
	require.Equal(t, "power.verify", story["step"])

	op := b.Get("/temper/v1/operations/" + id).Is(200)
	require.Equal(t, "manage", op["kind"])
	require.Equal(t, "accepted", op["state"])
	require.Regexp(t, "^node/"+uuid+"/manage/"+id+"/[0-9a-f]{8}$", op["workflow_id"])
	require.Nil(t, op["outcome"])

	requireHint(t, locked(uuid, n["reservation"].(string)), b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Fails(409))
	require.Len(t, b.Operations.Started(), 1)
}

func TestAnOperationThatCanNotBeStartedIsAccepted(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Operations.Err = errors.New("temporal is away")
	b.Enrolled("n1")
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Is(202)
	require.Equal(t, "verifying", b.Field("n1", "provision_state"))
}

func TestWithoutAConductor(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	c1 := b.Conductor("c1", "", "fake-hardware")
	uuid := b.Enrolled("n1")
	b.In("held", node.DeployHold)
	b.Conductor("c2", "", "redfish")
	require.NoError(t, b.Store.StopConductor(t.Context(), "c1", c1))
	none := `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "". Ensure the driver is valid and enabled.`
	require.Equal(t, none, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Fails(404))
	require.Equal(t, none, b.Put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).Fails(404))
	require.Equal(t, none, b.Put("/v1/nodes/held/states/power", map[string]any{"target": "power on"}).Fails(404), "no operation waits for what nobody can do")
	require.Equal(t, none, b.Get("/v1/nodes/n1/validate").Fails(404))
	require.Nil(t, b.Field("n1", "conductor"))
	b.Patch("/v1/nodes/n1", apitest.Add("/extra/a", 1)).Is(200)
	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	b.Delete("/v1/nodes/n1/maintenance").Is(202)

	// A dead conductor holds no node: the reservation of its operation is operation-ID.
	b.MoveTo(uuid, node.Deploying)
	op, err := b.Store.Operations(t.Context(), node.OperationFilter{})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("operation-%d", op[0].ID), b.Field("n1", "reservation"))
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	refused := "Failed to validate deploy or power info for node %s: "
	uuid := b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n1"}).Is(201)["uuid"].(string)
	b.MoveTo(uuid, node.Available)
	deploy := func(extra ...any) *apitest.Answer {
		body := map[string]any{"target": "active"}
		for i := 0; i < len(extra); i += 2 {
			body[extra[i].(string)] = extra[i+1]
		}
		return b.Put("/v1/nodes/n1/states/provision", body)
	}
	prefix := fmt.Sprintf(refused, uuid)
	require.Equal(t, prefix+"Missing redfish_address", deploy().Fails(400))
	b.Patch("/v1/nodes/n1", apitest.Add("/driver_info/redfish_address", "https://bmc")).Is(200)
	require.Contains(t, deploy().Fails(400), prefix)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info", map[string]any{"image_source": "http://images/a.raw"})).Is(200)
	require.Contains(t, deploy().Fails(400), prefix, "no checksum")
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_checksum", strings.Repeat("a", 64))).Is(200)
	require.Contains(t, deploy().Fails(400), "deploy_iso", "no boot image")
	b.Patch("/v1/nodes/n1", apitest.Add("/driver_info/deploy_iso", "http://images/ipa.iso"), apitest.Add("/instance_info/traits", []string{"CUSTOM_GOLD"})).Is(200)
	require.Contains(t, deploy().Fails(400), "CUSTOM_GOLD", "a trait that the node does not have")
	b.Put("/v1/nodes/n1/traits/CUSTOM_GOLD", nil).Is(204)
	require.Contains(t, deploy("deploy_steps", []any{map[string]any{"interface": "nose", "step": "x", "args": map[string]any{}, "priority": 1}}).Fails(400), "Invalid deploy_steps")
	require.Contains(t, deploy("clean_steps", []any{1}).Fails(400), `"clean_steps" is only valid`)
	require.Contains(t, deploy("configdrive", "{not base64").Fails(400), "Invalid configdrive format: ")
	require.Contains(t, deploy("configdrive", map[string]any{"meta": 1}).Fails(400), "Invalid configdrive format: ")
	require.Contains(t, deploy("target", 3).Fails(400), "target")
	require.Contains(t, deploy("colour", "red").Fails(400), "Unexpected arguments: colour")
	require.Equal(t, "available", b.Field("n1", "provision_state"), "all that changed nothing")

	drive := map[string]any{"meta_data": map[string]any{"hostname": "web1"}, "user_data": "#!secret-script"}
	require.Contains(t, b.At(55, "PUT", "/v1/nodes/n1/states/provision", map[string]any{"target": "active", "configdrive": drive}).Fails(400), "1.56")
	id := deploy("configdrive", drive).Header.Get("Temper-Operation")
	require.NotEmpty(t, id, string(b.Last.Body))
	n := b.Get("/v1/nodes/n1").Is(200)
	require.Equal(t, "deploying", n["provision_state"])
	require.Equal(t, "******", n["instance_info"].(map[string]any)["configdrive"])
	secrets, err := b.Credentials(uuid)
	require.NoError(t, err)
	require.Equal(t, drive, secrets["instance_info/configdrive"])
	for _, path := range []string{"/v1/nodes/n1", "/temper/v1/operations/" + id, "/v1/nodes/n1/history?detail=true"} {
		require.NotContains(t, string(b.Get(path).Body), "secret-script")
	}
	steps := b.Get("/temper/v1/operations/" + id).Is(200)["steps"].([]any)
	require.Equal(t, "prepare", steps[0].(map[string]any)["step"])
	require.Equal(t, "deploy", steps[1].(map[string]any)["step"])
}

func TestDeployIsRefusedInMaintenance(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Available)
	b.Put("/v1/nodes/n1/maintenance", nil).Is(202)
	for _, target := range []string{"active", "rebuild", "deploy"} {
		require.Equal(t, "The provisioning operation can't be performed on node "+uuid+" because it's in maintenance mode.",
			b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": target}).Fails(400))
	}
}

func TestVerbsByVersion(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for verb, c := range map[string]struct {
		in    node.State
		first int
	}{
		"manage": {node.Enroll, 4}, "provide": {node.Manageable, 4}, "inspect": {node.Manageable, 6}, "clean": {node.Manageable, 15},
		"deploy": {node.Available, 73}, "undeploy": {node.Active, 73}, "unhold": {node.CleanHold, 85}, "abort": {node.CleanWait, 13},
	} {
		uuid := b.In(verb, c.in)
		path := "/v1/nodes/" + uuid + "/states/provision"
		b.At(c.first-1, "PUT", path, apitest.ProvisionBody(verb)).Fails(406)
		b.At(c.first, "PUT", path, apitest.ProvisionBody(verb)).Is(202)
	}
	inspecting := b.In("w1", node.InspectWait)
	b.At(40, "PUT", "/v1/nodes/"+inspecting+"/states/provision", apitest.ProvisionBody("abort")).Fails(406)
	b.At(41, "PUT", "/v1/nodes/"+inspecting+"/states/provision", apitest.ProvisionBody("abort")).Is(202)
	deploying := b.In("w2", node.DeployWait)
	b.At(109, "PUT", "/v1/nodes/"+deploying+"/states/provision", apitest.ProvisionBody("abort")).Fails(406)
	b.At(110, "PUT", "/v1/nodes/"+deploying+"/states/provision", apitest.ProvisionBody("abort")).Is(202)
	clean := b.In("c1", node.Manageable)
	body := apitest.ProvisionBody("clean")
	body["disable_ramdisk"] = true
	b.At(69, "PUT", "/v1/nodes/"+clean+"/states/provision", body).Fails(406)
	body["runbook"] = "rb"
	require.Contains(t, b.At(92, "PUT", "/v1/nodes/"+clean+"/states/provision", body).Fails(404), "Runbook")
	delete(body, "runbook")
	b.At(70, "PUT", "/v1/nodes/"+clean+"/states/provision", body).Is(202)
}

func TestSteering(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	last := func() string { told := b.Operations.Told(); return told[len(told)-1] }

	b.In("aborted", node.DeployWait)
	id := b.Put("/v1/nodes/aborted/states/provision", apitest.ProvisionBody("abort"))
	id.Is(202)
	require.NotEmpty(t, id.Header.Get("Temper-Operation"))
	require.Equal(t, "wait call-back", b.Field("aborted", "provision_state"), "the step is not abortable: it is let finish")
	require.Contains(t, last(), ": abort")

	b.SQL(`UPDATE operations SET steps = jsonb_set(steps, '{1,abortable}', 'true'), asked = ''`)
	b.Put("/v1/nodes/aborted/states/provision", apitest.ProvisionBody("abort")).Is(202)
	n := b.Get("/v1/nodes/aborted").Is(200)
	require.Equal(t, "deploy failed", n["provision_state"], "shown at once")
	require.Contains(t, n["last_error"], "aborted")
	require.Contains(t, last(), "cancel ")

	b.In("given-back", node.DeployWait)
	b.Put("/v1/nodes/given-back/states/provision", apitest.ProvisionBody("deleted")).Is(202)
	n = b.Get("/v1/nodes/given-back").Is(200)
	require.Equal(t, "deleting", n["provision_state"])
	require.Equal(t, "available", n["target_provision_state"])
	require.Contains(t, last(), "cancel ")

	b.In("held", node.DeployHold)
	b.Put("/v1/nodes/held/states/provision", apitest.ProvisionBody("unhold")).Is(202)
	require.Equal(t, "wait call-back", b.Field("held", "provision_state"))
	require.Contains(t, last(), ": unhold")

	b.In("stuck", node.DeployWait)
	b.Put("/v1/nodes/stuck/states/power", map[string]any{"target": "rebooting"}).Is(202)
	require.Equal(t, "power on", b.Field("stuck", "target_power_state"))
	require.Contains(t, last(), ": power")
	require.Empty(t, b.Operations.Started())
}

func TestMoveWithoutWork(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	a := b.Put("/v1/nodes/n1/states/provision", apitest.ProvisionBody("manage"))
	a.Is(202)
	require.Empty(t, a.Header.Get("Temper-Operation"), "nothing runs")
	require.Equal(t, "manageable", b.Field("n1", "provision_state"))
	b.Patch("/v1/nodes/n1", apitest.Replace("/retired", true), apitest.Replace("/retired_reason", "old")).Is(200)
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", apitest.ProvisionBody("provide")).Fails(400), "because it is retired")
}

// Of many requests at once, one is accepted. The others are refused with the name of the node's holder.
func TestOneOfManyRequestsIsAccepted(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	answers := make([]int, 16)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/v1/nodes/n1/states/provision", strings.NewReader(`{"target":"manage"}`))
			r.Header.Set(apitest.VersionHeader, "1.114")
			answers[i] = b.Serve(r).Status
		})
	}
	all.Wait()
	counted := map[int]int{}
	for _, status := range answers {
		counted[status]++
	}
	require.Equal(t, map[int]int{202: 1, 409: 15}, counted)
	require.Len(t, b.Operations.Started(), 1)
	ops, err := b.Store.Operations(t.Context(), node.OperationFilter{Node: uuid})
	require.NoError(t, err)
	require.Len(t, ops, 1)
}

func TestARequestCanWaitForAConductor(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Kill("c1")
	b.Kill("c2")
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Fails(503)
	b.Put("/v1/nodes/n1/states/provision?wait_for_conductor=perhaps", map[string]any{"target": "manage"}).Fails(400)
	a := b.Put("/v1/nodes/n1/states/provision?wait_for_conductor=true", map[string]any{"target": "manage"})
	a.Is(202)
	require.NotEmpty(t, a.Header.Get("Temper-Operation"))
	require.Len(t, b.Operations.Started(), 1)
	b.MoveTo(enrolledWithoutConductor(b, "n2"), node.Available)
	b.With(http.Header{"Temper-Wait-For-Conductor": {"true"}, "X-Openstack-Ironic-Api-Version": {"1.114"}}, "PUT", "/v1/nodes/n2/states/power", map[string]any{"target": "power on"}).Is(202)
}

// enrolledWithoutConductor makes a node while no conductor is alive.
func enrolledWithoutConductor(b *apitest.Bench, name string) string {
	b.T.Helper()
	n := &node.Node{Name: name, Driver: "fake-hardware", ProvisionState: node.Enroll, Interfaces: map[string]string{"power": "fake"}}
	require.NoError(b.T, b.Store.CreateNode(b.T.Context(), n, nil, ""))
	return n.UUID
}

// If an operation that follows another one fails, it fails or holds as its request says, else as the setting says.
func TestWhatFollowsKeepsOnFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ query, want string }{
		"as the request says": {"?on_failure=hold", "hold"},
		"as the setting says": {"", "fail"},
	} {
		t.Run(name, func(t *testing.T) {
			b := apitest.New(t).WithConductors()
			b.In("n1", node.DeployWait)
			b.Kill("c1", "c2")
			b.SQL(`UPDATE operations SET stalled = 'conductor', stalled_at = now(), waiting_for = 'a conductor', phase = 'waiting', begun_at = now(), run_id = 'r', on_failure = 'fail'`)
			b.Put("/v1/nodes/n1/states/provision"+c.query, map[string]any{"target": "deleted"}).Is(202)
			ops := b.Get("/temper/v1/operations?node=n1&kind=undeploy").Is(200)["operations"].([]any)
			require.Len(t, ops, 1)
			require.Equal(t, c.want, ops[0].(map[string]any)["on_failure"])
		})
	}
}
