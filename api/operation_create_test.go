package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

var digestOfAnImage = strings.Repeat("0a", 32)

// work is where node n1 is asked for work.
const work = "/temper/v1/nodes/n1/operations"

// withRedfish makes a node whose deploy needs an image.
func (b *bench) withRedfish() {
	b.t.Helper()
	b.post("/v1/nodes", map[string]any{
		"name": "n1", "driver": "redfish",
		"driver_info": map[string]any{"redfish_address": "https://10.0.0.1", "deploy_iso": "http://i/iso"},
	}).is(201)
	b.sql(`UPDATE nodes SET provision_state = 'available' WHERE name = 'n1'`)
}

func TestADeployIsOneRequest(t *testing.T) {
	b := newBench(t).withConductors()
	b.withRedfish()
	b.patch("/v1/nodes/n1", add("/instance_info/image_os_hash_value", "old"), add("/instance_info/kept", 7)).is(200)
	before := b.field("n1", "instance_info")
	events := len(b.get("/v1/nodes/n1/history").is(200)["history"].([]any))
	body := map[string]any{
		"verb":          "active",
		"instance_info": map[string]any{"image_source": "http://i/new", "image_checksum": digestOfAnImage, "image_os_hash_value": nil, "admin_password": "hunter2"},
		"config_drive":  map[string]any{"user_data": "#!/bin/sh"},
		"steps":         []any{map[string]any{"interface": "bios", "step": "apply_configuration", "priority": 90, "args": map[string]any{"settings": []any{map[string]any{"name": "AdminPassword", "value": "hunter3"}}}}},
		"on_failure":    "hold",
	}

	// What is refused changes nothing, whatever it is refused for.
	with := func(name string, v any) map[string]any {
		out := map[string]any{}
		for k, old := range body {
			out[k] = old
		}
		out[name] = v
		return out
	}
	require.Equal(t, fault.ImageInvalid, b.post(work, with("instance_info", map[string]any{"image_source": "ftp://i/x"})).refused(400).Code)
	require.Contains(t, b.post(work, with("steps", []any{map[string]any{"interface": "bios", "step": "nosuch", "priority": 1, "args": map[string]any{}}})).fails(400), "nosuch")
	b.post(work, with("config_drive", "!")).fails(400)
	b.sql(`UPDATE nodes SET maintenance = true`)
	require.Equal(t, fault.NodeInMaintenance, b.post(work, body).refused(400).Code)
	b.sql(`UPDATE nodes SET maintenance = false`)
	require.Equal(t, before, b.field("n1", "instance_info"))
	require.Equal(t, "available", b.field("n1", "provision_state"))
	require.Len(t, b.get("/v1/nodes/n1/history").is(200)["history"], events)
	require.Empty(t, b.ops.startedIDs())

	op := b.post(work, body).is(202)
	require.Equal(t, "deploy", op["kind"])
	require.Equal(t, "hold", op["on_failure"])
	require.Equal(t, op["id"], b.last.header.Get("Temper-Operation"))
	require.Equal(t, "http://temper.test:6385/temper/v1/operations/"+op["id"].(string), b.last.header.Get("Location"))
	require.NotContains(t, string(b.last.raw), "hunter")
	require.Equal(t, map[string]any{
		"image_source": "http://i/new", "image_checksum": digestOfAnImage, "kept": 7.0, "admin_password": "******", "configdrive": "******",
	}, b.field("n1", "instance_info"))
	require.Equal(t, "deploying", b.field("n1", "provision_state"))
	require.Len(t, b.ops.startedIDs(), 1)
	secrets, err := b.credentials("n1")
	require.NoError(t, err)
	require.Equal(t, "hunter2", secrets["instance_info/admin_password"])
	require.Equal(t, map[string]any{"user_data": "#!/bin/sh"}, secrets["instance_info/configdrive"])
	require.Contains(t, fmt.Sprint(secrets), "hunter3")

	require.Equal(t, fault.NodeLocked, b.post(work, map[string]any{"verb": "manage"}).refused(409).Code)
}

func TestASecretOfAnImageStaysWithItsURL(t *testing.T) {
	b := newBench(t).withConductors()
	b.withRedfish()
	info := map[string]any{"image_source": "http://i/a", "image_checksum": digestOfAnImage, "image_request_authorization_secret": "hunter2"}
	b.patch("/v1/nodes/n1", add("/instance_info", info)).is(200)
	elsewhere := map[string]any{"verb": "active", "instance_info": map[string]any{"image_source": "http://evil/a"}}
	require.Equal(t, fault.SecretRequired, b.post(work, elsewhere).refused(400).Code)
	elsewhere["dry_run"] = true
	require.Equal(t, "secret_required", b.post(work, elsewhere).is(200)["refusals"].([]any)[0].(map[string]any)["code"])
	require.Equal(t, "http://i/a", b.field("n1", "instance_info").(map[string]any)["image_source"])
}

