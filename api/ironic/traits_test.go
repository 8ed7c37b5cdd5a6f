package ironic_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestTheTraitOfMaintenanceIsNotSetByHand(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Put("/v1/nodes/n1/traits/CUSTOM_MAINTENANCE", nil).Fails(400)
	b.Put("/v1/nodes/n1/traits", map[string]any{"traits": []string{"CUSTOM_A", "CUSTOM_MAINTENANCE"}}).Fails(400)
}

func TestTraitsBeforeTheirVersion(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const path = "/v1/nodes/n1/traits"
	b.At(36, "GET", path, nil).Fails(406)
	b.At(36, "PUT", path, map[string]any{"traits": []string{}}).Fails(405)
	b.At(36, "DELETE", path, nil).Fails(405)
	b.At(36, "PUT", path+"/CUSTOM_A", nil).Fails(405)
	b.At(36, "DELETE", path+"/CUSTOM_A", nil).Fails(405)
	b.At(37, "GET", path, nil).Is(200)
}

func TestTraits(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	path := "/v1/nodes/n1/traits"
	require.Equal(t, []any{}, b.Get(path).Is(200)["traits"])
	b.Put(path, map[string]any{"traits": []string{"HW_CPU_X86_VMX", "CUSTOM_B", "CUSTOM_A", "CUSTOM_A"}}).Is(204)
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"}, b.Get(path).Is(200)["traits"])
	require.Equal(t, []any{"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"}, b.Field("n1", "traits"))
	b.Put(path+"/CUSTOM_C", nil).Is(204)
	require.Contains(t, b.Last.Header.Get("Location"), "/v1/nodes/n1/traits/CUSTOM_C")
	b.Delete(path + "/CUSTOM_A").Is(204)
	b.Delete(path + "/CUSTOM_A").Fails(404)
	require.Equal(t, []any{"CUSTOM_B", "CUSTOM_C", "HW_CPU_X86_VMX"}, b.Get(path).Is(200)["traits"])
	for _, bad := range []any{map[string]any{}, map[string]any{"traits": "CUSTOM_A"}, map[string]any{"traits": []any{1}}, map[string]any{"traits": []string{"custom_a"}}, map[string]any{"x": 1}} {
		b.Put(path, bad).Fails(400)
	}
	b.Put(path+"/lower", nil).Fails(400)
	b.Put(path+"/CUSTOM_D", map[string]any{"traits": []string{}}).Fails(400)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("CUSTOM_T%d", i)
	}
	b.Put(path, map[string]any{"traits": many}).Fails(400)
	b.Put(path, map[string]any{"traits": many[:50]}).Is(204)
	b.Put(path+"/CUSTOM_ONE_MORE", nil).Fails(400)
	b.Delete(path).Is(204)
	require.Equal(t, []any{}, b.Get(path).Is(200)["traits"])
	b.Get("/v1/nodes/nosuch/traits").Fails(404)
	b.Put("/v1/nodes/nosuch/traits/CUSTOM_A", nil).Fails(404)
}
