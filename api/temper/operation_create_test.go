package temper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

var digestOfAnImage = strings.Repeat("0a", 32)

// work is the path to create operations of node n1.
const work = "/temper/v1/nodes/n1/operations"

// redfishNode makes the available node n1, whose deploy needs an image.
func redfishNode(b *apitest.Bench) {
	b.T.Helper()
	b.Post("/v1/nodes", map[string]any{
		"name": "n1", "driver": "redfish",
		"driver_info": map[string]any{"redfish_address": "https://10.0.0.1", "deploy_iso": "http://i/iso"},
	}).Is(201)
	b.SQL(`UPDATE nodes SET provision_state = 'available' WHERE name = 'n1'`)
}

// What is accepted while Temporal does not answer is not lost, and the answer says that it is late.
func TestWhatIsAcceptedWithoutTemporalSaysSo(t *testing.T) {
	t.Parallel()
	var away status.Dependencies
	b := apitest.New(t, func(c *api.Config) { c.Ask = func(context.Context) status.Dependencies { return away } }).WithConductors()
	b.In("n1", node.Available)
	dryRun := map[string]any{"verb": "manage", "dry_run": true}
	b.Post(work, map[string]any{"verb": "power on"}).Is(202)
	require.Empty(t, b.Last.Header.Get(intent.HeaderWarning))
	require.NoError(t, b.Store.Reconciled(t.Context()))
	_, err := b.Store.CloseOperation(t.Context(), node.End{Operation: b.LastOperation("n1").ID, Outcome: node.Succeeded})
	require.NoError(t, err)

	away.Temporal = status.Answer{Trouble: status.TemporalAway, Since: time.Now().Add(-time.Minute)}
	b.SQL("UPDATE witness SET contact_at = contact_at - interval '1 minute'")
	b.Operations.Err = fault.New(fault.Unavailable, "no answer")
	require.Empty(t, b.Post(work, dryRun).Is(200)["notes"], "no operation is needed")
	dryRun["verb"] = "power off"
	require.Contains(t, b.Post(work, dryRun).Is(200)["notes"].([]any)[0], "Temporal does not answer since ")
	id := b.Post(work, map[string]any{"verb": "power off"}).Is(202)["id"]
	require.Equal(t, "Temporal does not answer: the request is accepted, and its operation begins when Temporal answers", b.Last.Header.Get(intent.HeaderWarning))
	b.Post("/temper/v1/operations/"+id.(string)+"/cancel", map[string]any{}).Is(202)
	require.Equal(t, "Temporal does not answer: the request is accepted, and takes effect when Temporal answers", b.Last.Header.Get(intent.HeaderWarning))
	b.In("n2", node.Available)
	b.Put("/v1/nodes/n2/states/power", map[string]any{"target": "power on"}).Is(202)
	require.Contains(t, b.Last.Header.Get(intent.HeaderWarning), "its operation begins when Temporal answers")
	require.Empty(t, b.Last.Body, "Ironic's answer is Ironic's")
}

