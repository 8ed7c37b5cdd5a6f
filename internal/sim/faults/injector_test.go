package faults_test

import (
	"encoding/json"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/faults"
)

func injector(t *testing.T, list string) *faults.Injector {
	t.Helper()
	l, err := faults.Parse([]byte(`{"faults":[` + list + `]}`))
	require.NoError(t, err)
	p := &faults.Injector{}
	p.Set(l, 1)
	return p
}

func TestWhatAFaultMatches(t *testing.T) {
	bmc := faults.Event{Method: "POST", Path: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"}
	command := faults.Event{
		Method: "POST", Path: "/v1/commands/", Agent: true,
		Commands: []string{"deploy.execute_deploy_step", "execute_deploy_step", "write_image"},
	}
	list := faults.Event{Method: "GET", Path: "/v1/commands/", Agent: true}
	heartbeat := faults.Event{Commands: []string{"heartbeat"}, Agent: true, Named: true}
	for name, c := range map[string]struct {
		fault string
		event faults.Event
		want  bool
	}{
		"no filter is every request to the BMC":        {`"kind":"reset"`, bmc, true},
		"and none to the agent":                        {`"kind":"reset"`, command, false},
		"an agent's path reaches the agent":            {`"kind":"reset","path":"/v1/commands"`, list, true},
		"and not the BMC":                              {`"kind":"reset","path":"/v1/"`, bmc, false},
		"the method, in any case":                      {`"kind":"reset","method":"post"`, bmc, true},
		"another method":                               {`"kind":"reset","method":"GET"`, bmc, false},
		"a part of the path":                           {`"kind":"reset","path":"ComputerSystem.Reset"`, bmc, true},
		"another path":                                 {`"kind":"reset","path":"VirtualMedia"`, bmc, false},
		"a command's full name":                        {`"kind":"reset","command":"deploy.execute_deploy_step"`, command, true},
		"its bare name":                                {`"kind":"reset","command":"execute_deploy_step"`, command, true},
		"the step it runs":                             {`"kind":"reset","command":"write_image"`, command, true},
		"another command":                              {`"kind":"reset","command":"standby.sync"`, command, false},
		"a command is no BMC's":                        {`"kind":"reset","command":"write_image"`, bmc, false},
		"an agent's fault without a command":           {`"kind":"agent_dies"`, command, true},
		"but not where it has to be named":             {`"kind":"agent_dies"`, heartbeat, false},
		"as here":                                      {`"kind":"agent_dies","command":"heartbeat"`, heartbeat, true},
		"what is no request has no path to compare":    {`"kind":"no_agent","path":"/x","method":"GET"`, faults.Event{}, true},
		"a fault that has struck often enough":         {`"kind":"reset","count":1`, bmc, true},
		"a fault that never strikes":                   {`"kind":"reset","probability":0`, bmc, false},
		"a power fault at the power request's address": {`"kind":"lost_power","path":"ComputerSystem.Reset"`, bmc, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := injector(t, `{`+c.fault+`}`)
			kind := p.Remaining().Faults[0].Kind
			_, got := p.Trigger(kind, c.event)
			require.Equal(t, c.want, got)
			_, other := p.Trigger(faults.Latency, c.event)
			require.False(t, other, "another kind")
		})
	}
}

func TestAFaultStrikesAsOftenAsItSays(t *testing.T) {
	require.NoError(t, quick.Check(func(count, tries uint8) bool {
		p := &faults.Injector{}
		p.Set(faults.List{Faults: []faults.Fault{{Kind: faults.NoAgent, Count: int(count)}}}, 1)
		struck := 0
		for range tries {
			if _, ok := p.Trigger(faults.NoAgent, faults.Event{}); ok {
				struck++
			}
		}
		want := min(int(count), int(tries))
		if count == 0 {
			want = int(tries) // until deleted
		}
		return struck == want
	}, nil))
}

func TestNoFaultsStrikeNothing(t *testing.T) {
	var p faults.Injector
	_, ok := p.Trigger(faults.Reset, faults.Event{})
	require.False(t, ok)
	require.Empty(t, p.Remaining().Faults)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"faults":[{"kind":"latency","when":"after","method":"GET","path":"/x","command":"c","count":2,"probability":0.5,"delay":"1s"}]}`))
	f.Add([]byte(`{"faults":[{"kind":"hang","delay":"-1s"}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := faults.Parse(b)
		if err != nil {
			return
		}
		written, err := json.Marshal(l)
		require.NoError(t, err)
		again, err := faults.Parse(written)
		require.NoError(t, err)
		require.Equal(t, l.Faults, again.Faults)
	})
}
