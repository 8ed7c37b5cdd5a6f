package system_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// load is four nodes, each in the middle of another kind of work while processes die.
type load struct {
	s    *stack
	gate chan struct{} // closed, the slow image goes on
	l    *library

	writing   *node // its agent writes an image
	switching *node // its server is being switched on
	waiting   *node // its agent does not come
	cleaning  *node // its agent is busy with a clean step

	ids    map[*node]string
	before map[*node]server
}

// newLoad enrols the nodes.
func newLoad(t *testing.T, s *stack) *load {
	t.Helper()
	l := &load{s: s, writing: available(t, s, s.rack), switching: available(t, s, s.rack), waiting: available(t, s, s.rack)}
	l.cleaning = enroll(t, s, s.rack, func(i map[string]any) { i["agent_burnin_cpu_timeout"] = 6 })
	l.cleaning.verified()
	return l
}

func (l *load) nodes() []*node { return []*node{l.writing, l.switching, l.waiting, l.cleaning} }

// begin brings every node into the middle of its work.
func (l *load) begin(t *testing.T) {
	t.Helper()
	l.gate = make(chan struct{})
	l.l = newLibrary(t, l.gate)
	l.ids, l.before = map[*node]string{}, map[*node]server{}
	for _, n := range l.nodes() {
		n.t = t
		l.before[n] = n.hardware()
	}
	l.writing.image(l.l.url+"/slow.raw", l.l.sha256)
	l.switching.image(l.l.url+"/good.raw", l.l.sha256)
	l.waiting.image(l.l.url+"/good.raw", l.l.sha256)
	l.waiting.spoil(fault{Kind: "no_agent", Count: 1})
	l.switching.spoil(fault{Kind: "slow_power", Delay: "3s", Count: 1})

	l.ids[l.writing] = l.writing.provision("active", nil)
	l.ids[l.waiting] = l.waiting.provision("active", nil)
	l.writing.writing(l.l)
	l.waiting.await("wait call-back")
	l.ids[l.cleaning] = l.cleaning.provision("clean", cleanSteps("burnin_cpu"))
	l.cleaning.running(l.ids[l.cleaning], "burnin_cpu")
	l.ids[l.switching] = l.switching.provision("active", nil)
	l.switching.sent(len(l.before[l.switching].Actions) + 1)
}

// finish lets everything continue, and compares the results with undisturbed ones.
func (l *load) finish(t *testing.T) {
	t.Helper()
	close(l.gate)
	require.Equal(t, l.ids[l.waiting], l.waiting.power("rebooting"))
	calm := effects(undisturbed(t, l.s))
	for _, n := range []*node{l.writing, l.switching} {
		n.deployed(l.ids[n], l.l.sha256)
		require.Equal(t, calm, effects(l.since(n)), "%s was switched as an undisturbed one", n.server)
		require.Len(t, l.since(n), len(calm), "nothing was asked for twice: %v", l.since(n))
		require.Equal(t, []string{"write_image"}, l.stepsOf(n), "asked, not repeated")
	}
	l.cleaning.done(l.ids[l.cleaning], "manageable")
	require.Equal(t, []string{"burnin_cpu"}, l.stepsOf(l.cleaning), "asked, not repeated")
	require.Equal(t, []string{"On Off->On", "ForceOff On->Off"}, effects(l.since(l.cleaning)))

	l.waiting.deployed(l.ids[l.waiting], l.l.sha256)
	require.Equal(t, []string{"On Off->On", "ForceOff On->Off", "On Off->On", "agent On->Off", "On Off->On"}, effects(l.since(l.waiting)))
	l.giveBack()
}

// giveBack makes the nodes ready for the next test.
func (l *load) giveBack() {
	ids := map[*node]string{}
	for _, n := range []*node{l.writing, l.switching, l.waiting} {
		ids[n] = n.provision("deleted", nil)
	}
	for n, id := range ids {
		n.done(id, "available")
	}
}

// since returns the power actions since the load began.
func (l *load) since(n *node) []action { return n.hardware().Actions[len(l.before[n].Actions):] }

func (l *load) stepsOf(n *node) []string { return n.hardware().steps()[len(l.before[n].steps()):] }

// on returns the operations whose step runs on a conductor.
func (l *load) on(t *testing.T, conductor string) []*node {
	t.Helper()
	var out []*node
	for _, n := range l.nodes() {
		o, err := n.operation(l.ids[n])
		require.NoError(t, err)
		if o.State == "running" && text(o.Conductor) == conductor {
			out = append(out, n)
		}
	}
	return out
}

// move puts all nodes into a conductor group.
func (l *load) move(t *testing.T, group string) {
	t.Helper()
	for _, n := range l.nodes() {
		n.t = t
		n.patch("conductor_group", group)
	}
}

// leave waits until no operation shows a conductor as its own.
func (l *load) leave(nodes []*node, conductor string) error {
	for _, n := range nodes {
		o, err := n.operation(l.ids[n])
		if err != nil {
			return err
		}
		if text(o.Conductor) == conductor && o.State != "ended" {
			return fmt.Errorf("still on %s: %s", conductor, o)
		}
	}
	return nil
}

// alive returns the conductors that are alive according to the API.
func (s *stack) alive() ([]string, error) {
	var page struct {
		Conductors []struct {
			Hostname string `json:"hostname"`
			Alive    bool   `json:"alive"`
		} `json:"conductors"`
	}
	err := s.read("/v1/conductors", &page)
	var names []string
	for _, c := range page.Conductors {
		if c.Alive {
			names = append(names, c.Hostname)
		}
	}
	return names, err
}

// dead waits until a conductor is not taken for alive any more.
func (s *stack) dead(t *testing.T, name string) {
	t.Helper()
	eventually(t, patience, func() error {
		names, err := s.alive()
		if err == nil && slices.Contains(names, name) {
			err = fmt.Errorf("%s is taken for alive", name)
		}
		return err
	})
}

// statusOf returns the status of a request, 0 if there is no answer.
func (s *stack) statusOf(path string) (int, string) {
	a, err := s.ask(http.MethodGet, path, nil)
	if err != nil {
		return 0, err.Error()
	}
	return a.Status, a.Words()
}
