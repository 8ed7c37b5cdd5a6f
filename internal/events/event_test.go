package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
)

func TestAnEventIsOneObjectWithoutPasswords(t *testing.T) {
	e := events.Event{
		Seq: 7, At: time.Date(2026, 11, 2, 3, 4, 5, 6000, time.UTC), Type: "operation.ended", NodeUUID: "u", Operation: 3, Kind: "deploy",
		Data: map[string]any{"error": "get http://me:hunter2@images/x: no", "list": []any{"http://me:hunter2@images/y"}, "outcome": "failed"},
	}
	out, err := json.Marshal(e)
	require.NoError(t, err)
	require.NotContains(t, string(out), "hunter2")
	var fields map[string]any
	require.NoError(t, json.Unmarshal(out, &fields))
	require.Equal(t, "3", fields["operation"])
	require.Equal(t, "failed", fields["outcome"])
	require.Equal(t, "2026-11-02T03:04:05.000006Z", fields["at"])
	require.Nil(t, fields["node_name"])
	require.Contains(t, fields, "cause")
	e.Data = nil
	out, err = json.Marshal(e)
	require.NoError(t, err)
	require.True(t, json.Valid(out))
}

func TestAFilterWantsWhatFitsAllOfIt(t *testing.T) {
	e := &events.Event{Type: "baremetal.node.power_set.end", NodeUUID: "u", Operation: 3, Kind: "deploy", Cause: "image_invalid"}
	for name, c := range map[string]struct {
		f    events.Filter
		want bool
	}{
		"everything":                       {want: true},
		"its node":                         {f: events.Filter{NodeUUID: "u"}, want: true},
		"another node":                     {f: events.Filter{NodeUUID: "v"}},
		"one of two kinds":                 {f: events.Filter{Kinds: []string{"clean", "deploy"}}, want: true},
		"another operation":                {f: events.Filter{Operations: []int64{4}}},
		"its cause, and not its operation": {f: events.Filter{Causes: []string{"image_invalid"}, Operations: []int64{4}}},
		"the beginning of its type":        {f: events.Filter{Types: []string{"baremetal.node"}}, want: true},
		"its whole type":                   {f: events.Filter{Types: []string{"baremetal.node.power_set.end"}}, want: true},
		"half a word of its type":          {f: events.Filter{Types: []string{"baremetal.node.power"}}},
	} {
		require.Equal(t, c.want, c.f.Wants(e), name)
	}
}
