package ironic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestPower(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Active)
	put := func(minor int, body map[string]any) *apitest.Answer {
		return b.At(minor, "PUT", "/v1/nodes/n1/states/power", body)
	}
	put(26, map[string]any{"target": "soft power off"}).Fails(406)
	put(26, map[string]any{"target": "power off", "timeout": 5}).Fails(406)
	require.Equal(t, "Missing mandatory parameter: target", put(27, map[string]any{}).Fails(400))
	require.Contains(t, put(27, map[string]any{"target": "power off", "timeout": 0}).Fails(400), "timeout has to be positive integer")
	put(27, map[string]any{"target": "power off", "timeout": "soon"}).Fails(400)
	put(27, map[string]any{"target": "power off", "timeout": 1e18}).Fails(400)
	require.Equal(t, `The requested action "warp" can not be performed on node "`+uuid+`" while it is in state "None".`, put(27, map[string]any{"target": "warp"}).Fails(400))
	require.Empty(t, b.Operations.Started())

	a := put(27, map[string]any{"target": "soft power off", "timeout": 90})
	a.Is(202)
	require.Equal(t, "http://temper.test:6385/v1/nodes/n1/states", a.Header.Get("Location"))
	o, err := b.Store.Operation(t.Context(), b.Operations.Started()[0])
	require.NoError(t, err)
	require.Equal(t, []any{node.KindPower, node.SoftPowerOff, 90 * time.Second}, []any{o.Kind, o.PowerTarget, o.SoftTimeout})
	n := b.Get("/v1/nodes/n1").Is(200)
	require.Equal(t, []any{"active", "power off"}, []any{n["provision_state"], n["target_power_state"]})
	require.NotNil(t, n["reservation"])
	requireHint(t, locked(uuid, n["reservation"].(string)), put(27, map[string]any{"target": "power on"}).Fails(409))

	same := put(27, map[string]any{"target": "soft power off"})
	same.Is(202)
	require.Equal(t, a.Header.Get("Temper-Operation"), same.Header.Get("Temper-Operation"), "it joins the operation that does it")
	require.Len(t, b.Operations.Started(), 1)
	put(27, map[string]any{"target": "soft power off", "timeout": 91}).Fails(409)
	requireHint(t, locked(uuid, n["reservation"].(string)), put(27, map[string]any{"target": "power off"}).Fails(409))

	for _, s := range []node.State{node.Cleaning, node.CleanWait} {
		busy := b.In(strings.ReplaceAll(string(s), " ", "-"), s)
		requireHint(t, notAllowed("power on", busy, s), b.Put("/v1/nodes/"+busy+"/states/power", map[string]any{"target": "power on"}).Fails(400))
	}
	b.In("n2", node.Active)
	reboot := func() *apitest.Answer {
		return b.Put("/v1/nodes/n2/states/power", map[string]any{"target": "rebooting"})
	}
	reboot().Is(202)
	first := b.Last.Header.Get("Temper-Operation")
	reboot().Is(202)
	require.Equal(t, first, b.Last.Header.Get("Temper-Operation"), "a reboot that has not begun is the one that is asked for")
	b.SQL(`UPDATE operations SET run_id = 'run', begun_at = now(), phase = 'running' WHERE id = $1::text::bigint`, first)
	reboot().Fails(409)
	b.Enrolled("fixed")
	b.Patch("/v1/nodes/fixed", apitest.Replace("/disable_power_off", true)).Is(200)
	b.Put("/v1/nodes/fixed/states/power", map[string]any{"target": "power off"}).Fails(400)
}
