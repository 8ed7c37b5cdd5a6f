package sim

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.temper.dev/temper/internal/sim/images"
	"go.temper.dev/temper/internal/sim/ipa"
	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/internal/sim/redfish"
)

// Rack is the servers and what they are reached by.
type Rack struct {
	cfg     Config
	dir     string
	temp    bool // dir is ours to remove
	servers []*machine.Server
	byName  map[string]*machine.Server
	redfish *redfish.Service
	images  *images.Server
	fleet   *ipa.Fleet
	store   *store
	metrics *metrics
	addr    addresses
	ready   chan struct{}
}

// New makes a rack; Serve gives it to its clients.
func New(cfg Config) (_ *Rack, err error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make rack: %w", err)
	}
	r := &Rack{cfg: cfg, dir: cfg.DataDir, ready: make(chan struct{}), byName: map[string]*machine.Server{}}
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "rack-*"); err != nil {
			return nil, fmt.Errorf("make rack: %w", err)
		}
		r.temp = true
		defer func() {
			if err != nil {
				_ = os.RemoveAll(r.dir) // the error is told, the folder is empty
			}
		}()
	}
	// Other processes find the CA of the BMCs by its path.
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return nil, fmt.Errorf("make rack: %w", err)
	}
	if r.store, err = openStore(r.dir, &r.cfg); err != nil {
		return nil, fmt.Errorf("make rack: %w", err)
	}
	r.redfish = redfish.New(cfg.Latency)
	r.images = images.New(r.cfg.Seed, cfg.ImageBytes)
	env := r.env()
	for i := range cfg.Servers {
		s := machine.New(env, i)
		r.servers = append(r.servers, s)
		r.byName[s.Name] = s
	}
	if r.metrics, err = newMetrics(cfg.Metrics, r.servers); err != nil {
		return nil, fmt.Errorf("make rack: %w", err)
	}
	r.fleet = ipa.NewFleet(ipa.Config{
		Client: newClient(), TimeScale: r.cfg.TimeScale, StepDelay: r.cfg.StepDelay, Inspection: !r.cfg.NoInspection,
		Seed: r.cfg.Seed, Log: r.cfg.Log, Observe: r.metrics.command,
	})
	r.fleet.SetAPI(r.cfg.APIURL)
	return r, nil
}

func (r *Rack) env() *machine.Env {
	return &machine.Env{
		Seed: r.cfg.Seed, DataDir: r.dir, DiskBytes: r.cfg.DiskBytes,
		PowerDelay: r.cfg.PowerDelay, BootDelay: r.cfg.BootDelay, TaskDelay: r.cfg.TaskDelay,
		SessionTimeout: r.cfg.SessionTimeout, MaxSessions: r.cfg.MaxSessions, MediaLimit: r.cfg.MediaLimit, PXE: r.cfg.PXE,
		Client: newClient(),
		RunAgent: func(ctx context.Context, s *machine.Server, boot int, saved *machine.AgentMemory) {
			r.fleet.Run(ctx, s, boot, saved)
		},
		Changed: r.store.mark,
	}
}

// newClient is for the servers' own requests: virtual media, images, the API.
// No proxy: what is simulated stays on the machine. Bodies may take long, so
// only their beginning has a deadline here; callers bound the rest.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 60 * time.Second,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   256,
	}}
}

// SetAPIURL tells the agents where the API is, now and later.
func (r *Rack) SetAPIURL(url string) { r.fleet.SetAPI(url) }

// Server is the one of that name, nil where there is none.
func (r *Rack) Server(name string) *machine.Server { return r.byName[name] }

// Servers are all of them, in order.
func (r *Rack) Servers() []*machine.Server { return r.servers }

// ImageSHA256 is the digest of a file served under /images/.
func (r *Rack) ImageSHA256(name string) string { return r.images.SHA256(name) }

// URL is where the listing and the images are, once Ready.
func (r *Rack) URL() string { return r.addr.control }

// Ready is closed when the rack answers.
func (r *Rack) Ready() <-chan struct{} { return r.ready }
