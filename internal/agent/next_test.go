package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

var write = agent.Order{Command: agent.ExecuteDeployStep, Interface: "deploy", Step: "write_image"}

func listed(id string, o agent.Order, s agent.Status) agent.Result {
	r := agent.Result{ID: id, Name: agent.BareName(o.Command), Status: s}
	switch {
	case s == agent.Failed:
		r.Error = &agent.CommandError{Message: "disk full"}
	case s == agent.Succeeded && o.Step != "":
		r.Result, _ = json.Marshal(stepResult{DeployStep: &agent.Step{Step: o.Step, Interface: o.Interface}})
	}
	return r
}

// withParams is what agents send that tell their parameters back.
func withParams(r agent.Result, o agent.Order) agent.Result {
	r.Params, _ = json.Marshal(agent.RunStep{Step: agent.Step{Step: o.Step, Interface: o.Interface}})
	return r
}

func TestNext(t *testing.T) {
	steps := listed("1", agent.Order{Command: agent.GetDeploySteps}, agent.Succeeded)
	raid := agent.Order{Command: agent.ExecuteDeployStep, Interface: "raid", Step: "apply_configuration"}
	afterSteps := agent.Issue(write, []agent.Result{steps})
	counted := agent.Issued{Order: write, Before: 1}
	fromEmpty := agent.Issue(write, nil)
	run := func(r ...agent.Result) []agent.Result { return append([]agent.Result{steps}, r...) }

	for name, c := range map[string]struct {
		given *agent.Issued
		list  []agent.Result
		want  agent.Action
		id    string // of Found
	}{
		"what was never given is given":                     {nil, run(), agent.ActIssue, ""},
		"also to an agent that was asked nothing yet":       {nil, nil, agent.ActIssue, ""},
		"the record of another order is no record":          {&agent.Issued{Order: raid}, run(), agent.ActIssue, ""},
		"not while something else runs":                     {nil, run(listed("2", raid, agent.Running)), agent.ActBusy, ""},
		"nor while the same runs that we have not recorded": {nil, run(listed("2", write, agent.Running)), agent.ActBusy, ""},

		"it runs":                               {&afterSteps, run(listed("2", write, agent.Running)), agent.ActWait, "2"},
		"it succeeded":                          {&afterSteps, run(listed("2", write, agent.Succeeded)), agent.ActDone, "2"},
		"it failed":                             {&afterSteps, run(listed("2", write, agent.Failed)), agent.ActFail, "2"},
		"its managers changed":                  {&afterSteps, run(listed("2", write, agent.CleanVersionMismatch)), agent.ActRelist, "2"},
		"newer agents name that otherwise":      {&afterSteps, run(listed("2", write, agent.VersionMismatch)), agent.ActRelist, "2"},
		"a status nobody knows is a failure":    {&afterSteps, run(listed("2", write, "ODD")), agent.ActFail, "2"},
		"more came after it":                    {&afterSteps, run(listed("2", write, agent.Succeeded), listed("3", agent.Order{Command: agent.PowerOff}, agent.Succeeded)), agent.ActDone, "2"},
		"the parameters tell a running step":    {&afterSteps, run(withParams(listed("2", write, agent.Running), write)), agent.ActWait, "2"},
		"and tell that another one runs":        {&afterSteps, run(withParams(listed("2", raid, agent.Running), raid)), agent.ActBusy, ""},
		"the same command name with the prefix": {&afterSteps, run(agent.Result{ID: "2", Name: write.Command, Status: agent.Running}), agent.ActWait, "2"},

		"the POST never arrived":                    {&afterSteps, run(), agent.ActIssue, ""},
		"it never arrived and another step is over": {&afterSteps, run(listed("2", raid, agent.Succeeded)), agent.ActIssue, ""},
		"an empty list after the record":            {&afterSteps, nil, agent.ActRebooted, ""},
		"only the steps were asked for again": {
			&afterSteps, []agent.Result{listed("9", agent.Order{Command: agent.GetDeploySteps}, agent.Succeeded)}, agent.ActRebooted, "",
		},
		"a rebooted agent runs something of its own": {
			&afterSteps, []agent.Result{listed("9", agent.Order{Command: agent.GetDeploySteps}, agent.Running)}, agent.ActBusy, "",
		},
		"given to an empty list, and the list is empty: nothing is proven": {&fromEmpty, nil, agent.ActRebooted, ""},
		"given to an empty list, and it runs":                              {&fromEmpty, run(listed("2", write, agent.Running)), agent.ActWait, "2"},

		"by count alone: it runs":                         {&counted, run(listed("2", write, agent.Running)), agent.ActWait, "2"},
		"by count alone: a fresh list proves no boot":     {&counted, run(), agent.ActRebooted, ""},
		"by count alone: a shorter list is another boot":  {&counted, nil, agent.ActRebooted, ""},
		"by count alone: a longer list is the same boot":  {&agent.Issued{Order: write, Before: 2}, run(listed("2", raid, agent.Succeeded)), agent.ActIssue, ""},
		"an earlier run of the same step is not this one": {&agent.Issued{Order: write, Before: 2, After: "2"}, run(listed("2", write, agent.Failed)), agent.ActIssue, ""},
		"the newest of two runs counts": {
			&agent.Issued{Order: write, Before: 2, After: "2"},
			run(listed("2", write, agent.Failed), listed("3", write, agent.Succeeded)), agent.ActDone, "3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := agent.Next(write, c.given, c.list)
			require.Equal(t, c.want, d.Action, "%v", d.Err)
			if c.id == "" {
				require.Nil(t, d.Found)
			} else {
				require.Equal(t, c.id, d.Found.ID)
			}
			switch d.Action {
			case agent.ActFail, agent.ActRelist, agent.ActRebooted:
				require.Equal(t, fault.Refused, fault.KindOf(d.Err))
			case agent.ActBusy:
				require.Equal(t, fault.Busy, fault.KindOf(d.Err))
			default:
				require.NoError(t, d.Err)
			}
		})
	}
}

