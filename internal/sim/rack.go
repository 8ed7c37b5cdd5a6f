package sim

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.temper.dev/temper/internal/sim/images"
	"go.temper.dev/temper/internal/sim/ipa"
	"go.temper.dev/temper/internal/sim/ipmi"
	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/internal/sim/qemu"
	"go.temper.dev/temper/internal/sim/redfish"
)

// Rack has the simulated servers and everything that clients reach of them.
type Rack struct {
	cfg     Config
	dir     string
	tempDir bool // dir is removed at the end
	servers []*machine.Server
	byName  map[string]*machine.Server
	redfish *redfish.Service
	ipmi    *ipmi.Service
	fronts  map[string]*ipmi.Front // by server; nil without IPMI
	images  *images.Server
	fleet   *ipa.Fleet
	store   *store
	metrics *metrics
	addr    addresses
	ready   chan struct{}

	answering sync.WaitGroup // the fronts for IPMI
}

// New creates a rack. Serve makes it answer.
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
		r.tempDir = true
		defer func() {
			if err != nil {
				_ = os.RemoveAll(r.dir) // the folder is empty, and err is the error to report
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
	r.ipmi = ipmi.New(ipmi.Config{Latency: cfg.Latency, MaxSessions: cfg.MaxSessions})
	r.images = images.New(r.cfg.Seed, cfg.ImageBytes)
	personas, err := redfish.FindPersonas(r.cfg.Personas)
	if err != nil {
		return nil, fmt.Errorf("make rack: %w", err)
	}
	r.redfish = redfish.New(cfg.Latency, personas...)
	env := r.env()
	if cfg.Machines == QEMU {
		if env.Computer, err = qemu.New(qemu.Config{Dir: filepath.Join(r.dir, "qemu"), BIOS: cfg.Firmware == BIOS, Secure: cfg.Firmware == UEFISecure, NVMe: cfg.NVMe, TwoDisks: cfg.TwoDisks, NetworkBoot: cfg.NetworkBoot, Tap: cfg.Tap, Log: r.cfg.Log}); err != nil {
			return nil, fmt.Errorf("make rack: %w", err)
		}
	}
	for i := range cfg.Servers {
		s := machine.New(env, i, personas[i%len(personas)].Make)
		r.servers = append(r.servers, s)
		r.byName[s.Name] = s
	}
	if r.metrics, err = newMetrics(cfg.Metrics, r.servers); err != nil {
		return nil, fmt.Errorf("make rack: %w", err)
	}
	r.fleet = ipa.NewFleet(ipa.Config{
		Client: newClient(), TimeScale: r.cfg.TimeScale, StepDelay: r.cfg.StepDelay, Inspection: !r.cfg.NoInspection, NoProgress: r.cfg.NoProgress,
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
		Changed: r.store.markDirty,
	}
}

// newClient returns the client for the servers' own requests: virtual media, images, the
// API. It uses no proxy, because everything is on this machine. It limits the time until
// the header arrives only; callers limit how long a body may take.
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

// SetAPIURL sets the URL of the API for all agents.
func (r *Rack) SetAPIURL(url string) { r.fleet.SetAPI(url) }

// Server returns the server of that name, nil if there is none.
func (r *Rack) Server(name string) *machine.Server { return r.byName[name] }

// ImageSHA256 returns the digest of a file below /images/.
func (r *Rack) ImageSHA256(name string) string { return r.images.SHA256(name) }

// URL returns the rack's URL, after Ready.
func (r *Rack) URL() string { return r.addr.control }

// Ready returns a channel that is closed when the rack answers.
func (r *Rack) Ready() <-chan struct{} { return r.ready }
