package intent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/ring"
)

// DriversOf are the conductor's hardware types, sorted.
func DriversOf(k *coverage.Conductor) []string {
	drivers := k.Drivers()
	slices.Sort(drivers)
	return drivers
}

// Fleet is the conductors as they were when the request read them.
type Fleet struct {
	WaitsForConductor bool // the caller has its request wait for a conductor
	All               []coverage.Conductor
	now               time.Time           // of the request
	settings          string              // of a conductor that somebody starts; "" = not known
	rings             map[string][]string // by group, driver and interfaces: who covers, sorted
}

// Fleet reads the conductors. Each request reads them anew, so that what an answer says
// of a node is true when it is given.
func (s *Service) Fleet(ctx context.Context) (*Fleet, error) {
	all, err := s.Store.Conductors(ctx)
	if err != nil {
		return nil, err
	}
	return s.fleetOf(all), nil
}

func (s *Service) fleetOf(all []coverage.Conductor) *Fleet {
	return &Fleet{All: all, now: s.Now(), settings: s.Settings, rings: map[string][]string{}}
}

// alive reports whether the conductor of that name is alive.
func (f *Fleet) alive(host string) bool {
	return slices.ContainsFunc(f.All, func(c coverage.Conductor) bool { return c.Hostname == host && c.Alive })
}

// empty reports whether no conductor takes work.
func (f *Fleet) empty() bool {
	return !slices.ContainsFunc(f.All, coverage.Conductor.TakesWork)
}

// Serving are the conductors of a group that have the driver and take work,
// sorted by name.
func (f *Fleet) Serving(group, driver string) []coverage.Conductor {
	var out []coverage.Conductor
	for _, c := range f.All {
		if _, has := c.Interfaces[driver]; has && c.TakesWork() && c.Group == group {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b coverage.Conductor) int { return cmp.Compare(a.Hostname, b.Hostname) })
	return out
}

// Covering returns the names of the conductors that cover the node, sorted.
func (f *Fleet) Covering(n *node.Node) []string {
	var room [256]byte
	key := append(append(append(room[:0], n.ConductorGroup...), 0), n.Driver...)
	for _, i := range node.Interfaces {
		key = append(append(key, 0), n.Interfaces[i]...)
	}
	if hosts, ok := f.rings[string(key)]; ok {
		return hosts
	}
	hosts := []string{}
	for _, c := range f.Serving(n.ConductorGroup, n.Driver) {
		if c.Covers(n.ConductorGroup, n.Driver, n.Interfaces) {
			hosts = append(hosts, c.Hostname)
		}
	}
	f.rings[string(key)] = hosts
	return hosts
}

// Owner is the node's conductor: the one that the ring gives it to or, if that no longer
// covers the node, another one that does, until the next epoch. "" = nobody covers it.
func (f *Fleet) Owner(n *node.Node) string {
	covering := f.Covering(n)
	if slices.Contains(covering, n.RingOwner) {
		return n.RingOwner
	}
	return ring.Owner(n.UUID, covering)
}

// Reservation is who holds the node, as Ironic's clients see it; "" = nobody.
func (f *Fleet) Reservation(n *node.Node) string {
	if n.Operation == nil {
		return ""
	}
	return node.Reservation(n, f.alive, f.Owner(n))
}

// Orphaned reports whether nobody works on the node's open operation and nobody could, or no workflow has
// taken it up in time. Such an operation can be ended or moved without waiting for a conductor.
func (f *Fleet) Orphaned(n *node.Node) bool {
	o := n.Operation
	if o != nil && o.NotTakenUp(f.now) {
		return true
	}
	return o != nil && len(f.Covering(n)) == 0 && (o.Conductor == "" || !f.alive(o.Conductor))
}

// WaitingFor says what an open operation waits for; "" = nothing. That is what its row
// says or, if it should be at work and nobody covers its node, a conductor. The second is
// computed here, so that it is said even if every conductor and orchestrator is dead.
func (f *Fleet) WaitingFor(o *node.Operation) string {
	if p := o.TemporalPause; p != nil {
		return p.Words()
	}
	working := o.Phase == node.Accepted || o.Phase == node.Running || o.Phase == node.Undoing
	if !working || o.WaitingFor != "" || len(f.Serving(o.Group, o.Driver)) > 0 {
		return o.WaitingFor
	}
	return node.WaitsForConductor(o.Group, o.Driver)
}

// Enabled returns the implementations that the conductors of a group have for a driver,
// by interface. The error is fault.NoValidHost if none of them has the driver, and
// fault.Unavailable if no conductor takes work.
func (f *Fleet) Enabled(group, driver string) (map[string][]string, error) {
	serving := f.Serving(group, driver)
	if len(serving) == 0 {
		return nil, f.NoConductor(group, driver)
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

// RequireCovered returns Ironic's error if no conductor covers the node, with what finds one, unless the caller wants its request to
// wait for one.
func (f *Fleet) RequireCovered(n *node.Node) error {
	if f.WaitsForConductor || len(f.Covering(n)) > 0 {
		return nil
	}
	var list []help.Item
	for _, a := range explain.Cover(n, f.All, f.settings) {
		list = append(list, help.Of(n, a))
	}
	return format.WithHelp(f.NoConductor(n.ConductorGroup, n.Driver), list...)
}

// headerWait and the query parameter wait_for_conductor say that a request is to be
// accepted, and to wait, while no conductor covers the node.
const headerWait = "Temper-Wait-For-Conductor"

func waitsForConductor(c *gin.Context) (bool, error) {
	word, given := c.GetQuery("wait_for_conductor")
	if !given {
		word = c.GetHeader(headerWait)
	}
	if word == "" {
		return false, nil
	}
	return format.AsBool("wait_for_conductor", word)
}

// NoConductor is the error if no conductor of the group has the driver.
func (f *Fleet) NoConductor(group, driver string) error {
	err := fault.Coded(fault.NoConductor, "No valid host was found. Reason: No conductor service registered which supports driver %s for conductor group \"%s\". Ensure the driver is valid and enabled.", format.Clip(driver), format.Clip(group))
	if f.empty() {
		err = fault.Coded(fault.NoConductorAlive, "no conductor is alive and takes work, so there is none with driver %s in %s", format.Clip(driver), node.GroupWords(format.Clip(group)))
	}
	if _, known := node.Hardware(driver); !known { // none can be started that has it
		return err
	}
	return helped(err, help.Action{Do: fault.ListConductors}, explain.Starts(&node.Node{Driver: driver, ConductorGroup: group}, f.All, f.settings))
}

// helped adds to err what can be done about it, for which no node has to be known.
func helped(err error, actions ...help.Action) error {
	var list []help.Item
	for _, a := range actions {
		list = append(list, help.Of(nil, a))
	}
	return format.WithHelp(err, list...)
}

// AsBadRequest turns fault.NoValidHost into fault.Invalid, as Ironic does for requests
// that name the driver themselves.
func AsBadRequest(err error) error {
	if fault.Is(err, fault.NoValidHost) {
		return fault.New(fault.Invalid, "%w", err)
	}
	return err
}
