package system_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// subscriptions returns how many subscriptions to its events the BMC has.
func (n *node) subscriptions() (int, error) {
	of := n.hardware()
	a, err := request(http.MethodGet, of.Address+"/redfish/v1/EventService/Subscriptions", nil, of.login())
	if err != nil {
		return 0, err
	}
	var all struct{ Members []any }
	err = a.Decode(&all)
	return len(all.Members), err
}

// A conductor that is killed while it waits for a power state can't delete its subscription to the events of the BMC. The one
// that continues its work finds it and deletes it, and its own at the end.
func TestTheSubscriptionOfAKilledConductorIsDeleted(t *testing.T) {
	t.Parallel()
	s := world(t)
	db := s.database(t)
	r := ownRack(t, s.APIURL, sim.Config{Servers: 1, Personas: []string{"ilo5"}})
	settings := []string{"TEMPER_BMC_EVENT_URL=" + s.APIURL, "TEMPER_POWER_TIMEOUT=60s"}
	first := s.conductor(t, "heard", "heard-1", settings...)
	n := available(t, s, r)
	n.patch("conductor_group", "heard")
	recorded := func() int {
		return value[int](t, db, "SELECT count(*) FROM bmc_subscriptions WHERE address = $1", n.hardware().Address)
	}
	subscribed := func(want int) func() error {
		return func() error {
			have, err := n.subscriptions()
			if err == nil && (have != want || recorded() != want) {
				err = fmt.Errorf("the BMC has %d subscriptions, and %d are recorded, not %d", have, recorded(), want)
			}
			return err
		}
	}
	n.spoil(fault{Kind: "slow_power", Delay: "15s", Count: 1})
	op := n.power("power on")
	eventually(t, patience, subscribed(1))
	die(t, first)
	s.dead(t, "heard-1")
	require.NoError(t, subscribed(1)())

	s.conductor(t, "heard", "heard-2", settings...)
	n.done(op, "available")
	n.done(n.power("power off"), "available")
	eventually(t, patience, func() error {
		err := subscribed(0)()
		if err != nil { // whoever deletes it may wait too long for the answer of a busy BMC; the next one that logs in tries again
			n.done(n.power("power on"), "available")
			n.done(n.power("power off"), "available")
		}
		return err
	})
}
