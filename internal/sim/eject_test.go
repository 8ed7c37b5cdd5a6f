package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// A BMC that ejects slowly does not take an eject of the empty drive, or of the medium before, for one of the medium that is in.
func TestASlowEjectIsOfTheMediumThatIsIn(t *testing.T) {
	t.Parallel()
	s := start(t, sim.Config{Servers: 1, Personas: []string{"idrac10"}, PowerDelay: time.Second, ImageBytes: 256 << 10})
	m := s.rack.Server("sim-0001")
	m.EjectMedia()
	require.NoError(t, m.InsertMedia(s.rack.URL()+"/images/disk.raw", "1", true))
	m.EjectMedia()
	require.Eventually(t, func() bool { return !m.Media().Inserted }, soon, 10*time.Millisecond)
}