func TestNextTellsTheAgentsWordsAndTheStep(t *testing.T) {
	given := agent.Issue(write, nil)
	d := agent.Next(write, &given, []agent.Result{listed("2", write, agent.Failed)})
	require.EqualError(t, d.Err, "disk full (deploy.write_image failed)")
}

func TestNextForCommandsWithoutAStep(t *testing.T) {
	boot := agent.Order{Command: agent.InstallBootloader}
	given := agent.Issue(boot, []agent.Result{listed("2", write, agent.Succeeded)})
	list := []agent.Result{listed("2", write, agent.Succeeded), listed("3", boot, agent.Running)}
	require.Equal(t, agent.ActWait, agent.Next(boot, &given, list).Action)
	require.Equal(t, agent.ActIssue, agent.Next(boot, &given, list[:1]).Action)
}

func TestNextOnTheRealAgentsList(t *testing.T) {
	list := decode[agent.CommandList](t, "commands.json").Commands
	given := agent.Issue(write, list[:1])
	require.Equal(t, agent.ActWait, agent.Next(write, &given, list).Action)

	list[1] = decode[agent.Result](t, "result_write_image.json")
	d := agent.Next(write, &given, list)
	require.Equal(t, agent.ActDone, d.Action)
	var done stepResult
	require.NoError(t, d.Found.Decode(&done))
	require.Contains(t, string(done.DeployResult), "written to device")
	require.True(t, agent.FreshlyBooted(list[:1]))
	require.False(t, agent.FreshlyBooted(list))
}

// A record, once made, never leads to a second run in the same boot: whatever
// the list says after the order has arrived, Next does not say "issue".
func TestWhatArrivedIsNeverGivenAgain(t *testing.T) {
	before := []agent.Result{listed("1", agent.Order{Command: agent.GetDeploySteps}, agent.Succeeded)}
	for _, s := range []agent.Status{agent.Running, agent.Succeeded, agent.Failed, agent.CleanVersionMismatch, "ODD", ""} {
		for _, given := range []agent.Issued{agent.Issue(write, before), agent.Issue(write, nil), {Order: write, Before: 1}} {
			list := append(before[:1:1], listed("2", write, s))
			for range 3 {
				require.NotEqual(t, agent.ActIssue, agent.Next(write, &given, list).Action, "%q %+v", s, given)
				list = append(list, listed("x", agent.Order{Command: agent.PowerOff}, agent.Succeeded))
			}
		}
	}
}