func TestADeployIsOneRequest(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	redfishNode(b)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_os_hash_value", "old"), apitest.Add("/instance_info/kept", 7)).Is(200)
	before := b.Field("n1", "instance_info")
	events := len(b.Get("/v1/nodes/n1/history").Is(200)["history"].([]any))
	body := map[string]any{
		"verb":          "active",
		"instance_info": map[string]any{"image_source": "http://i/new", "image_checksum": digestOfAnImage, "image_os_hash_value": nil, "admin_password": "hunter2"},
		"config_drive":  map[string]any{"user_data": "#!/bin/sh"},
		"steps":         []any{map[string]any{"interface": "bios", "step": "apply_configuration", "priority": 90, "args": map[string]any{"settings": []any{map[string]any{"name": "AdminPassword", "value": "hunter3"}}}}},
		"on_failure":    "hold",
	}

	// A refused request changes nothing, whatever the reason.
	with := func(name string, v any) map[string]any {
		out := map[string]any{}
		for k, old := range body {
			out[k] = old
		}
		out[name] = v
		return out
	}
	require.Equal(t, fault.ImageInvalid, b.Post(work, with("instance_info", map[string]any{"image_source": "ftp://i/x"})).Refused(400).Code)
	require.Contains(t, b.Post(work, with("steps", []any{map[string]any{"interface": "bios", "step": "nosuch", "priority": 1, "args": map[string]any{}}})).Fails(400), "nosuch")
	b.Post(work, with("config_drive", "!")).Fails(400)
	b.SQL(`UPDATE nodes SET maintenance = true`)
	require.Equal(t, fault.NodeInMaintenance, b.Post(work, body).Refused(400).Code)
	b.SQL(`UPDATE nodes SET maintenance = false`)
	require.Equal(t, before, b.Field("n1", "instance_info"))
	require.Equal(t, "available", b.Field("n1", "provision_state"))
	require.Len(t, b.Get("/v1/nodes/n1/history").Is(200)["history"], events)
	require.Empty(t, b.Operations.Started())

	op := b.Post(work, body).Is(202)
	require.Equal(t, "deploy", op["kind"])
	require.Equal(t, "hold", op["on_failure"])
	require.Equal(t, op["id"], b.Last.Header.Get("Temper-Operation"))
	require.Equal(t, "http://temper.test:6385/temper/v1/operations/"+op["id"].(string), b.Last.Header.Get("Location"))
	require.NotContains(t, string(b.Last.Body), "hunter")
	require.Equal(t, map[string]any{
		"image_source": "http://i/new", "image_checksum": digestOfAnImage, "kept": 7.0, "admin_password": "******", "configdrive": "******",
	}, b.Field("n1", "instance_info"))
	require.Equal(t, "deploying", b.Field("n1", "provision_state"))
	require.Len(t, b.Operations.Started(), 1)
	secrets, err := b.Credentials("n1")
	require.NoError(t, err)
	require.Equal(t, "hunter2", secrets["instance_info/admin_password"])
	require.Equal(t, map[string]any{"user_data": "#!/bin/sh"}, secrets["instance_info/configdrive"])
	require.Contains(t, fmt.Sprint(secrets), "hunter3")

	require.Equal(t, fault.NodeLocked, b.Post(work, map[string]any{"verb": "manage"}).Refused(409).Code)
}

func TestASecretOfAnImageStaysWithItsURL(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	redfishNode(b)
	info := map[string]any{"image_source": "http://i/a", "image_checksum": digestOfAnImage, "image_request_authorization_secret": "hunter2"}
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info", info)).Is(200)
	elsewhere := map[string]any{"verb": "active", "instance_info": map[string]any{"image_source": "http://evil/a"}}
	require.Equal(t, fault.SecretRequired, b.Post(work, elsewhere).Refused(400).Code)
	elsewhere["dry_run"] = true
	require.Equal(t, "secret_required", b.Post(work, elsewhere).Is(200)["refusals"].([]any)[0].(map[string]any)["code"])
	require.Equal(t, "http://i/a", b.Field("n1", "instance_info").(map[string]any)["image_source"])
}

func TestEveryVerbIsAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	free := func(s node.State) {
		b.SQL(`UPDATE operations SET ended_at = now(), outcome = 'succeeded', phase = 'ended' WHERE ended_at IS NULL`)
		b.SQL(`UPDATE nodes SET provision_state = $1, target_provision_state = '' WHERE name = 'n1'`, string(s))
	}
	b.Enrolled("n1")
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
		require.Equal(t, c.kind, b.Post(work, c.body).Is(202)["kind"], c.body)
	}
	free(node.Available)
	b.Post(work, map[string]any{"verb": "manage", "idempotency_key": "k"}).Is(204)
	require.Equal(t, "manageable", b.Field("n1", "provision_state"))
	b.Post(work, map[string]any{"verb": "manage", "idempotency_key": "k"}).Is(204)
	require.Empty(t, b.Last.Header.Get("Temper-Operation"))

	free(node.Available)
	id := b.Post(work, map[string]any{"verb": "active"}).Is(202)["id"]
	b.SQL(`UPDATE nodes SET provision_state = 'wait call-back' WHERE name = 'n1'`)
	b.SQL(`UPDATE operations SET phase = 'waiting', run_id = 'r', begun_at = now() WHERE ended_at IS NULL`)
	require.Equal(t, id, b.Post(work, map[string]any{"verb": "abort"}).Is(202)["id"], "it steers what is open")
	require.Contains(t, b.Operations.Told(), fmt.Sprintf("nudge %s: abort", id))
}

func TestTheSameKeyIsTheSameOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Available)
	body := `{"verb": "active", "instance_info": {"admin_password": "hunter2"}, "idempotency_key": "once"}`
	id := b.Post(work, body).Is(202)["id"]
	again := `{"idempotency_key":"once","instance_info":{"admin_password":"hunter2"},"verb":"active"}`
	require.Equal(t, id, b.Post("/temper/v1/nodes/"+uuid+"/operations", again).Is(202)["id"], "the order of fields does not matter, nor does the node's name")
	require.Len(t, b.Operations.Started(), 1)
	require.NotContains(t, b.Text(`SELECT string_agg(k::text, '') FROM idempotency_keys k`), "hunter2")

	other := strings.Replace(body, "hunter2", "hunter3", 1)
	require.Equal(t, fault.IdempotencyKeyReused, b.Post(work, other).Refused(409).Code)
	b.SQL(`UPDATE operations SET ended_at = now(), outcome = 'succeeded', phase = 'ended'`)
	b.SQL(`UPDATE nodes SET provision_state = 'active', target_provision_state = '' WHERE name = 'n1'`)
	ended := b.Post(work, body).Is(202)
	require.Equal(t, id, ended["id"])
	require.Equal(t, "succeeded", ended["outcome"])

	b.In("n2", node.Available)
	require.NotEqual(t, id, b.Post("/temper/v1/nodes/n2/operations", body).Is(202)["id"], "a key is of its node")

	b.SQL(`UPDATE idempotency_keys SET accepted_at = now() - interval '23 hours'`)
	require.Equal(t, id, b.Post(work, body).Is(202)["id"])
	b.SQL(`UPDATE idempotency_keys SET accepted_at = now() - interval '25 hours'`)
	require.Equal(t, fault.AlreadyInState, b.Post(work, body).Refused(400).Code, "it counts as new after 24 hours")
	b.Post(work, strings.Replace(body, "active", "rebuild", 1)).Is(202)
	gone, err := b.Store.ForgetRequests(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, gone, "that of n2")
}

func TestRequestsAtOnceWithOneKeyMakeOneOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Active)
	const many = 8
	answers := make([]*apitest.Answer, many)
	var under sync.WaitGroup
	for i := range many {
		under.Go(func() {
			body := strings.NewReader(`{"verb": "power off", "idempotency_key": "k"}`)
			answers[i] = b.Serve(httptest.NewRequestWithContext(t.Context(), "POST", work, body))
		})
	}
	under.Wait()
	for _, a := range answers {
		require.Equal(t, answers[0].Is(202)["id"], a.Is(202)["id"])
	}
	require.Equal(t, "1", b.Text(`SELECT count(*)::text FROM operations`))
	require.Len(t, b.Operations.Started(), 1)
}

