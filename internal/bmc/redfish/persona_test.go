package redfish_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/sim"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

// personas say what the suite has to know of the personas of the simulated rack that lack
// something, or that refuse the first forms of a request.
var personas = map[string]struct {
	tries int
	lacks []bmctest.Capability
}{
	"asrock":      {tries: 2}, // PATCH refuses the ETag
	"ami":         {tries: 2}, // the settings resource is learned by a refusal; InsertMedia wants the protocol
	"dgx":         {tries: 2}, // InsertMedia wants an account
	"ilo5":        {lacks: []bmctest.Capability{bmctest.BootMode}},
	"ilo6":        {lacks: []bmctest.Capability{bmctest.BootMode}},
	"openbmc":     {tries: 2}, // a slot refuses InsertMedia
	"sushy-tools": {lacks: []bmctest.Capability{bmctest.BootOnce, bmctest.BootClear}},
	"xcc":         {lacks: []bmctest.Capability{bmctest.BootForever}},
}

// personaRig is a rig with a server of the simulated rack that is of that persona, and a
// driver without the row of the table of quirks that is named, "" for none.
func personaRig(t *testing.T, name, withoutQuirk string) bmctest.Rig {
	r := simRig(t, sim.Config{Personas: []string{name}})
	r.Driver = redfish.New(redfish.WithoutQuirk(quick(), withoutQuirk))
	r.Tries, r.Lacks = personas[name].tries, personas[name].lacks
	return r
}

func TestConformanceWithEveryPersona(t *testing.T) {
	for name := range personas {
		_, err := simredfish.FindPersonas([]string{name})
		require.NoError(t, err)
	}
	for _, p := range simredfish.Personas() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig { return personaRig(t, p.Name, "") })
		})
	}
}

// A persona's system needs no name if it is the only one.
func TestTheSystemOfAPersonaIsFound(t *testing.T) {
	for _, p := range simredfish.Personas() {
		if p.Name == "dgx" {
			continue // it has two
		}
		rack := startRack(t, sim.Config{Personas: []string{p.Name}})
		info := listed(t, rack).info()
		delete(info, "redfish_system_id")
		power, err := talk(t, newDriver(t, quick()), info).Power(t.Context())
		require.NoError(t, err, p.Name)
		require.Equal(t, bmc.PowerOff, power, p.Name)
	}
}
