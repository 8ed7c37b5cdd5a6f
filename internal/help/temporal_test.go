package help_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/help"
)

func TestEachDifferenceInTemporalHasItsCommand(t *testing.T) {
	for command, d := range map[string]help.Difference{
		"temporal operator namespace create --namespace temper --retention 72h0m0s": {Object: help.TemporalNamespace, Want: "72h0m0s"},
		"temporal operator namespace update --namespace temper --retention 72h0m0s": {Object: help.TemporalNamespace, Field: "retention", Have: "1h0m0s", Want: "72h0m0s"},
		"temporal operator search-attribute create --namespace temper --name A --type Bool": {
			Object: help.TemporalAttribute, Name: "A", Field: "type", Want: "Bool",
		},
		"temporal operator search-attribute remove --yes --namespace temper --name A && temporal operator search-attribute create --namespace temper --name A --type Bool": {
			Object: help.TemporalAttribute, Name: "A", Field: "type", Have: "Int", Want: "Bool",
		},
		"temporal schedule create --namespace temper --schedule-id s --interval 10s": {Object: help.TemporalSchedule, Name: "s", Flags: "--interval 10s"},
		"temporal schedule update --namespace temper --schedule-id s --interval 10s": {Object: help.TemporalSchedule, Name: "s", Field: "spec.interval", Flags: "--interval 10s"},
		"temporal schedule toggle --namespace temper --schedule-id s --unpause --reason WHY": {
			Object: help.TemporalSchedule, Name: "s", Field: help.PausedField,
		},
	} {
		d.Namespace = "temper"
		require.Equal(t, command, help.Mend(d).Command)
		require.NotEmpty(t, help.Mend(d).Effect)
	}
}
