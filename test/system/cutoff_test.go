package system_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	cut "go.temper.dev/temper/test/valve"
)

// onWithin is how long a step may be interrupted if only its conductor is cut off from something.
const onWithin = 10*time.Second + slack

// If a conductor loses its connection to the BMCs between two steps, the deploy continues on another one of its group.
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
			n := available(t, s, s.rack.of(standard)) // others refuse some requests while they start, which takes time
			n.patch("conductor_group", group)
			n.image(l.url+"/slow.raw", l.sha256)
			id := n.provision("active", nil)
			n.writing(l)
			s.conductor(t, group, group+"-2")
			passed, _ := proxy.Passed()
			require.NotZero(t, passed, "the BMC was reached through the proxy")

			shut(proxy)
			close(gate) // the next requests go to the BMC
			began := time.Now()
			n.moves(id, group+"-2", onWithin)
			t.Logf("elsewhere after %s", time.Since(began).Round(10*time.Millisecond))
			n.deployed(id, l.sha256)
			require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))

			// While the conductor is still cut off, it passes on what it takes from the queue.
			for range 6 {
				began := time.Now()
				n.done(n.power("rebooting"), "active")
				require.Less(t, time.Since(began), onWithin+5*time.Second)
			}
		})
	}
}

// A conductor that can't reach PostgreSQL can't check its claim, and one that can't reach Temporal does not know whether it
// still has the step. Both give the step up, and it continues on a conductor that reaches both.
func TestAConductorThatAloneLosesPostgreSQLOrTemporalHandsItsStepOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from string
		how  string
		shut func(*cut.Valve)
	}{
		{"postgresql", "silence", (*cut.Valve).Hold},
		{"postgresql", "resets", (*cut.Valve).Reset},
		{"temporal", "silence", (*cut.Valve).Hold},
		{"temporal", "resets", (*cut.Valve).Reset},
	} {
		t.Run(c.from+", "+c.how, func(t *testing.T) {
			t.Parallel()
			s := world(t)
			v, setting := s.behindValve(t, c.from)
			group := c.from + "-" + c.how
			s.conductor(t, group, group+"-1", setting)
			gate := make(chan struct{})
			l := newLibrary(t, gate)
			n := available(t, s, s.rack)
			n.patch("conductor_group", group)
			n.image(l.url+"/slow.raw", l.sha256)
			id := n.provision("active", nil)
			n.writing(l)
			s.conductor(t, group, group+"-2")

			began := time.Now()
			c.shut(v)
			n.moves(id, group+"-2", onWithin)
			t.Logf("elsewhere after %s", time.Since(began).Round(10*time.Millisecond))
			if c.from == "temporal" {
				log, err := os.ReadFile(s.Log(group + "-1"))
				require.NoError(t, err)
				require.Regexp(t, `"this conductor stopped working on the step".*"taken over":false`, string(log), "it stopped by itself, before another one began")
			}
			close(gate)
			n.deployed(id, l.sha256)
			require.Equal(t, []string{"write_image"}, n.hardware().steps(), "asked, not repeated")
			require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))

			v.Open() // it takes part again
			for by, until := "", time.Now().Add(patience); by != group+"-1"; {
				require.True(t, time.Now().Before(until), "it takes no steps")
				id := n.power("rebooting")
				n.done(id, "active")
				o, err := n.operation(id)
				require.NoError(t, err)
				by = text(o.Conductor)
			}
		})
	}
}

// A conductor that was frozen and is continued does nothing more for the step: it tries what it was about to do and is refused, which
// the metrics count, or it sees before that how long it stood still.
// Two that freeze at the same time delay a step at most twice as long as one, because the open poll of a frozen process can
// take one attempt.
func TestAFrozenConductorIsRefusedWhenItComesBack(t *testing.T) {
	t.Parallel()
	s := world(t)
	first := s.conductor(t, "ice", "ice-1")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	n := available(t, s, s.rack)
	n.patch("conductor_group", "ice")
	n.image(l.url+"/slow.raw", l.sha256)
	id := n.provision("active", nil)
	n.writing(l)
	second := s.conductor(t, "ice", "ice-2")

	began := time.Now()
	freeze(t, first)
	n.moves(id, "ice-2", onWithin)
	t.Logf("one frozen: elsewhere after %s", time.Since(began).Round(10*time.Millisecond))
	thaw(t, first)
	givesUp(t, s, first, "ice-1")
	require.Zero(t, refused(t, second))

	s.conductor(t, "ice", "ice-3")
	began = time.Now()
	freeze(t, second)
	freeze(t, first)
	n.moves(id, "ice-3", 2*onWithin)
	t.Logf("two frozen: elsewhere after %s", time.Since(began).Round(10*time.Millisecond))
	thaw(t, first)
	thaw(t, second)
	close(gate)
	n.deployed(id, l.sha256)
	require.Equal(t, []string{"write_image"}, n.hardware().steps(), "asked, not repeated")
	require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
	givesUp(t, s, second, "ice-2")
}

// givesUp waits until a conductor that was frozen has given its step up.
func givesUp(t *testing.T, s *stack, c *dev.Running, name string) {
	t.Helper()
	eventually(t, patience, func() error {
		log, err := os.ReadFile(s.Log(name))
		if err == nil && refused(t, c) == 0 && !strings.Contains(string(log), "this conductor stood still for longer than a step may be silent") {
			err = fmt.Errorf("nothing of it was refused, and it has not given the step up")
		}
		return err
	})
}

func freeze(t *testing.T, c *dev.Running) {
	t.Helper()
	require.NoError(t, syscall.Kill(c.Pid(), syscall.SIGSTOP))
}

func thaw(t *testing.T, c *dev.Running) {
	t.Helper()
	require.NoError(t, syscall.Kill(c.Pid(), syscall.SIGCONT))
}

// refused returns how many writes and requests of a conductor were refused because its claim was not the newest.
func refused(t *testing.T, c *dev.Running) int {
	t.Helper()
	a, err := request(http.MethodGet, c.MetricsURL(), nil, nil)
	require.NoError(t, err)
	sum := 0.0
	for lines := bufio.NewScanner(bytes.NewReader(a.Body)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "} "); ok && strings.HasPrefix(name, "temper_claims_lost_total{") {
			n, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			sum += n
		}
	}
	return int(sum)
}

// behindValve returns a valve in front of PostgreSQL or Temporal, and the setting that makes a conductor connect through it.
func (s *stack) behindValve(t *testing.T, what string) (*cut.Valve, string) {
	t.Helper()
	u, err := url.Parse(s.DatabaseURL)
	require.NoError(t, err)
	to := u.Host
	if what == "temporal" {
		to = s.TemporalAddress
	}
	v, err := cut.New(to)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	if what == "temporal" {
		return v, "TEMPER_TEMPORAL_ADDRESS=" + v.Address()
	}
	u.Host = v.Address()
	return v, "TEMPER_DATABASE_URL=" + u.String()
}

// moves waits until another conductor has the operation.
func (n *node) moves(id, to string, within time.Duration) {
	n.t.Helper()
	eventually(n.t, within, func() error {
		o, err := n.operation(id)
		if err == nil && text(o.Conductor) != to {
			err = fmt.Errorf("%s has it: %s", text(o.Conductor), o)
		}
		return err
	})
}
