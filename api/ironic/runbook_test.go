package ironic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

const runbooks = "/v1/runbooks"

// ordered is a step of a runbook.
func ordered(step string, order any, args map[string]any) map[string]any {
	return map[string]any{"interface": "bios", "step": step, "order": order, "args": args}
}

func TestRunbooks(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	steps := []any{ordered("factory_reset", 2, map[string]any{}), ordered("apply_configuration", "1", map[string]any{"password": "hunter2"})}
	body := b.Post(runbooks, map[string]any{"name": "CUSTOM_BIOS", "steps": steps, "extra": map[string]any{"a": 1}, "owner": "ann"}).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385"+runbooks+"/"+id, b.Last.Header.Get("Location"))
	shown := body["steps"].([]any)[1].(map[string]any)
	require.EqualValues(t, 1, shown["order"])
	require.Equal(t, map[string]any{"password": "******"}, shown["args"])
	require.NotContains(t, shown, "priority")
	require.Equal(t, []any{false, false, "ann"}, []any{body["public"], body["disable_ramdisk"], body["owner"]})
	b.Post(runbooks, map[string]any{"name": "CUSTOM_B", "public": true, "disable_ramdisk": true, "steps": []any{ordered("x", 0, map[string]any{})}}).Is(201)
	for query, want := range map[string]int{
		runbooks: 2, runbooks + "?detail=true": 2, runbooks + "?limit=1": 1, runbooks + "?marker=" + id: 1, runbooks + "?sort_key=name&sort_dir=desc": 2, runbooks + "?fields=name,steps": 2,
	} {
		require.Len(t, b.Get(query).Is(200)["runbooks"], want, query)
	}
	first := b.Get(runbooks + "?limit=1").Is(200)["runbooks"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "name", "links"}, slices.Collect(maps.Keys(first)))

	changed := b.Patch(runbooks+"/CUSTOM_BIOS", apitest.Replace("/name", "CUSTOM_C"), apitest.Replace("/steps/0/order", 3), apitest.Add("/extra/b", 2)).Is(200)
	require.EqualValues(t, 3, changed["steps"].([]any)[0].(map[string]any)["order"])
	kept, err := b.Store.Runbook(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"/bios.apply_configuration/password": "hunter2"}, kept.Hidden.Clear)
	require.NotContains(t, b.Text(`SELECT string_agg(t::text, '') FROM runbooks t`), "hunter2", "it is sealed")
	published := b.Patch(runbooks+"/CUSTOM_C", apitest.Replace("/public", true)).Is(200)
	require.Equal(t, []any{true, nil}, []any{published["public"], published["owner"]})
	require.Contains(t, b.Patch(runbooks+"/CUSTOM_C", apitest.Replace("/owner", "bob")).Fails(400), "There cannot be an owner for a public runbook")
	owned := b.Patch(runbooks+"/CUSTOM_C", apitest.Replace("/public", false), apitest.Replace("/owner", "bob")).Is(200)
	require.Equal(t, []any{false, "bob"}, []any{owned["public"], owned["owner"]})
	b.Delete(runbooks + "/CUSTOM_C").Is(204)
	require.Equal(t, "Runbook "+id+" could not be found.", b.Get(runbooks+"/"+id).Fails(404))
}

func TestRunbooksAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	one := ordered("x", 1, map[string]any{})
	id := b.Post(runbooks, map[string]any{"name": "CUSTOM_A", "steps": []any{one}}).Is(201)["uuid"].(string)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		words  string
	}{
		"no steps":             {map[string]any{"name": "CUSTOM_B"}, 400, "'steps' is a required property"},
		"a name that is none":  {map[string]any{"name": "a b", "steps": []any{one}}, 400, "'a b' is not a valid name"},
		"a trait that is none": {map[string]any{"name": "b", "traits": []string{"fast"}, "steps": []any{one}}, 400, "'fast' is not a trait"},
		"no list of traits":    {map[string]any{"name": "b", "traits": "CUSTOM_A", "steps": []any{one}}, 400, "is not of type 'array', 'null'"},
		"a name that is taken": {map[string]any{"name": "CUSTOM_A", "steps": []any{one}}, 409, "A runbook with name CUSTOM_A already exists."},
		"a uuid that is taken": {map[string]any{"uuid": id, "name": "CUSTOM_B", "steps": []any{one}}, 409, "A runbook with UUID " + id + " already exists."},
		"a step without place": {map[string]any{"name": "CUSTOM_B", "steps": []any{map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}}}}, 400, "'order' is a required property"},
		"a step twice":         {map[string]any{"name": "CUSTOM_B", "steps": []any{one, one}}, 400, "Runbook invalid: Duplicate runbook steps. A runbook cannot have multiple"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.Post(runbooks, c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	b.At(91, "GET", runbooks, nil).Fails(404)
	require.Equal(t, "The API version does not allow runbooks", b.At(91, "POST", runbooks, nil).Fails(405))
	b.At(91, "DELETE", runbooks+"/CUSTOM_A", nil).Fails(405)
	b.Patch(runbooks+"/CUSTOM_A", apitest.Replace("/uuid", uuid.NewString())).Fails(400)
	b.Get(runbooks + "/nosuch").Fails(404)
}

func TestACleaningRunsTheStepsOfARunbook(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Manageable)
	steps := []any{ordered("factory_reset", 2, map[string]any{}), ordered("apply_configuration", 1, map[string]any{"settings": []any{map[string]any{"name": "AdminPassword", "value": "hunter2"}}})}
	id := b.Post(runbooks, map[string]any{"name": "CUSTOM_BIOS", "traits": []string{"CUSTOM_BIOS"}, "steps": steps}).Is(201)["uuid"].(string)
	clean := func(body map[string]any) *apitest.Answer {
		body["target"] = "clean"
		return b.Put("/v1/nodes/n1/states/provision", body)
	}
	require.Equal(t, "This runbook has not been approved for use on this node "+uuid+". Please ask an administrator to add it to your node's traits.", clean(map[string]any{"runbook": "CUSTOM_BIOS"}).Fails(400))
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_BIOS"}}).Is(204)
	require.Equal(t, "Runbook CUSTOM_NONE could not be found.", clean(map[string]any{"runbook": "CUSTOM_NONE"}).Fails(404))
	require.Contains(t, clean(map[string]any{"runbook": id, "clean_steps": []any{map[string]any{"interface": "bios", "step": "factory_reset"}}}).Fails(400), `"clean_steps" can not be given together with "runbook"`)
	clean(map[string]any{"runbook": 5}).Fails(400)
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "provide", "runbook": id}).Fails(400), "only valid when setting target provision state to clean or service")
	b.At(91, "PUT", "/v1/nodes/n1/states/provision", map[string]any{"target": "clean", "runbook": id}).Fails(406)
	require.Equal(t, "manageable", b.Field("n1", "provision_state"))

	trial := b.Post("/temper/v1/nodes/n1/operations", map[string]any{"verb": "clean", "runbook": "CUSTOM_BIOS", "dry_run": true}).Is(200)
	require.Equal(t, true, trial["accepted"], trial)
	require.Len(t, trial["steps"], 4)

	clean(map[string]any{"runbook": id}).Is(202)
	var planned []string
	for _, s := range b.LastOperation("n1").Steps {
		planned = append(planned, s.Name())
	}
	require.Equal(t, []string{"deploy.prepare_cleaning", "bios.apply_configuration", "bios.factory_reset", "deploy.tear_down_cleaning"}, planned)
	secrets, err := b.Credentials("n1")
	require.NoError(t, err)
	require.Len(t, secrets, 1, "whoever runs the step finds the password")
	require.NotContains(t, string(b.Get("/v1/nodes/n1").Body), "hunter2")
}

func TestARunbookWithoutTheAgent(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Manageable)
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", "CUSTOM_B"}}).Is(204)
	b.Post(runbooks, map[string]any{"name": "CUSTOM_A", "traits": []string{"CUSTOM_A"}, "disable_ramdisk": true, "steps": []any{ordered("factory_reset", 1, map[string]any{})}}).Is(201)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "clean", "runbook": "CUSTOM_A"}).Is(202)
	steps := b.LastOperation("n1").Steps
	require.Len(t, steps, 1, "no agent is booted")
}
