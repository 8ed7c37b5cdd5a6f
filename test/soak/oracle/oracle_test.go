package oracle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/soak/oracle"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }

func op(kind, outcome string, from, to int) oracle.Operation {
	return oracle.Operation{ID: kind, Kind: kind, Outcome: outcome, Accepted: at(from), Ended: at(to)}
}

func switched(seconds int, to string) oracle.Action { return oracle.Action{At: at(seconds), To: to} }

func TestAnOrdinaryLifeIsExplained(t *testing.T) {
	ops := []oracle.Operation{op("manage", "succeeded", 0, 1), op("provide", "succeeded", 10, 19), op("deploy", "succeeded", 20, 29)}
	power := []oracle.Action{switched(11, "on"), switched(12, "off"), switched(21, "on"), switched(22, "off"), switched(23, "on")}
	require.Empty(t, oracle.Judge(nil, ops, power, oracle.Final{State: "active", Powered: true}))
}

func TestAnAgentThatIsLostIsBootedOnceMore(t *testing.T) {
	deploy := op("deploy", "succeeded", 20, 29)
	deploy.Restarts = 1
	ops := []oracle.Operation{op("manage", "succeeded", 0, 1), op("provide", "succeeded", 10, 19), deploy}
	power := []oracle.Action{
		switched(11, "on"), switched(12, "off"), switched(21, "on"), switched(22, "off"), switched(23, "on"), switched(24, "off"), switched(25, "on"),
	}
	require.Empty(t, oracle.Judge(nil, ops, power, oracle.Final{State: "active", Powered: true}))
	ops[2].Restarts = 0
	require.Contains(t, oracle.Judge(nil, ops, power, oracle.Final{State: "active", Powered: true})[0], "done with [on off on]")
}

func TestWhatTheHistoryDoesNotExplainIsTold(t *testing.T) {
	ops := func() []oracle.Operation {
		return []oracle.Operation{op("manage", "succeeded", 0, 1), op("provide", "succeeded", 10, 19)}
	}
	power := []oracle.Action{switched(11, "on"), switched(12, "off")}
	for name, c := range map[string]struct {
		ops   []oracle.Operation
		power []oracle.Action
		end   oracle.Final
		want  string
	}{
		"another state":           {ops(), power, oracle.Final{State: "manageable"}, `the node is "manageable"`},
		"a reservation":           {ops(), power, oracle.Final{State: "available", Reservation: "c"}, "reserved"},
		"a medium":                {ops(), power, oracle.Final{State: "available", Media: "x"}, "media"},
		"a server that is on":     {ops(), power, oracle.Final{State: "available", Powered: true}, "the server is on"},
		"booted twice":            {ops(), append([]oracle.Action{switched(10, "on"), switched(10, "off")}, power...), oracle.Final{State: "available"}, "done with [on off]"},
		"nobody's change":         {ops(), append(power, switched(30, "on")), oracle.Final{State: "available"}, "no operation was open"},
		"an operation that stays": {[]oracle.Operation{{Kind: "manage", Accepted: at(0)}}, nil, oracle.Final{State: "enroll"}, "never ended"},
		"a step that is blamed":   {[]oracle.Operation{{Kind: "manage", Outcome: "succeeded", Accepted: at(0), Ended: at(1), PutOff: []string{"power.verify"}}}, nil, oracle.Final{State: "manageable"}, "died of [power.verify]"},
		"a leap":                  {[]oracle.Operation{op("deploy", "succeeded", 0, 1)}, nil, oracle.Final{State: "active"}, "nothing leads there"},
		"two at once":             {[]oracle.Operation{op("manage", "succeeded", 0, 9), op("power", "succeeded", 5, 9)}, nil, oracle.Final{State: "manageable"}, "while manage"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := oracle.Judge(nil, c.ops, c.power, c.end)
			require.NotEmpty(t, wrong)
			require.Contains(t, wrong[0], c.want)
		})
	}
}

func TestAVerbThatNobodyKnowsToHaveArrivedExplainsBoth(t *testing.T) {
	ops := []oracle.Operation{op("manage", "succeeded", 0, 1), op("provide", "succeeded", 10, 19)}
	power := []oracle.Action{switched(11, "on"), switched(12, "off")}
	for _, end := range []string{"manageable", "available"} {
		unsure := []oracle.Request{{At: at(30), Verb: "manage", Instant: true}}
		require.Empty(t, oracle.Judge(unsure, ops, power, oracle.Final{State: end}), end)
	}
	sure := []oracle.Request{{At: at(30), Verb: "manage", Instant: true, Sure: true}}
	require.NotEmpty(t, oracle.Judge(sure, ops, power, oracle.Final{State: "available"}))
}