func TestADryRunSaysWhatWouldBecomeOfIt(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	redfishNode(b)
	before := string(b.Get("/v1/nodes/n1").Body)
	body := map[string]any{"verb": "active", "dry_run": true, "idempotency_key": "k", "instance_info": map[string]any{"image_source": "http://i/new", "image_checksum": digestOfAnImage}}
	out := b.Post(work, body).Is(200)
	require.Equal(t, true, out["accepted"], string(b.Last.Body))
	require.Empty(t, out["refusals"])
	steps := out["steps"].([]any)
	require.Greater(t, len(steps), 3)
	require.Equal(t, map[string]any{"interface": "deploy", "step": "prepare", "expected_seconds": nil, "expected_samples": 0.0, "expected_basis": nil}, steps[0])

	b.SQL(`INSERT INTO step_times (model, image, step, took_ms, samples, usual_ms, ended_at) VALUES
		('redfish', '', 'deploy.prepare', '{12500}', 20, 12500, now()), ('', '', 'deploy.prepare', '{99000}', 40, 99000, now()),
		('redfish', image_key('{"image_checksum": "` + digestOfAnImage + `"}'), 'deploy.write_image', '{70000}', 11, 70000, now())`)
	out = b.Post(work, body).Is(200)
	usual := map[any]map[string]any{}
	for _, st := range out["steps"].([]any) {
		usual[st.(map[string]any)["step"]] = st.(map[string]any)
	}
	require.Equal(t, map[string]any{"interface": "deploy", "step": "prepare", "expected_seconds": 12.5, "expected_samples": 20.0, "expected_basis": "model"}, usual["prepare"])
	require.Equal(t, "image", usual["write_image"]["expected_basis"], "the image is the one that the request names")

	body["instance_info"] = map[string]any{}
	b.SQL(`UPDATE nodes SET maintenance = true`)
	out = b.Post(work, body).Is(200)
	require.Equal(t, false, out["accepted"])
	require.Empty(t, out["steps"])
	var refused []string
	for _, r := range out["refusals"].([]any) {
		refused = append(refused, r.(map[string]any)["code"].(string))
	}
	require.Equal(t, []string{"node_in_maintenance", "image_invalid"}, refused, "people want to know of all")
	b.SQL(`UPDATE nodes SET maintenance = false`)
	require.Equal(t, before, string(b.Get("/v1/nodes/n1").Body))
	require.Empty(t, b.Operations.Started())
	require.Equal(t, "0", b.Text(`SELECT count(*)::text FROM idempotency_keys`))
}

// A dry run also names later obstacles, but only those that concern the verb.
func TestADryRunNamesOnlyWhatTheVerbNeeds(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	redfishNode(b)
	codes := func(body map[string]any) (out []string) {
		body["dry_run"] = true
		for _, r := range b.Post(work, body).Is(200)["refusals"].([]any) {
			out = append(out, r.(map[string]any)["code"].(string))
		}
		return out
	}
	b.Kill("c1")
	b.Kill("c2")
	require.Equal(t, []string{"state_not_allowed"}, codes(map[string]any{"verb": "abort"}), "it needs no conductor")

	b.Conductor("c3", "", "redfish")
	b.Patch("/v1/nodes/n1", apitest.Remove("/driver_info/deploy_iso")).Is(200)
	steps := []any{map[string]any{"interface": "deploy", "step": "burnin_cpu"}}
	clean := func(noRamdisk bool) map[string]any {
		return map[string]any{"verb": "clean", "steps": steps, "disable_ramdisk": noRamdisk}
	}
	b.SQL(`UPDATE nodes SET provision_state = 'manageable', maintenance = true`)
	require.Equal(t, []string{"node_in_maintenance", "validation_failed"}, codes(clean(false)))
	require.Equal(t, []string{"node_in_maintenance", "invalid_request"}, codes(clean(true)), "it boots no agent, and the step needs one")
}

func TestHostileOrders(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	before := string(b.Get("/v1/nodes/n1").Body)
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
		`{"verb": "active", "idempotency_key": "a\u0000"}`:              "NUL",
		`{"verb": "power on", "steps": []}`:                             "steps can't be given",
		`{"verb": "power on", "timeout": -1}`:                           "timeout",
		`{"verb": "power on", "instance_info": {}}`:                     "instance_info can't be given",
	} {
		require.Contains(t, b.Post(work, body).Fails(400), words, body)
		b.Last.Refused(400)
	}
	b.Post(work, `{"verb": "active", "idempotency_key": "`+strings.Repeat("k", 256)+`"}`).Fails(400)
	b.Post(work, `{"verb": "active", "config_drive": "`+strings.Repeat("x", 64<<20)+`"}`).Fails(413)
	b.Post(work, strings.Repeat(`{"a":`, 30)+"1"+strings.Repeat("}", 30)).Fails(400)
	b.Post("/temper/v1/nodes/nosuch/operations", `{"verb": "active"}`).Fails(404)
	require.Equal(t, before, string(b.Get("/v1/nodes/n1").Body))
	require.Empty(t, b.Operations.Started())
}

