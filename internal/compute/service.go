// Package compute is a compute service: it keeps a lease, holds a share of the
// nodes for a scheduler and publishes it. It knows the API only, and shows
// nothing that it can't vouch for by its own clock.
package compute

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/client"
)

// API is what a service asks; client.Client is one.
type API interface {
	Compute(ctx context.Context, host string, h client.ComputeHeartbeat) (*client.ComputeService, error)
	ComputeShare(ctx context.Context, host string, epoch int64) ([]client.ComputeNode, error)
	ClaimNode(ctx context.Context, service, node, instance string, knows bool) error
}

// Settings are what may change while the service runs.
type Settings struct {
	Key   *string // partition key; nil = unset
	Peers []string
}

func (s Settings) peerList() *string {
	if len(s.Peers) == 0 {
		return nil
	}
	list := strings.Join(s.Peers, ",")
	return &list
}

// Service is a compute service.
type Service struct {
	API      API
	Host     string
	Interval time.Duration // between two heartbeats
	Settings Settings
	// Reread gives the settings again, each time that something comes from
	// Changed; with an error the old ones stay. nil = they never change.
	Reread  func() (Settings, error)
	Changed <-chan struct{}
	Started func()   // called once it is in a published epoch; may be nil
	Metrics *Metrics // of this service; nil = none
	Log     *zap.Logger

	window

	incarnation int64
	taken       Settings // the newest that the API took
	refused     string   // why newer ones were not; "" = they were
	gone        []string // instances of its own that it has shown as gone
	started     bool
}

// Of a lease, what a service makes use of: the rest is for a clock that runs
// slower than the database's, and for answers that are under way.
const (
	leaseUsed  = 2.0 / 3
	askWithin  = 4 * time.Second // one heartbeat
	soon       = 200 * time.Millisecond
	leaveAfter = 3 * time.Second
)

// errHolder: a newer process has the name.
var errHolder = errors.New("a newer process holds the name of this compute service")

// Run registers, holds the share and publishes it until ctx ends, or a newer
// process has its name.
func (s *Service) Run(ctx context.Context) error {
	s.incarnation = time.Now().UnixMicro()
	s.taken = s.Settings
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.leave(ctx)
		case <-s.Changed:
			s.reread()
		case <-next.C:
		}
		pause, err := s.cycle(ctx)
		if err != nil {
			s.drop()
			return err
		}
		next.Reset(pause)
	}
}

func (s *Service) reread() {
	settings, err := s.Reread()
	if err != nil {
		s.refused = err.Error()
		s.Log.Error("settings were not taken, the old ones stay", zap.Error(err))
		return
	}
	s.Settings, s.refused = settings, ""
}

// cycle renews the lease, reads the share of the published epoch and shows it.
// It says when the next one is due.
func (s *Service) cycle(ctx context.Context) (time.Duration, error) {
	sent := time.Now() // before the request: the database can't have counted from earlier
	outcome, pause, err := s.try(ctx, sent)
	if ctx.Err() == nil {
		s.Metrics.cycle(outcome, time.Since(sent))
	}
	return pause, err
}

func (s *Service) try(ctx context.Context, sent time.Time) (outcome string, pause time.Duration, err error) {
	v, err := s.heartbeat(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return cycleUnrenewed, 0, nil
	case errors.Is(err, errHolder):
		return cycleUnrenewed, 0, err
	case err != nil:
		s.Log.Warn("heartbeat", zap.Error(err))
		return cycleUnrenewed, min(s.Interval, time.Second), nil
	}
	until := sent.Add(time.Duration(v.Lease * leaseUsed * float64(time.Second)))
	had := s.renew(until)
	s.gone = nil
	var nodes []client.ComputeNode
	if !v.Quiet {
		within, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		nodes, err = s.API.ComputeShare(within, s.Host, v.Epoch)
		switch {
		case client.StatusOf(err) == http.StatusConflict: // there is a newer epoch, which is asked for at once
			return cycleOutpaced, soon, nil
		case err != nil:
			s.Log.Warn("share", zap.Int64("epoch", v.Epoch), zap.Error(err))
			return cycleUnread, min(s.Interval, time.Second), nil
		}
	}
	s.show(v.Epoch, nodes)
	for _, n := range nodes {
		if n.InstanceGone && n.InstanceUUID != nil && len(s.gone) < mostGone {
			s.gone = append(s.gone, *n.InstanceUUID)
		}
	}
	s.begin(v, len(nodes))
	if had != v.Epoch {
		return cyclePublished, min(s.Interval, soon), nil // what it shows now is acknowledged soon: others wait for it
	}
	return cyclePublished, s.Interval, nil
}

// mostGone bounds what one heartbeat confirms.
const mostGone = 1000

// begin says once that the service is there.
func (s *Service) begin(v *client.ComputeService, nodes int) {
	if s.started {
		return
	}
	s.started = true
	s.Log.Info("registered", zap.String("host", s.Host), zap.Int64("incarnation", s.incarnation), zap.Int64("epoch", v.Epoch),
		zap.Int("nodes", nodes), zap.Strings("warnings", v.Warnings))
	if s.Started != nil {
		s.Started()
	}
}

// heartbeat sends one, and takes settings back that the API refuses.
func (s *Service) heartbeat(ctx context.Context) (*client.ComputeService, error) {
	v, err := s.beat(ctx, s.Settings)
	switch client.StatusOf(err) {
	case http.StatusBadRequest:
		if !s.started {
			return nil, err
		}
		s.refused = err.Error()
		s.Log.Error("settings were not taken, the old ones stay", zap.Error(err))
		s.Settings = s.taken
		return s.beat(ctx, s.Settings)
	case http.StatusConflict:
		// A newer process, or a database that was set back: it knows nothing of
		// what was acknowledged. Nothing is shown until it has said which.
		s.drop()
		if v, err = s.beat(ctx, s.Settings); client.StatusOf(err) == http.StatusConflict {
			return nil, errors.Join(errHolder, err)
		}
	}
	if err == nil {
		s.taken = s.Settings
	}
	return v, err
}

func (s *Service) beat(ctx context.Context, settings Settings) (*client.ComputeService, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return s.API.Compute(ctx, s.Host, client.ComputeHeartbeat{
		PartitionKey: settings.Key, PeerList: settings.peerList(), Incarnation: s.incarnation, AcknowledgedEpoch: s.shows(),
		SettingsError: s.refused, GoneInstances: s.gone,
	})
}

// leave shows nothing any more and then gives the share back.
func (s *Service) leave(ctx context.Context) error {
	s.drop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveAfter)
	defer cancel()
	_, err := s.API.Compute(ctx, s.Host, client.ComputeHeartbeat{Incarnation: s.incarnation, Stopping: true})
	if err != nil {
		s.Log.Warn("leave: the lease ends by itself", zap.Error(err))
	}
	return nil
}
