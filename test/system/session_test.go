package system_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A conductor that is killed can't log out of the BMCs. Whoever logs in to such a BMC next ends its session, so that the BMC
// has no session that nobody uses.
func TestTheSessionsOfAKilledConductorAreEnded(t *testing.T) {
	t.Parallel()
	s := world(t)
	db := s.database(t)
	first := s.conductor(t, "left", "left-1")
	n := in(t, s, "left")
	sessionsOf := func(conductor string) int {
		return value[int](t, db, "SELECT count(*) FROM bmc_sessions WHERE address = $1 AND conductor = $2", n.hardware().Address, conductor)
	}
	n.done(n.power("power on"), "available")
	require.Equal(t, 1, sessionsOf("left-1"))
	die(t, first)
	s.dead(t, "left-1")
	before := n.hardware().Sessions

	s.conductor(t, "left", "left-2")
	n.done(n.power("power off"), "available")
	require.Zero(t, sessionsOf("left-1"))
	require.Equal(t, 1, sessionsOf("left-2"))
	require.LessOrEqual(t, n.hardware().Sessions, before, "one was ended, one was made")
}