// Whatever a body contains, it is accepted, or it is refused with a code of the table and
// does not change the node.
func TestAnyOrderIsAcceptedOrChangesNothing(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	r := rand.New(rand.NewPCG(1, 2))
	values := []any{nil, true, "hold", "active", "rebuild", "clean", "power on", "manage", "", 1, -7, 1e300, []any{}, []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}, map[string]any{}, map[string]any{"image_source": "x", "a": nil}, "\u00e9"}
	names := []string{"verb", "instance_info", "config_drive", "steps", "disable_ramdisk", "timeout", "on_failure", "wait_for_conductor", "idempotency_key", "dry_run"}
	accepted := 0
	for range 300 {
		body := map[string]any{"verb": values[r.IntN(8)]}
		for range r.IntN(4) {
			body[names[r.IntN(len(names))]] = values[r.IntN(len(values))]
		}
		before := string(b.Get("/v1/nodes/n1").Body)
		a := b.Post(work, body)
		require.Less(t, a.Status, 500, "%v: %s", body, a.Body)
		switch {
		case a.Status >= 400:
			a.Refused(a.Status)
			require.Equal(t, before, string(b.Get("/v1/nodes/n1").Body), body)
		case a.Status == http.StatusOK:
			require.Equal(t, before, string(b.Get("/v1/nodes/n1").Body), body)
		default:
			accepted++
			b.SQL(`UPDATE operations SET ended_at = now(), outcome = 'succeeded', phase = 'ended' WHERE ended_at IS NULL`)
			b.SQL(`UPDATE nodes SET provision_state = 'available', target_provision_state = '', instance_info = '{}'`)
		}
	}
	require.Positive(t, accepted)
}

func TestARequestToTheManagementInterfaceIsAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	redfishNode(b)
	boot := map[string]any{"verb": "set_boot_device", "boot_device": "pxe", "persistent": true, "idempotency_key": "k1"}
	dry := map[string]any{"verb": "set_boot_device", "boot_device": "pxe", "dry_run": true}
	tried := b.Post(work, dry).Is(200)
	require.Equal(t, true, tried["accepted"])
	require.Empty(t, b.Operations.Started())
	o := b.Post(work, boot).Is(202)
	require.Equal(t, "boot_device", o["kind"])
	require.Equal(t, o["id"], b.Post(work, boot).Is(202)["id"], "the same request")
	tried = b.Post(work, map[string]any{"verb": "inject_nmi", "dry_run": true}).Is(200)
	require.Equal(t, false, tried["accepted"])
	require.Equal(t, string(fault.NodeLocked), tried["refusals"].([]any)[0].(map[string]any)["code"])

	require.Contains(t, b.Post(work, map[string]any{"verb": "set_boot_device"}).Fails(400), "boot_device")
	require.Contains(t, b.Post(work, map[string]any{"verb": "inject_nmi", "boot_device": "pxe"}).Fails(400), `boot_device can't be given with the verb "inject_nmi"`)
	require.Contains(t, b.Post(work, map[string]any{"verb": "manage", "persistent": true}).Fails(400), `persistent can't be given with the verb "manage"`)
	require.Contains(t, b.Post(work, map[string]any{"verb": "power on", "boot_device": "pxe"}).Fails(400), "boot_device")
	require.Contains(t, b.Post(work, map[string]any{"verb": "set_boot_device", "boot_device": "pxe", "timeout": 5}).Fails(400), "timeout")
}
