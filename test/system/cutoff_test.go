package system_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cut "go.temper.dev/temper/test/valve"
)

// onWithin is how long a step may stand still when its conductor alone is cut off from something.
const onWithin = 10 * time.Second

// A conductor loses its way to the BMCs between two steps, while another one of its group has it: the deploy goes on there.
func TestAConductorThatAloneCannotReachTheBMCDoesNotKeepTheStep(t *testing.T) {
	t.Parallel()
	for name, shut := range map[string]func(*cut.Proxy){"silence": (*cut.Proxy).Hold, "resets": (*cut.Proxy).Reset} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world(t)
			proxy, err := cut.NewProxy()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, proxy.Close()) })
			group := "bmc-" + name
			s.conductor(t, group, group+"-1", "TEMPER_BMC_PROXY="+proxy.URL())
			gate := make(chan struct{})
			l := newLibrary(t, gate)
			n := available(t, s, s.rack)
			n.patch("conductor_group", group)
			n.image(l.url+"/slow.raw", l.sha256)
			id := n.provision("active", nil)
			n.writing(l)
			s.conductor(t, group, group+"-2")
			bytes, _ := proxy.Passed()
			require.NotZero(t, bytes, "the BMC was reached through the proxy")

			shut(proxy)
			close(gate) // what comes next is said to the BMC
			began := time.Now()
			eventually(t, onWithin, func() error {
				o, err := n.operation(id)
				if err == nil && text(o.Conductor) != group+"-2" {
					err = fmt.Errorf("%s has it: %s", text(o.Conductor), o)
				}
				return err
			})
			t.Logf("elsewhere after %s", time.Since(began).Round(10*time.Millisecond))
			n.deployed(id, l.sha256)
			require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))

			// Cut off still, and asked or not: what it takes from the queue it passes on.
			for range 6 {
				began := time.Now()
				n.done(n.power("rebooting"), "active")
				require.Less(t, time.Since(began), onWithin+5*time.Second)
			}
		})
	}
}
