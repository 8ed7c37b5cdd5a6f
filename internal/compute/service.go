// Package compute is a compute service: it keeps a lease and publishes its share of the nodes
// to a scheduler. It uses the API only, and publishes nothing after its lease has expired by
// its own clocks.
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

// API is the part of Temper's API that a service uses. client.Client implements it.
type API interface {
	Compute(ctx context.Context, host string, h client.ComputeHeartbeat) (*client.ComputeService, error)
	ComputeShare(ctx context.Context, host string, epoch int64) ([]client.ComputeNode, error)
	ClaimNode(ctx context.Context, service, node, instance string, knows bool) error
}

// Settings are the settings that may change while the service runs.
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
	// Reread reads the settings again. It is called for each value from Changed. If it
	// returns an error, the old settings stay. Both are nil if settings never change.
	Reread  func() (Settings, error)
	Changed <-chan struct{}
	Started func()   // called once, when the service has published its first share; may be nil
	Metrics *Metrics // of this service; nil = none
	Log     *zap.Logger

	publication

	incarnation   int64
	accepted      Settings // the newest that the API has accepted
	settingsError string   // why newer settings were refused; "" = they were not
	gone          []string // its instances that it has published as gone
	started       bool
}

// leaseFraction is the part of a lease that a service uses. The rest is a margin for a clock
// that runs slower than the database's, and for answers that are still on their way.
const (
	leaseFraction    = 2.0 / 3
	heartbeatTimeout = 4 * time.Second // one heartbeat
	acknowledgePause = 200 * time.Millisecond
	leaveTimeout     = 3 * time.Second
)

// errNameTaken ends a service when a newer process has registered its name.
var errNameTaken = errors.New("a newer process holds the name of this compute service")

// Run registers the service and publishes its share until ctx ends or a newer process has
// registered the name.
func (s *Service) Run(ctx context.Context) error {
	s.incarnation = time.Now().UnixMicro()
	s.accepted = s.Settings
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
			s.withdraw()
			return err
		}
		next.Reset(pause)
	}
}

func (s *Service) reread() {
	settings, err := s.Reread()
	if err != nil {
		s.settingsError = err.Error()
		s.Log.Error("could not read the changed settings; the old ones stay", zap.Error(err))
		return
	}
	s.Settings, s.settingsError = settings, ""
}

// cycle renews the lease, reads the share of the current epoch and publishes it. It returns
// the pause before the next cycle.
func (s *Service) cycle(ctx context.Context) (time.Duration, error) {
	sent := time.Now() // before the request, so that the lease ends here no later than in the database
	outcome, pause, err := s.runCycle(ctx, sent)
	if ctx.Err() == nil {
		s.Metrics.cycle(outcome, time.Since(sent))
	}
	return pause, err
}

func (s *Service) runCycle(ctx context.Context, sent time.Time) (outcome string, pause time.Duration, err error) {
	v, err := s.heartbeat(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return cycleUnrenewed, 0, nil
	case errors.Is(err, errNameTaken):
		return cycleUnrenewed, 0, err
	case err != nil:
		s.Log.Warn("could not renew the lease", zap.Error(err))
		return cycleUnrenewed, min(s.Interval, time.Second), nil
	}
	until := sent.Add(time.Duration(v.Lease * leaseFraction * float64(time.Second)))
	had := s.renewLease(until)
	s.gone = nil
	var nodes []client.ComputeNode
	if !v.Quiet {
		within, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		nodes, err = s.API.ComputeShare(within, s.Host, v.Epoch)
		switch {
		case client.StatusOf(err) == http.StatusConflict: // there is a newer epoch, which the next cycle reads at once
			return cycleOutpaced, acknowledgePause, nil
		case err != nil:
			s.Log.Warn("could not read the share", zap.Int64("epoch", v.Epoch), zap.Error(err))
			return cycleUnread, min(s.Interval, time.Second), nil
		}
	}
	s.publish(v.Epoch, nodes)
	for _, n := range nodes {
		if n.InstanceGone && n.InstanceUUID != nil && len(s.gone) < maxGone {
			s.gone = append(s.gone, *n.InstanceUUID)
		}
	}
	s.announceStart(v, len(nodes))
	if had != v.Epoch {
		return cyclePublished, min(s.Interval, acknowledgePause), nil // acknowledge the new epoch soon: other services wait for that
	}
	return cyclePublished, s.Interval, nil
}

// maxGone is how many instances a heartbeat confirms as gone.
const maxGone = 1000

// announceStart logs, and calls Started, after the first share was published.
func (s *Service) announceStart(v *client.ComputeService, nodes int) {
	if s.started {
		return
	}
	s.started = true
	s.Log.Info("published its first share", zap.String("host", s.Host), zap.Int64("incarnation", s.incarnation), zap.Int64("epoch", v.Epoch),
		zap.Int("nodes", nodes), zap.Strings("warnings", v.Warnings))
	if s.Started != nil {
		s.Started()
	}
}

// heartbeat sends a heartbeat. If the API refuses new settings, it sends the old ones again.
func (s *Service) heartbeat(ctx context.Context) (*client.ComputeService, error) {
	v, err := s.sendHeartbeat(ctx, s.Settings)
	switch client.StatusOf(err) {
	case http.StatusBadRequest:
		if !s.started {
			return nil, err
		}
		s.settingsError = err.Error()
		s.Log.Error("the API refused the changed settings; the old ones stay", zap.Error(err))
		s.Settings = s.accepted
		return s.sendHeartbeat(ctx, s.Settings)
	case http.StatusConflict:
		// There is a newer process, or the database was restored from a backup and does not
		// know what was acknowledged. Withdraw the share until the second heartbeat shows which.
		s.withdraw()
		if v, err = s.sendHeartbeat(ctx, s.Settings); client.StatusOf(err) == http.StatusConflict {
			return nil, errors.Join(errNameTaken, err)
		}
	}
	if err == nil {
		s.accepted = s.Settings
	}
	return v, err
}

func (s *Service) sendHeartbeat(ctx context.Context, settings Settings) (*client.ComputeService, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	return s.API.Compute(ctx, s.Host, client.ComputeHeartbeat{
		PartitionKey: settings.Key, PeerList: settings.peerList(), Incarnation: s.incarnation, AcknowledgedEpoch: s.publishedEpoch(),
		SettingsError: s.settingsError, GoneInstances: s.gone,
	})
}

// leave withdraws the share, and tells the API that the service stops.
func (s *Service) leave(ctx context.Context) error {
	s.withdraw()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	_, err := s.API.Compute(ctx, s.Host, client.ComputeHeartbeat{Incarnation: s.incarnation, Stopping: true})
	if err != nil {
		s.Log.Warn("could not tell the API that the service stops; its lease will expire", zap.Error(err))
	}
	return nil
}