func TestEveryVerbIsAnOperation(t *testing.T) {
	b := newBench(t).withConductors()
	free := func(s node.State) {
		b.sql(`UPDATE operations SET ended_at = now(), outcome = 'succeeded', phase = 'ended' WHERE ended_at IS NULL`)
		b.sql(`UPDATE nodes SET provision_state = $1, target_provision_state = '' WHERE name = 'n1'`, string(s))
	}
	b.enrolled("n1")
	for _, c := range []struct {
		from node.State
		body map[string]any
		kind string
	}{
		{node.Enroll, map[string]any{"verb": "manage"}, "manage"},
		{node.Manageable, map[string]any{"verb": "inspect"}, "inspect"},
		{node.Manageable, map[string]any{"verb": "clean", "steps": []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}}, "clean"},
		{node.Manageable, map[string]any{"verb": "provide"}, "provide"},
		{node.Available, map[string]any{"verb": "active"}, "deploy"},
		{node.Active, map[string]any{"verb": "rebuild", "instance_info": map[string]any{"a": 1}}, "rebuild"},
		{node.Active, map[string]any{"verb": "undeploy"}, "undeploy"},
		{node.Active, map[string]any{"verb": "power off"}, "power"},
		{node.Active, map[string]any{"verb": "soft rebooting", "timeout": 30}, "power"},
	} {
		free(c.from)
		require.Equal(t, c.kind, b.post(work, c.body).is(202)["kind"], c.body)
	}
	free(node.Available)
	b.post(work, map[string]any{"verb": "manage", "idempotency_key": "k"}).is(204)
	require.Equal(t, "manageable", b.field("n1", "provision_state"))
	b.post(work, map[string]any{"verb": "manage", "idempotency_key": "k"}).is(204)
	require.Empty(t, b.last.header.Get("Temper-Operation"))

	free(node.Available)
	id := b.post(work, map[string]any{"verb": "active"}).is(202)["id"]
	b.sql(`UPDATE nodes SET provision_state = 'wait call-back' WHERE name = 'n1'`)
	b.sql(`UPDATE operations SET phase = 'waiting', run_id = 'r', begun_at = now() WHERE ended_at IS NULL`)
	require.Equal(t, id, b.post(work, map[string]any{"verb": "abort"}).is(202)["id"], "it steers what is open")
	require.Contains(t, b.ops.toldWhat(), fmt.Sprintf("nudge %s: abort", id))
}

func TestTheSameKeyIsTheSameOperation(t *testing.T) {
	b := newBench(t).withConductors()
	uuid := b.in("n1", node.Available)
	body := `{"verb": "active", "instance_info": {"admin_password": "hunter2"}, "idempotency_key": "once"}`
	id := b.post(work, body).is(202)["id"]
	again := `{"idempotency_key":"once","instance_info":{"admin_password":"hunter2"},"verb":"active"}`
	require.Equal(t, id, b.post("/temper/v1/nodes/"+uuid+"/operations", again).is(202)["id"], "the order of fields does not matter, nor does the node's name")
	require.Len(t, b.ops.startedIDs(), 1)
	require.NotContains(t, b.text(`SELECT string_agg(k::text, '') FROM idempotency_keys k`), "hunter2")

	other := strings.Replace(body, "hunter2", "hunter3", 1)
	require.Equal(t, fault.IdempotencyKeyReused, b.post(work, other).refused(409).Code)
	b.sql(`UPDATE operations SET ended_at = now(), outcome = 'succeeded', phase = 'ended'`)
	b.sql(`UPDATE nodes SET provision_state = 'active', target_provision_state = '' WHERE name = 'n1'`)
	ended := b.post(work, body).is(202)
	require.Equal(t, id, ended["id"])
	require.Equal(t, "succeeded", ended["outcome"])

	b.in("n2", node.Available)
	require.NotEqual(t, id, b.post("/temper/v1/nodes/n2/operations", body).is(202)["id"], "a key is of its node")

	b.sql(`UPDATE idempotency_keys SET accepted_at = now() - interval '23 hours'`)
	require.Equal(t, id, b.post(work, body).is(202)["id"])
	b.sql(`UPDATE idempotency_keys SET accepted_at = now() - interval '25 hours'`)
	require.Equal(t, fault.AlreadyInState, b.post(work, body).refused(400).Code, "it counts as new after 24 hours")
	b.post(work, strings.Replace(body, "active", "rebuild", 1)).is(202)
	gone, err := b.store.ForgetRequests(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, gone, "that of n2")
}

