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

const templates = "/v1/deploy_templates"

// biosStep is a step of a deploy template with a password.
func biosStep(priority any) map[string]any {
	return map[string]any{"interface": "bios", "step": "apply_configuration", "priority": priority, "args": map[string]any{"settings": []any{
		map[string]any{"name": "LogicalProc", "value": "Enabled"}, map[string]any{"name": "AdminPassword", "value": "hunter2"},
	}}}
}

func TestDeployTemplates(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	body := b.Post(templates, map[string]any{"name": "CUSTOM_HT", "steps": []any{biosStep("150")}, "extra": map[string]any{"a": 1}}).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385"+templates+"/"+id, b.Last.Header.Get("Location"))
	settings := func(body map[string]any) []any {
		return body["steps"].([]any)[0].(map[string]any)["args"].(map[string]any)["settings"].([]any)
	}
	require.Equal(t, "******", settings(body)[1].(map[string]any)["value"])
	require.EqualValues(t, 150, body["steps"].([]any)[0].(map[string]any)["priority"])
	b.Post(templates, map[string]any{"name": "HW_CPU_X86_VMX", "steps": []any{map[string]any{"interface": "raid", "step": "x", "args": map[string]any{}, "priority": 0}}}).Is(201)
	for query, want := range map[string]int{
		templates: 2, templates + "?detail=true": 2, templates + "?limit=1": 1, templates + "?marker=" + id: 1, templates + "?sort_key=name&sort_dir=desc": 2, templates + "?fields=name,steps": 2,
	} {
		require.Len(t, b.Get(query).Is(200)["deploy_templates"], want, query)
	}
	shown := b.Get(templates + "?limit=1").Is(200)["deploy_templates"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "name", "links"}, slices.Collect(maps.Keys(shown)))
	require.Equal(t, id, b.Get(templates + "/CUSTOM_HT").Is(200)["uuid"])

	changed := b.Patch(templates+"/CUSTOM_HT", apitest.Replace("/name", "CUSTOM_HT2"), apitest.Replace("/steps/0/priority", 160), apitest.Add("/extra/b", 2)).Is(200)
	require.Equal(t, "CUSTOM_HT2", changed["name"])
	require.EqualValues(t, 160, changed["steps"].([]any)[0].(map[string]any)["priority"])
	kept, err := b.Store.DeployTemplate(t.Context(), id)
	require.NoError(t, err)
	require.Contains(t, kept.Hidden.Clear, "/bios.apply_configuration/settings", "the password stays")
	require.NotContains(t, b.Text(`SELECT string_agg(t::text, '') FROM deploy_templates t`), "hunter2", "it is sealed")
	added := b.Patch(templates+"/"+id, apitest.Add("/steps/1", map[string]any{"interface": "raid", "step": "x", "args": map[string]any{}, "priority": 3})).Is(200)
	require.Len(t, added["steps"], 2)
	b.Delete(templates + "/CUSTOM_HT2").Is(204)
	require.Equal(t, "Deploy template "+id+" could not be found.", b.Get(templates+"/"+id).Fails(404))
}

func TestAStepWhoseNameLooksLikeASecretKeepsItsArguments(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	step := func(name string) map[string]any {
		return map[string]any{"interface": "bios", "step": name, "priority": 10, "args": map[string]any{"user": "me", "password": "hunter2"}}
	}
	body := b.Post(templates, map[string]any{"name": "CUSTOM_PW", "steps": []any{step("reset_password"), step("reset_credentials")}}).Is(201)
	changed := b.Patch(templates+"/CUSTOM_PW", apitest.Replace("/steps/0/priority", 160)).Is(200)
	for _, told := range []map[string]any{body, changed, b.Get(templates + "/CUSTOM_PW").Is(200)} {
		for _, s := range told["steps"].([]any) {
			require.Equal(t, map[string]any{"user": "me", "password": "******"}, s.(map[string]any)["args"])
		}
	}
	kept, err := b.Store.DeployTemplate(t.Context(), body["uuid"].(string))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"/bios.reset_password/password": "hunter2", "/bios.reset_credentials/password": "hunter2"}, kept.Hidden.Clear)
}

func TestDeployTemplatesAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Post(templates, map[string]any{"name": "CUSTOM_A", "steps": []any{biosStep(1)}}).Is(201)["uuid"].(string)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		words  string
	}{
		"no name":               {map[string]any{"steps": []any{biosStep(1)}}, 400, "'name' is a required property"},
		"a name that is none":   {map[string]any{"name": "fast", "steps": []any{biosStep(1)}}, 400, "'fast' is not a trait"},
		"a name that is taken":  {map[string]any{"name": "CUSTOM_A", "steps": []any{biosStep(1)}}, 409, "A deploy template with name CUSTOM_A already exists."},
		"a uuid that is taken":  {map[string]any{"uuid": id, "name": "CUSTOM_B", "steps": []any{biosStep(1)}}, 409, "A deploy template with UUID " + id + " already exists."},
		"no steps":              {map[string]any{"name": "CUSTOM_B", "steps": []any{}}, 400, "needs at least one step"},
		"a step without place":  {map[string]any{"name": "CUSTOM_B", "steps": []any{biosStep(nil)}}, 400, "'priority'  is not an integer"},
		"a step twice":          {map[string]any{"name": "CUSTOM_B", "steps": []any{biosStep(1), biosStep(2)}}, 400, "Duplicate deploy steps."},
		"what is unknown":       {map[string]any{"name": "CUSTOM_B", "steps": []any{biosStep(1)}, "colour": 1}, 400, "Unexpected arguments: colour"},
		"a mask for a password": {map[string]any{"name": "CUSTOM_B", "steps": []any{map[string]any{"interface": "bios", "step": "x", "priority": 1, "args": map[string]any{"password": "******"}}}}, 400, "stands for a secret that was not given"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.Post(templates, c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	b.At(54, "GET", templates, nil).Fails(404)
	for _, method := range []string{"POST", "PATCH", "DELETE"} {
		path := templates
		if method != "POST" {
			path += "/CUSTOM_A"
		}
		require.Equal(t, "The API version does not allow deploy templates", b.At(54, method, path, nil).Fails(405))
	}
	b.Patch(templates+"/CUSTOM_A", apitest.Remove("/steps/0")).Fails(400)
	b.Patch(templates+"/CUSTOM_A", apitest.Remove("/name")).Fails(400)
	b.Patch(templates+"/CUSTOM_A", apitest.Replace("/uuid", uuid.NewString())).Fails(400)
	b.Get(templates + "?sort_key=steps").Fails(400)
	b.Get(templates + "/nosuch").Fails(404)
}

func TestADeployRunsTheStepsOfTemplates(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	b.Post(templates, map[string]any{"name": "CUSTOM_HT", "steps": []any{biosStep(150)}}).Is(201)
	b.Post(templates, map[string]any{"name": "CUSTOM_OTHER", "steps": []any{map[string]any{"interface": "bios", "step": "factory_reset", "args": map[string]any{}, "priority": 160}}}).Is(201)
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_HT", "CUSTOM_OTHER"}}).Is(204)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/traits", []string{"CUSTOM_HT"})).Is(200)

	trial := b.Post("/temper/v1/nodes/n1/operations", map[string]any{"verb": "active", "dry_run": true}).Is(200)
	require.Equal(t, true, trial["accepted"], trial)
	var steps []string
	for _, s := range trial["steps"].([]any) {
		steps = append(steps, s.(map[string]any)["step"].(string))
	}
	require.Contains(t, steps, "apply_configuration")
	require.NotContains(t, steps, "factory_reset", "the instance does not ask for it")
	require.NotContains(t, string(b.Last.Body), "hunter2")

	id := b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Header.Get("Temper-Operation")
	require.NotEmpty(t, id, string(b.Last.Body))
	require.NotContains(t, string(b.Get("/temper/v1/operations/"+id).Body), "hunter2")
	secrets, err := b.Credentials("n1")
	require.NoError(t, err)
	require.Contains(t, secrets, "operation/"+id+"/steps/bios.apply_configuration#0/settings", "whoever runs the step finds the password")
	var planned []string
	for _, s := range b.LastOperation("n1").Steps {
		planned = append(planned, s.Name())
	}
	require.Equal(t, "bios.apply_configuration", planned[1], "priority 150 comes before the deploy: %v", planned)
}

func TestTemplatesThatDoNotFitTheNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", "CUSTOM_B"}}).Is(204)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/traits", []string{"CUSTOM_A", "CUSTOM_B"})).Is(200)
	for _, name := range []string{"CUSTOM_A", "CUSTOM_B"} {
		require.Equal(t, true, b.Get("/v1/nodes/n1/validate").Is(200)["deploy"].(map[string]any)["result"])
		b.Post(templates, map[string]any{"name": name, "steps": []any{biosStep(150)}}).Is(201)
	}
	const words = "Matching deploy templates: CUSTOM_A,CUSTOM_B. Errors: deploy steps from all deploy templates matching this node's instance traits cannot have the same interface and step."
	deploy := b.Get("/v1/nodes/n1/validate").Is(200)["deploy"].(map[string]any)
	require.Equal(t, false, deploy["result"])
	require.Contains(t, deploy["reason"], words)
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Fails(400), words)
	require.Equal(t, "available", b.Field("n1", "provision_state"))
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active", "deploy_steps": []any{biosStep(120)}}).Is(202)
}
