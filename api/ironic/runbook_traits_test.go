package ironic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestTraitsOfRunbooks(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	steps := []any{ordered("apply_configuration", 1, map[string]any{"password": "hunter2"})}
	body := b.Post(runbooks, map[string]any{"name": "bios-reset", "description": "slow", "steps": steps}).Is(201)
	require.Equal(t, []any{[]any{}, "slow"}, []any{body["traits"], body["description"]})
	id := body["uuid"].(string)
	path := runbooks + "/bios-reset/traits"
	traits := func() any { return b.Get(path).Is(200)["traits"] }
	b.Put(path, map[string]any{"traits": []string{"CUSTOM_C", "CUSTOM_A", "CUSTOM_C"}}).Is(204)
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_C"}, traits())
	for range 2 {
		b.Put(path+"/CUSTOM_B", nil).Is(204)
	}
	require.Equal(t, "http://temper.test:6385"+runbooks+"/"+id+"/traits/CUSTOM_B", b.Last.Header.Get("Location"))
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C"}, traits())
	require.Equal(t, traits(), b.Get(runbooks + "/" + id).Is(200)["traits"])
	b.Delete(path + "/CUSTOM_C").Is(204)
	require.Equal(t, "Runbook "+id+" doesn't have a trait 'CUSTOM_C'", b.Delete(path+"/CUSTOM_C").Fails(404))
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B"}, traits())
	kept, err := b.Store.Runbook(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"/bios.apply_configuration/password": "hunter2"}, kept.Hidden.Clear, "the secrets stay")

	require.Contains(t, b.Patch(runbooks+"/bios-reset", apitest.Add("/traits", []string{"CUSTOM_X"})).Fails(400), "Cannot patch /traits")
	b.Put(path, map[string]any{"traits": "CUSTOM_X"}).Fails(400)
	b.Put(path, map[string]any{"traits": []string{"fast"}}).Fails(400)
	b.Put(path+"/fast", nil).Fails(400)
	b.Put(path+"/CUSTOM_X", map[string]any{"traits": []string{}}).Fails(400)
	b.Put(runbooks+"/nosuch/traits/CUSTOM_X", nil).Fails(404)
	b.Get(runbooks + "/nosuch/traits").Fails(404)
	var most []string
	for i := range 51 {
		most = append(most, fmt.Sprintf("CUSTOM_%d", i))
	}
	require.Contains(t, b.Put(path, map[string]any{"traits": most}).Fails(400), "at most 50 traits, not 51")
	b.Put(path, map[string]any{"traits": most[:50]}).Is(204)
	require.Contains(t, b.Put(path+"/CUSTOM_50", nil).Fails(400), "at most 50 traits, not 51")
	b.Put(path+"/CUSTOM_49", nil).Is(204)
	b.Delete(path).Is(204)
	require.Equal(t, []any{}, traits())
}

func TestRunbooksOfOlderVersionsHaveTheTraitOfTheirName(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	steps := []any{ordered("factory_reset", 1, map[string]any{})}
	old := func(method, path string, body any) *apitest.Answer { return b.At(111, method, path, body) }
	require.Contains(t, old("POST", runbooks, map[string]any{"name": "bios-reset", "steps": steps}).Fails(400), "'bios-reset' is not a trait")
	for _, field := range []string{"traits", "description"} {
		require.Contains(t, old("POST", runbooks, map[string]any{"name": "CUSTOM_A", "steps": steps, field: nil, "extra": map[string]any{}}).Is(201), "uuid")
		old("DELETE", runbooks+"/CUSTOM_A", nil).Is(204)
	}
	require.Contains(t, old("POST", runbooks, map[string]any{"name": "CUSTOM_A", "steps": steps, "description": "x"}).Fails(406), "should be 1.112")
	old("POST", runbooks, map[string]any{"name": "CUSTOM_A", "steps": steps, "traits": []string{"CUSTOM_B"}}).Fails(406)
	made := old("POST", runbooks, map[string]any{"name": "CUSTOM_A", "steps": steps}).Is(201)
	require.NotContains(t, made, "traits")
	require.NotContains(t, made, "description")
	path := runbooks + "/" + made["uuid"].(string)
	require.Equal(t, []any{"CUSTOM_A"}, b.Get(path).Is(200)["traits"])
	old("PATCH", path, []apitest.Op{apitest.Replace("/name", "bios-reset")}).Fails(400)
	old("PATCH", path, []apitest.Op{apitest.Replace("/description", "x")}).Fails(406)
	b.Put(path+"/traits/CUSTOM_Z", nil).Is(204)
	old("PATCH", path, []apitest.Op{apitest.Replace("/name", "CUSTOM_B")}).Is(200)
	require.Equal(t, []any{"CUSTOM_B", "CUSTOM_Z"}, b.Get(path).Is(200)["traits"])
	require.Equal(t, []any{"CUSTOM_B", "CUSTOM_Z"}, b.Patch(path, apitest.Replace("/name", "bios-reset")).Is(200)["traits"], "from 1.112 on a name is only a name")
	old("PATCH", path, []apitest.Op{apitest.Add("/extra/a", 1)}).Is(200)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		old(method, path+"/traits", nil).Fails(404)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		old(method, path+"/traits/CUSTOM_B", nil).Fails(404)
	}
}

func TestARunbookIsApprovedByAnyOfItsTraits(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Manageable)
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_B", "CUSTOM_X"}}).Is(204)
	b.Post(runbooks, map[string]any{"name": "bios-reset", "traits": []string{"CUSTOM_A"}, "steps": []any{ordered("factory_reset", 1, map[string]any{})}}).Is(201)
	clean := func() *apitest.Answer {
		return b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "clean", "runbook": "bios-reset"})
	}
	require.True(t, strings.HasPrefix(clean().Fails(400), "This runbook has not been approved for use on this node"))
	b.Delete(runbooks + "/bios-reset/traits").Is(204)
	clean().Fails(400)
	b.Put(runbooks+"/bios-reset/traits", map[string]any{"traits": []string{"CUSTOM_A", "CUSTOM_B"}}).Is(204)
	clean().Is(202)
}