func TestRequestsAtOnceWithOneKeyMakeOneOperation(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Active)
	const many = 8
	ids := make([]any, many)
	var under sync.WaitGroup
	for i := range many {
		under.Go(func() {
			ids[i] = b.alone("POST", work, `{"verb": "power off", "idempotency_key": "k"}`)
		})
	}
	under.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	require.Equal(t, "1", b.text(`SELECT count(*)::text FROM operations`))
	require.Len(t, b.ops.startedIDs(), 1)
}

func TestADryRunSaysWhatWouldBecomeOfIt(t *testing.T) {
	b := newBench(t).withConductors()
	b.withRedfish()
	before := string(b.get("/v1/nodes/n1").raw)
	body := map[string]any{"verb": "active", "dry_run": true, "idempotency_key": "k", "instance_info": map[string]any{"image_source": "http://i/new", "image_checksum": digestOfAnImage}}
	out := b.post(work, body).is(200)
	require.Equal(t, true, out["accepted"], string(b.last.raw))
	require.Empty(t, out["refusals"])
	steps := out["steps"].([]any)
	require.Greater(t, len(steps), 3)
	require.Equal(t, map[string]any{"interface": "deploy", "step": "prepare", "expected_seconds": nil}, steps[0])

	b.sql(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, ended_at, origin, target, conductor_group, driver, steps)
		SELECT id, uuid, name, 'deploy', 'ended', 'succeeded', now(), 'available', 'active', '', driver,
			'[{"index":0,"interface":"deploy","step":"prepare","priority":0,"source":"core","state":"done","started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:12.5Z"}]'
		FROM nodes WHERE name = 'n1'`)
	out = b.post(work, body).is(200)
	require.InDelta(t, 12.5, out["steps"].([]any)[0].(map[string]any)["expected_seconds"], 0.001)

	body["instance_info"] = map[string]any{}
	b.sql(`UPDATE nodes SET maintenance = true`)
	out = b.post(work, body).is(200)
	require.Equal(t, false, out["accepted"])
	require.Empty(t, out["steps"])
	var refused []string
	for _, r := range out["refusals"].([]any) {
		refused = append(refused, r.(map[string]any)["code"].(string))
	}
	require.Equal(t, []string{"node_in_maintenance", "image_invalid"}, refused, "people want to know of all")
	b.sql(`UPDATE nodes SET maintenance = false`)
	require.Equal(t, before, string(b.get("/v1/nodes/n1").raw))
	require.Empty(t, b.ops.startedIDs())
	require.Equal(t, "0", b.text(`SELECT count(*)::text FROM idempotency_keys`))
}

// What else would be in the way is named only where the work would need it.
func TestADryRunNamesOnlyWhatTheVerbNeeds(t *testing.T) {
	b := newBench(t).withConductors()
	b.withRedfish()
	codes := func(body map[string]any) (out []string) {
		body["dry_run"] = true
		for _, r := range b.post(work, body).is(200)["refusals"].([]any) {
			out = append(out, r.(map[string]any)["code"].(string))
		}
		return out
	}
	b.dead("c1")
	b.dead("c2")
	require.Equal(t, []string{"state_not_allowed"}, codes(map[string]any{"verb": "abort"}), "it needs no conductor")

	b.conductor("c3", "", "redfish")
	b.patch("/v1/nodes/n1", remove("/driver_info/deploy_iso")).is(200)
	steps := []any{map[string]any{"interface": "bios", "step": "apply_configuration", "args": map[string]any{"settings": []any{}}}}
	clean := func(noRamdisk bool) map[string]any {
		return map[string]any{"verb": "clean", "steps": steps, "disable_ramdisk": noRamdisk}
	}
	b.sql(`UPDATE nodes SET provision_state = 'manageable', maintenance = true`)
	require.Equal(t, []string{"node_in_maintenance", "validation_failed"}, codes(clean(false)))
	require.Equal(t, []string{"node_in_maintenance"}, codes(clean(true)), "it boots no agent")
}

func TestHostileOrders(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Available)
	before := string(b.get("/v1/nodes/n1").raw)
	for body, words := range map[string]string{
		``:                           "Missing mandatory parameter: verb",
		`[]`:                         "must be a JSON object",
		`{"verb": 3}`:                "Expected string for verb",
		`{"verb": "explode"}`:        "it is one of active, deploy",
		`{"verb": "active", "x": 1}`: "Unexpected arguments: x",
		`{"verb": "active", "instance_info": []}`:                       "Expected an object for instance_info",
		`{"verb": "active", "instance_info": {"a": "\u0000"}}`:          "NUL",
		`{"verb": "active", "instance_info": {"a_password": "******"}}`: "******",
		`{"verb": "manage", "instance_info": {"a": 1}}`:                 `instance_info can't be given with the verb "manage"`,
		`{"verb": "manage", "config_drive": "x"}`:                       `config_drive can't be given`,
		`{"verb": "provide", "steps": [{}]}`:                            `steps can't be given`,
		`{"verb": "clean"}`:                                             `steps is required`,
		`{"verb": "active", "steps": {}}`:                               "Expected a list for steps",
		`{"verb": "active", "steps": [1]}`:                              "deploy_steps",
		`{"verb": "active", "timeout": 3}`:                              "timeout can't be given",
		`{"verb": "active", "on_failure": "shrug"}`:                     "on_failure",
		`{"verb": "active", "disable_ramdisk": true}`:                   "disable_ramdisk",
		`{"verb": "active", "wait_for_conductor": "perhaps"}`:           "wait_for_conductor",
		`{"verb": "active", "idempotency_key": ""}`:                     "1 to 255 bytes",
		`{"verb": "active", "idempotency_key": "a\u0000"}`:              "1 to 255 bytes",
		`{"verb": "power on", "steps": []}`:                             "steps can't be given",
		`{"verb": "power on", "timeout": -1}`:                           "timeout",
		`{"verb": "power on", "instance_info": {}}`:                     "instance_info can't be given",
	} {
		require.Contains(t, b.post(work, body).fails(400), words, body)
		b.last.refused(400)
	}
	b.post(work, `{"verb": "active", "idempotency_key": "`+strings.Repeat("k", 256)+`"}`).fails(400)
	b.post(work, `{"verb": "active", "config_drive": "`+strings.Repeat("x", 64<<20)+`"}`).fails(413)
	b.post(work, strings.Repeat(`{"a":`, 30)+"1"+strings.Repeat("}", 30)).fails(400)
	b.post("/temper/v1/nodes/nosuch/operations", `{"verb": "active"}`).fails(404)
	require.Equal(t, before, string(b.get("/v1/nodes/n1").raw))
	require.Empty(t, b.ops.startedIDs())
}

