package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// A secret whose key is gone is in nobody's way: its record is shown with the mask, can be given the secret again, and deleted.
func TestARecordWhoseSecretDoesNotOpen(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	b.SQL(`UPDATE nodes SET power_state = 'power off'`)
	args := map[string]any{"password": "hunter2"}
	for path, c := range map[string]struct {
		items, table string
		body         map[string]any
		other, again map[string]any // patches
	}{
		templates: {
			"deploy_templates", "deploy_templates",
			map[string]any{"name": "CUSTOM_A", "steps": []any{map[string]any{"interface": "bios", "step": "x", "priority": 1, "args": args}}},
			apitest.Replace("/name", "CUSTOM_B"), apitest.Replace("/steps/0/args/password", "swordfish"),
		},
		runbooks: {
			"runbooks", "runbooks",
			map[string]any{"name": "CUSTOM_A", "steps": []any{ordered("x", 1, args)}},
			apitest.Replace("/name", "CUSTOM_B"), apitest.Replace("/steps/0/args/password", "swordfish"),
		},
		"/v1/volume/targets": {
			"targets", "volume_targets",
			map[string]any{"node_uuid": n1, "volume_type": "iscsi", "boot_index": 1, "volume_id": "v", "properties": args},
			apitest.Replace("/boot_index", 2), apitest.Replace("/properties/password", "swordfish"),
		},
	} {
		t.Run(c.table, func(t *testing.T) {
			b.T = t
			id := b.Post(path, c.body).Is(201)["uuid"].(string)
			b.SQL(`UPDATE ` + c.table + ` SET ciphertext = 'x'`)
			require.Len(t, b.Get(path + "?detail=true").Is(200)[c.items], 1)
			b.Get(path + "/" + id).Is(200)
			require.Contains(t, string(b.Last.Body), `"password":"******"`)
			refused := b.Patch(path+"/"+id, c.other)
			require.Equal(t, fault.SecretUnreadable, refused.Refused(409).Code)
			require.Contains(t, refused.Fails(409), id)
			b.Patch(path+"/"+id, c.again).Is(200)
			b.Patch(path+"/"+id, c.other).Is(200)
			b.SQL(`UPDATE ` + c.table + ` SET ciphertext = 'x'`)
			b.Delete(path + "/" + id).Is(204)
		})
	}
}

func TestStepsWhoseSecretsDoNotOpenAreRefusedOnlyWhereTheyAreMeant(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Available)
	step := map[string]any{"interface": "bios", "step": "apply_configuration", "priority": 150, "args": map[string]any{"password": "hunter2"}}
	b.Post(templates, map[string]any{"name": "CUSTOM_A", "steps": []any{step}}).Is(201)
	b.Post(templates, map[string]any{"name": "CUSTOM_B", "steps": []any{map[string]any{"interface": "bios", "step": "factory_reset", "priority": 160, "args": map[string]any{}}}}).Is(201)
	b.Post(runbooks, map[string]any{"name": "CUSTOM_A", "steps": []any{ordered("apply_configuration", 1, map[string]any{"password": "hunter2"})}}).Is(201)
	b.SQL(`UPDATE deploy_templates SET ciphertext = 'x' WHERE name = 'CUSTOM_A'`)
	b.SQL(`UPDATE runbooks SET ciphertext = 'x'`)
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", "CUSTOM_B"}}).Is(204)
	deploy := map[string]any{"verb": "active", "dry_run": true}

	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/traits", []string{"CUSTOM_B"})).Is(200)
	require.Equal(t, true, b.Post("/temper/v1/nodes/n1/operations", deploy).Is(200)["accepted"], "another template is in nobody's way")

	b.Patch("/v1/nodes/n1", apitest.Replace("/instance_info/traits", []string{"CUSTOM_A", "CUSTOM_B"})).Is(200)
	a := b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"})
	require.Equal(t, fault.SecretUnreadable, a.Refused(409).Code)
	require.Contains(t, a.Fails(409), "deploy template CUSTOM_A, which this node's instance traits ask for: the secrets of")
	verdict := b.Get("/v1/nodes/n1/validate").Is(200)["deploy"].(map[string]any)
	require.Equal(t, false, verdict["result"])
	require.Contains(t, verdict["reason"], "deploy template CUSTOM_A")

	b.In("n2", node.Manageable)
	b.Put("/v1/nodes/n2/traits", map[string]any{"traits": []string{"CUSTOM_A"}}).Is(204)
	a = b.Put("/v1/nodes/n2/states/provision", map[string]any{"target": "clean", "runbook": "CUSTOM_A"})
	require.Equal(t, fault.SecretUnreadable, a.Refused(409).Code)
	require.Contains(t, a.Fails(409), "runbook CUSTOM_A: the secrets of")
}
