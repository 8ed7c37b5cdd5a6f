package conductor

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/console"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
)

const (
	consoleLook    = time.Second      // between two looks for consoles that are to be held, or not any more
	consoleClose   = 3 * time.Second  // for the BMCs to close consoles that are given back
	consoleRelease = 5 * time.Second  // for giving back all of them at the end, closing included
	portPause      = 10 * time.Second // until a port that was not free is tried again
)

// ConsoleStore is what the holder of consoles reads and writes.
type ConsoleStore interface {
	// ConsolesOwned returns a page of the consoles that are enabled, of nodes that the conductor owns.
	ConsolesOwned(ctx context.Context, conductor node.Host, drivers []string, after int64, limit int) ([]node.ConsoleOwned, error)
	// HoldConsoles claims consoles. The claims of those who held them before are void.
	HoldConsoles(ctx context.Context, conductor node.Host, ids []int64) ([]node.ConsoleHeld, error)
	// SaveConsoles writes what the holder tells, and returns the claims that are still the newest, by the ID of the node.
	SaveConsoles(ctx context.Context, states []node.ConsoleState) (map[int64]int64, error)
	ReleaseConsoles(ctx context.Context, claims map[int64]int64) error
	SecretStore
}

// Consoles holds the serial consoles of the nodes that a conductor owns: it listens for clients, and connects one at a time with
// the BMC's console. It is not an activity: a loop of the conductor runs it beside the steps. It reserves no node.
type Consoles struct {
	Store   ConsoleStore
	Drivers map[string]bmc.Driver
	Self    coverage.Conductor // Hostname, Group, Interfaces
	Address netip.Addr         // where it listens, and where clients find it
	Ports   console.Ports      // for consoles whose node fixes no port
	Idle    time.Duration      // after which time without a byte a client is disconnected; 0 = never
	// Timeout is after which time without a heartbeat of the conductor others may hold its consoles. Heartbeat is the time between
	// two: at each contact to the database the last one may be that old.
	Timeout, Heartbeat time.Duration
	Log                *zap.Logger

	host node.Host
	held map[int64]*heldConsole // by node; only Keep uses it
	ends *sync.WaitGroup        // of the relays that this call of Keep has begun
}

// Keep holds consoles until ctx ends; then it gives them back.
func (c *Consoles) Keep(ctx context.Context, incarnation int64) {
	drivers := c.drivers()
	if len(drivers) == 0 {
		return
	}
	c.host, c.held = node.Host{Name: c.Self.Hostname, Incarnation: incarnation}, map[int64]*heldConsole{}
	ends := &sync.WaitGroup{} // that of the call before may still be waited for
	c.ends = ends
	look := time.NewTicker(consoleLook)
	defer look.Stop()
	for ctx.Err() == nil {
		if err := c.look(ctx, drivers); err != nil && ctx.Err() == nil {
			c.Log.Warn("the consoles could not be looked after", zap.Error(err))
		}
		select {
		case <-ctx.Done():
		case <-look.C:
		}
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), consoleRelease)
	defer cancel()
	if err := c.drop(release, slices.Collect(maps.Keys(c.held))); err != nil {
		c.Log.Warn("the consoles could not be given back", zap.Error(err))
	}
	ended := make(chan struct{})
	go func() { defer close(ended); ends.Wait() }()
	select {
	case <-ended:
	case <-release.Done(): // a BMC that does not answer ends the session by itself after a minute
	}
}

// drivers returns the conductor's drivers that have consoles which somebody has to hold.
func (c *Consoles) drivers() (out []string) {
	for driver := range c.Self.Interfaces {
		h, _ := node.Hardware(driver)
		if slices.ContainsFunc(h.Implementations["console"], func(i node.Implementation) bool { return i.Console != "" }) {
			out = append(out, driver)
		}
	}
	return out
}

// look begins to hold what is to be held now, and gives up the rest.
func (c *Consoles) look(ctx context.Context, drivers []string) error {
	sent := time.Now() // before the request: what it returns is true at some time after that
	owned := map[int64]node.ConsoleOwned{}
	for after := int64(0); ; {
		page, err := c.Store.ConsolesOwned(ctx, c.host, drivers, after, refreshPage)
		if err != nil {
			return err
		}
		for _, o := range page {
			owned[o.ID], after = o, o.ID
		}
		if len(page) < refreshPage {
			break
		}
	}
	var gone, wanted []int64
	for id, h := range c.held {
		if o, stays := owned[id]; !stays || o.Claim != h.Claim || !sameTime(o.ReachedSince, h.ReachedSince) {
			gone = append(gone, id)
		} else {
			h.confirm(sent)
		}
	}
	if err := c.drop(ctx, gone); err != nil {
		return err
	}
	for id := range owned {
		if h := c.held[id]; h == nil || h.listener == nil && time.Now().After(h.retry) {
			wanted = append(wanted, id)
		}
	}
	slices.Sort(wanted)
	for some := range slices.Chunk(wanted, refreshPage) {
		if err := c.hold(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// hold claims consoles, listens for their clients, and tells where.
func (c *Consoles) hold(ctx context.Context, ids []int64) error {
	sent := time.Now()
	claimed, err := c.Store.HoldConsoles(ctx, c.host, ids)
	if err != nil {
		return err
	}
	used := map[int]bool{}
	for _, h := range c.held {
		if h.listener != nil {
			used[h.listener.Addr().(*net.TCPAddr).Port] = true //nolint:forcetypeassert // it listens on TCP
		}
	}
	states := make([]node.ConsoleState, len(claimed))
	for i, claim := range claimed {
		h := &heldConsole{ConsoleHeld: claim, keeper: c, claimed: sent, over: make(chan struct{})}
		h.confirm(sent)
		states[i] = h.listen(used)
		c.held[claim.ID] = h
	}
	kept, err := c.Store.SaveConsoles(ctx, states)
	for _, claim := range claimed {
		h := c.held[claim.ID]
		if err == nil && kept[claim.ID] == h.Claim {
			h.serve(ctx)
			continue
		}
		h.close()
		delete(c.held, claim.ID)
	}
	return err
}

// drop gives consoles up: it closes them at their BMCs, all at once, and then releases them. One that is not closed within
// consoleClose stays claimed, as that of a conductor that was killed, so that the next holder knows of the session that may still have it.
func (c *Consoles) drop(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	gone := make([]*heldConsole, len(ids))
	for i, id := range ids {
		gone[i] = c.held[id]
		gone[i].close()
		delete(c.held, id)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), consoleClose)
	defer cancel()
	claims := make(map[int64]int64, len(gone))
	var open []node.ConsoleState
	for _, h := range gone {
		if closed, state := h.closed(closing); closed {
			claims[h.ID] = h.Claim
		} else {
			open = append(open, state)
		}
	}
	var released, saved error
	if len(claims) > 0 {
		released = c.Store.ReleaseConsoles(ctx, claims)
	}
	if len(open) > 0 {
		_, saved = c.Store.SaveConsoles(ctx, open)
	}
	return errors.Join(released, saved)
}

func sameTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }
