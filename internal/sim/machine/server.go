package machine

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"go.temper.dev/temper/internal/sim/disk"
	"go.temper.dev/temper/internal/sim/mischief"
)

// Env is what the servers of a rack share.
type Env struct {
	Seed           int64
	DataDir        string
	DiskBytes      int64 // 0: as the drives are
	PowerDelay     time.Duration
	BootDelay      time.Duration
	TaskDelay      time.Duration // 0: actions answer when they are done, no tasks
	SessionTimeout time.Duration
	MaxSessions    int
	MediaLimit     int64 // bytes of a virtual CD
	PXE            bool
	Client         *http.Client // fetches virtual media

	// RunAgent is the ramdisk: it runs until ctx is over. saved is what an
	// earlier process kept of the same boot, nil for a fresh one.
	RunAgent func(ctx context.Context, s *Server, boot int, saved *AgentMemory)
	// Changed is called, without locks held, when a server's state is worth saving.
	Changed func(*Server)
}

// Server is one simulated server. All methods are safe for concurrent use. It
// has no goroutine of its own: time passes in timers, and an agent exists only
// while one is booted.
type Server struct {
	Hardware
	Disk   *disk.Disk
	Faults mischief.Plan
	Journal

	env   *Env
	index int

	mu       sync.Mutex
	power    Power
	turn     uint64 // raised by every power change and boot: timers of an older turn do nothing
	boot     Boot
	booting  Source // the source the firmware is loading from; None when it is not
	booted   Source
	bootNo   int // boots into an agent, ever
	stop     context.CancelFunc
	agents   sync.WaitGroup
	memory   *AgentMemory
	media    Media
	insert   bool // a download is under way
	settings Settings
	volumes  []Volume
	sessions map[string]*Session
	badLogin int
	tasks    []*Task
	nextID   int
	bmcBack  time.Time // the BMC restarts and does not answer before
}

// New is server number i, switched off, its disk empty.
func New(env *Env, i int) *Server {
	h := NewHardware(env.Seed, i, env.DiskBytes)
	return &Server{
		Hardware: h, env: env, index: i, power: Off, boot: NoOverride, settings: newSettings(),
		Disk: disk.New(filepath.Join(env.DataDir, "disks", h.Name+".raw"), h.Drives[0].Bytes),
	}
}

// Index is the server's number in the rack, from 0.
func (s *Server) Index() int { return s.index }

// SetFaults replaces the server's faults; which of several requests a fault
// with a probability strikes follows from the rack's seed.
func (s *Server) SetFaults(l mischief.List) {
	s.Faults.Set(l, uint64(s.env.Seed)<<20+uint64(s.index)) // any mapping will do
}

// PowerState is the state as the BMC reads it.
func (s *Server) PowerState() Power {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.power
}

// Booted is what runs on the server: None while it is off or still booting.
func (s *Server) Booted() Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.booted
}

// Booting is what the firmware is loading just now, None when it is not.
func (s *Server) Booting() Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.booting
}

// RestartBMC makes the BMC forget its sessions and tasks, and stay away for
// twice the power delay. The server itself notices nothing.
func (s *Server) RestartBMC() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions, s.tasks = nil, nil
	s.bmcBack = time.Now().Add(2 * s.env.PowerDelay)
}

// BMCAway is how long the BMC will not answer yet; 0 when it does.
func (s *Server) BMCAway() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, time.Until(s.bmcBack))
}

// Halt stops what runs on the server without changing its state, for the end
// of the process, and waits for it.
func (s *Server) Halt() {
	s.mu.Lock()
	s.turn++
	if s.stop != nil {
		s.stop()
	}
	s.mu.Unlock()
	s.agents.Wait()
}

func (s *Server) changed() {
	if s.env.Changed != nil {
		s.env.Changed(s)
	}
}