// Whatever a body is made of, it is accepted, or refused with a code of the
// table and without any change of the node.
func TestAnyOrderIsAcceptedOrChangesNothing(t *testing.T) {
	b := newBench(t).withConductors()
	b.in("n1", node.Available)
	r := rand.New(rand.NewPCG(1, 2))
	values := []any{nil, true, "hold", "active", "rebuild", "clean", "power on", "manage", "", 1, -7, 1e300, []any{}, []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}, map[string]any{}, map[string]any{"image_source": "x", "a": nil}, "\u00e9"}
	names := []string{"verb", "instance_info", "config_drive", "steps", "disable_ramdisk", "timeout", "on_failure", "wait_for_conductor", "idempotency_key", "dry_run"}
	accepted := 0
	for range 300 {
		body := map[string]any{"verb": values[r.IntN(8)]}
		for range r.IntN(4) {
			body[names[r.IntN(len(names))]] = values[r.IntN(len(values))]
		}
		before := string(b.get("/v1/nodes/n1").raw)
		a := b.post(work, body)
		require.Less(t, a.status, 500, "%v: %s", body, a.raw)
		switch {
		case a.status >= 400:
			a.refused(a.status)
			require.Equal(t, before, string(b.get("/v1/nodes/n1").raw), body)
		case a.status == http.StatusOK:
			require.Equal(t, before, string(b.get("/v1/nodes/n1").raw), body)
		default:
			accepted++
			b.sql(`UPDATE operations SET ended_at = now(), outcome = 'succeeded', phase = 'ended' WHERE ended_at IS NULL`)
			b.sql(`UPDATE nodes SET provision_state = 'available', target_provision_state = '', instance_info = '{}'`)
		}
	}
	require.Positive(t, accepted)
}

// alone asks without the bench's memory, so that many can ask at once, and gives
// the id in the answer.
func (b *bench) alone(method, path, body string) any {
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	var out map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &out) // a body that is no object has no id
	return out["id"]
}
