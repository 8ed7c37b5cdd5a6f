package system_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/redfish"
)

// A whole life on each of the machines that the rack can be. What the driver does for a BMC is tested with the driver; here
// the steps must come to the same end on all of them.
func TestTheLifeOfANodeOnEveryPersona(t *testing.T) {
	t.Parallel()
	s := world(t)
	all := redfish.Personas()
	r := ownRack(t, s.APIURL, sim.Config{Servers: len(all), Personas: []string{redfish.AllPersonas}})
	for _, p := range all {
		n := manageable(t, s, r.of(p.Name))
		persona := n.hardware().Persona
		t.Run(persona, func(t *testing.T) {
			t.Parallel()
			n = n.as(t)
			require.Empty(t, n.hardware().Actions, "verifying reads")
			n.done(n.provision("inspect", nil), "manageable")
			n.patch("automated_clean", false)
			n.done(n.provision("provide", nil), "available")
			n.image(r.url+"/images/disk.raw", digest(t, r))
			n.done(n.provision("active", nil), "active")
			require.Equal(t, digest(t, r), n.hardware().DiskSHA256)
			n.done(n.provision("deleted", nil), "available")
			sv := n.hardware()
			require.NoError(t, sv.clean())
			require.Equal(t, 1, sv.AgentBoots, "the virtual CD was booted once")
			require.Zero(t, sv.BadLogins)
		})
	}
}
