package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/ring"
)

// fleet is the conductors as one request sees them.
type fleet struct {
	patient bool // the caller has its request wait for a conductor
	all     []coverage.Conductor
	rings   map[string][]string // by group, driver and interfaces: who covers, sorted
}

// fleet reads the conductors: what is shown of a node is as fresh as its answer.
func (s *Server) fleet(ctx context.Context) (*fleet, error) {
	all, err := s.Store.Conductors(ctx)
	if err != nil {
		return nil, err
	}
	return &fleet{all: all, rings: map[string][]string{}}, nil
}

// alive reports whether the conductor of that name is alive.
func (f *fleet) alive(host string) bool {
	return slices.ContainsFunc(f.all, func(c coverage.Conductor) bool { return c.Hostname == host && c.Alive })
}

// empty reports that no conductor at all could take work.
func (f *fleet) empty() bool {
	return !slices.ContainsFunc(f.all, coverage.Conductor.TakesWork)
}

// serving are the conductors of a group that have the driver and take work,
// sorted by name.
func (f *fleet) serving(group, driver string) []coverage.Conductor {
	var out []coverage.Conductor
	for _, c := range f.all {
		if _, has := c.Interfaces[driver]; has && c.TakesWork() && c.Group == group {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b coverage.Conductor) int { return cmp.Compare(a.Hostname, b.Hostname) })
	return out
}

// covering are the names of those that also have all of the node's interfaces.
func (f *fleet) covering(n *node.Node) []string {
	key := n.ConductorGroup + "\x00" + n.Driver
	for _, i := range node.Interfaces {
		key += "\x00" + n.Interfaces[i]
	}
	if hosts, ok := f.rings[key]; ok {
		return hosts
	}
	hosts := []string{}
	for _, c := range f.serving(n.ConductorGroup, n.Driver) {
		if c.Covers(n.ConductorGroup, n.Driver, n.Interfaces) {
			hosts = append(hosts, c.Hostname)
		}
	}
	f.rings[key] = hosts
	return hosts
}

// owner is the node's conductor: the ring's while that covers the node; until
// the next epoch one that does. "" = none covers it.
func (f *fleet) owner(n *node.Node) string {
	covering := f.covering(n)
	if slices.Contains(covering, n.RingOwner) {
		return n.RingOwner
	}
	return ring.Owner(n.UUID, covering)
}

func (f *fleet) reservation(n *node.Node) string {
	if n.Operation == nil {
		return ""
	}
	return node.Reservation(n, f.alive, f.owner(n))
}

// orphaned: nobody works on the node's open operation, and nobody could. What
// ends or moves it need not wait for anybody then.
func (f *fleet) orphaned(n *node.Node) bool {
	o := n.Operation
	return o != nil && len(f.covering(n)) == 0 && (o.Conductor == "" || !f.alive(o.Conductor))
}

// waitingFor is what an open operation waits for, as far as anybody knows: what
// it says itself or, where it should be at work, a conductor to do it. It holds
// also while every conductor and orchestrator is dead.
func (f *fleet) waitingFor(o *node.Operation) string {
	if p := o.TemporalPause; p != nil {
		return p.Words()
	}
	working := o.Phase == node.Accepted || o.Phase == node.Running || o.Phase == node.Undoing
	if !working || o.WaitingFor != "" || len(f.serving(o.Group, o.Driver)) > 0 {
		return o.WaitingFor
	}
	return node.WaitsForConductor(o.Group, o.Driver)
}

// enabled are the interfaces that the conductors of a group have for a driver,
// together. NoValidHost where none has the driver, Unavailable where there is
// no conductor at all.
func (f *fleet) enabled(group, driver string) (map[string][]string, error) {
	serving := f.serving(group, driver)
	if len(serving) == 0 {
		return nil, f.nobody(group, driver)
	}
	out := map[string][]string{}
	for _, c := range serving {
		for kind, impls := range c.Interfaces[driver] {
			for _, impl := range impls {
				if !slices.Contains(out[kind], impl) {
					out[kind] = append(out[kind], impl)
				}
			}
		}
	}
	return out, nil
}

// covered refuses work for a node that nobody could do, in Ironic's words,
// unless the caller said that it is to wait.
func (f *fleet) covered(n *node.Node) error {
	if !f.patient && len(f.covering(n)) == 0 {
		return f.nobody(n.ConductorGroup, n.Driver)
	}
	return nil
}

// headerWait says, as the query wait_for_conductor does, that a request is to be
// accepted and wait where nobody could do it now.
const headerWait = "Temper-Wait-For-Conductor"

func waitsForConductor(c *gin.Context) (bool, error) {
	word, given := c.GetQuery("wait_for_conductor")
	if !given {
		word = c.GetHeader(headerWait)
	}
	if word == "" {
		return false, nil
	}
	return asBool("wait_for_conductor", word)
}

func (f *fleet) nobody(group, driver string) error {
	if f.empty() {
		return fault.Coded(fault.NoConductorAlive, "no conductor is alive and takes work: driver %s, conductor group %q", clip(driver), clip(group))
	}
	return fault.Coded(fault.NoConductor, "No valid host was found. Reason: No conductor service registered which supports driver %s for conductor group \"%s\". Ensure the driver is valid and enabled.", clip(driver), clip(group))
}

// asBadRequest is how Ironic answers NoValidHost to requests that name the
// driver themselves: the client can see which there are.
func asBadRequest(err error) error {
	if fault.Is(err, fault.NoValidHost) {
		return fault.New(fault.Invalid, "%w", err)
	}
	return err
}
