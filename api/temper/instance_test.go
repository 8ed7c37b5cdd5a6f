package temper_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestRow09AnInstancesServiceIsFixedAtTheClaim(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		offeredNode(b, name, "")
	}
	offeredNode(b, "far", "g")
	register(b, "a", map[string]any{"partition_key": "", "incarnation": 1})
	register(b, "b", map[string]any{"partition_key": "g", "incarnation": 1})
	instance := uuid.NewString()

	require.Contains(t, claim(b, "b", "n1", instance).Fails(409), "share", "a share that lacks the node")
	require.Nil(t, b.Field("n1", "instance_uuid"), "nothing of it is written")
	claim(b, "nobody", "n1", instance).Fails(409)
	claim(b, "A", "n1", instance).Is(200)
	claim(b, "A", "n1", instance).Is(200) // a client repeats its claim if the answer was lost
	claim(b, "b", "n1", instance).Fails(409)
	require.Equal(t, instance, b.Field("n1", "instance_uuid"))
	claim(b, "a", "n1", uuid.NewString()).Fails(409)
	claim(b, "", "n1", uuid.NewString()).Fails(409) // without a service, only compare-and-set protects the node

	nova := func(node, host string) *apitest.Answer {
		return b.Patch("/v1/nodes/"+node, apitest.Add("/instance_info/nova_host_id", host), apitest.Add("/instance_uuid", uuid.NewString()))
	}
	nova("n2", "b").Fails(409)
	nova("n2", "a").Is(200)
	nova("n3", "a-nova-without-temper").Is(200)
	claim(b, "", "n4", uuid.NewString()).Is(200)
	services := map[string]any{}
	for _, i := range b.Get("/temper/v1/instances").Is(200)["instances"].([]any) {
		services[b.Field(i.(map[string]any)["node_uuid"].(string), "name").(string)] = i.(map[string]any)["service"]
	}
	require.Equal(t, map[string]any{"n1": "a", "n2": "a", "n3": "a-nova-without-temper"}, services, "and none without one")
	endLease(b, "b")
	claim(b, "b", "far", uuid.NewString()).Fails(409)
}

func TestAnInstanceThatIsGoneIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	register(b, "a", map[string]any{"incarnation": 1})
	instance := uuid.NewString()
	claim(b, "a", "n", instance).Is(200)
	publishShares(b)
	b.Delete("/temper/v1/instances/" + uuid.NewString()).Fails(404)
	b.Delete("/temper/v1/instances/x").Fails(400)
	b.Delete("/temper/v1/instances/" + instance).Is(204)
	b.Delete("/temper/v1/instances/" + instance).Is(204)
	require.Equal(t, []string{"orphaned: the instance is gone, the node still carries it"}, reports(b))
	n := shareOf(b, "a", "")["n"]
	require.Equal(t, []any{float64(1), true}, []any{n["used"], n["instance_gone"]}, "in no share as free")
	acknowledge(b, "a", 1, 0, map[string]any{"gone_instances": []string{instance}})
	all := b.Get("/temper/v1/instances?wanted=absent").Is(200)["instances"].([]any)
	require.Len(t, all, 1)
	require.NotNil(t, all[0].(map[string]any)["confirmed_at"])
	require.Equal(t, true, all[0].(map[string]any)["orphaned"])
}
