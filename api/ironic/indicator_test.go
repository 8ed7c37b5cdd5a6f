package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

const lightsPath = "/v1/nodes/n1/management/indicators"

func TestIndicatorsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	require.Contains(t, b.At(63, "GET", lightsPath, nil).Fails(400), "does not support get_supported_indicators (disabled or not implemented)")
	require.Contains(t, b.Get(lightsPath+"/led@chassis").Fails(400), "get_indicator_state")
	require.Contains(t, b.Put(lightsPath+"/led@chassis", map[string]any{"state": "ON"}).Fails(400), "set_indicator_state")
	require.Contains(t, b.Put(lightsPath+"/led@chassis", map[string]any{"state": "DIM"}).Fails(400), "Invalid state DIM")
	require.Contains(t, b.Put(lightsPath+"/led", map[string]any{"state": "ON"}).Fails(400), "Malformed indicator name")
	b.Put(lightsPath+"/led@chassis", map[string]any{}).Fails(400)
	b.At(62, "GET", lightsPath, nil).Fails(404)
}

func TestIndicatorsAreListedShownAndSwitched(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Succeeded})
	b.Operations.Reading = node.BMCReading{Indicators: []node.Indicator{{Component: "disk", Name: "d1", State: "BLINKING", States: []string{"OFF", "ON"}}}}
	list := b.At(63, "GET", lightsPath, nil).Is(200)["indicators"].([]any)
	require.Len(t, list, 1)
	require.Subset(t, list[0], map[string]any{"name": "d1@disk", "component": "disk", "readonly": false, "states": []any{"OFF", "ON"}})
	require.Equal(t, map[string]any{"state": "BLINKING"}, b.Get(lightsPath+"/d1@disk").Is(200))
	b.Get(lightsPath + "/d2@disk").Fails(400)

	b.Put(lightsPath+"/d1@disk", map[string]any{"state": "on"}).Is(204)
	o := b.LastOperation("n1")
	require.Equal(t, []any{node.KindIndicator, node.Succeeded}, []any{o.Kind, o.Outcome})
	require.Equal(t, map[string]any{"component": "disk", "indicator": "d1", "state": "ON"}, o.Steps[0].Args)
}
