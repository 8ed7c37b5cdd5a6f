package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

func TestTheServersAreThePersonasInTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := quick(sim.Config{Servers: 3, DataDir: dir, Personas: []string{"idrac10", "ilo5"}})
	want := []string{"idrac10", "ilo5", "idrac10"}
	systems := []string{"/redfish/v1/Systems/System.Embedded.1", "/redfish/v1/Systems/1", "/redfish/v1/Systems/System.Embedded.1"}
	check := func(s *stage) {
		t.Helper()
		for i, name := range []string{"sim-0001", "sim-0002", "sim-0003"} {
			v := s.server(name)
			require.Equal(t, want[i], v.Persona)
			require.Equal(t, systems[i], v.RedfishSystemID)
		}
	}
	s := start(t, cfg)
	check(s)
	s.stop()
	cfg.Personas = []string{"generic"}
	check(start(t, cfg)) // a rack that is started again keeps its personas
}

func TestAPersonaThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	_, err := sim.New(sim.Config{Personas: []string{"idrac7"}})
	require.ErrorContains(t, err, "idrac7")
	require.ErrorContains(t, err, "idrac9")
}
