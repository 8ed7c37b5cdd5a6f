package machine

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.temper.dev/temper/internal/sim/disk"
	"go.temper.dev/temper/internal/sim/faults"
)

// Env has the settings that the servers of a rack share.
type Env struct {
	Seed           int64
	DataDir        string
	DiskBytes      int64 // 0 = the drives' own size
	PowerDelay     time.Duration
	BootDelay      time.Duration
	TaskDelay      time.Duration // 0 = actions answer when they are done, without a task
	SessionTimeout time.Duration
	MaxSessions    int
	MediaLimit     int64 // bytes of a virtual CD
	PXE            bool
	Client         *http.Client // fetches virtual media

	// RunAgent runs the agent until ctx ends. saved is the memory of the same boot that an
	// earlier process saved, nil for a new boot.
	RunAgent func(ctx context.Context, s *Server, boot int, saved *AgentMemory)
	// Computer makes the servers real machines; nil = their disks and agents are simulated.
	Computer Computer
	// Changed is called without locks when a server's state has changed and should be saved.
	Changed func(*Server)
}

// Server is a simulated server. All methods are safe for concurrent use. It has no
// goroutine of its own: delays are timers, and an agent runs only while one is booted.
type Server struct {
	Hardware
	Disk    *disk.Disk
	Faults  faults.Injector
	Console Console
	// SSH is the address that leads to port 22 of a virtual machine; nil = none.
	SSH atomic.Pointer[string]
	Log EventLog
	Journal

	env   *Env
	index int
	make  Make

	mu            sync.Mutex
	power         Power
	generation    uint64 // raised by every power change and boot: timers of an older generation do nothing
	boot          Boot
	booting       Source // the source that the firmware is loading; None if it loads nothing
	booted        Source
	stuck         bool // it does not begin to boot
	bootNo        int  // how often an agent has booted
	stop          context.CancelFunc
	agents        sync.WaitGroup
	halted        context.Context // ends with Halt
	halt          context.CancelFunc
	machineGone   chan struct{}   // closed when the last real machine that was started is gone
	button        chan<- struct{} // of that machine
	memory        *AgentMemory
	media         Media
	inserting     bool  // a download is under way
	ejecting      Media // whose eject has begun (Make.SlowEject)
	settings      Settings
	firmware      firmware
	volumes       []Volume
	sessions      map[string]*Session
	badLogin      int
	accounts      []Account // nil = nobody has changed them
	onPassword    func(password string)
	tasks         []*Task
	nextID        int
	bmcBackAt     time.Time // a restarted BMC does not answer before this time
	clockAhead    time.Duration
	lastPower     time.Time // when a change of power ended
	postEnds      time.Time // the firmware's self-test lasts until this time
	subscriptions []Subscription
	watchers      map[chan struct{}]bool
	lastImage     string // URL of the last image that was inserted
	loads         string // URL of the image that this boot loads by HTTP, "" = none
	loaded        Media  // what was loaded from there
}

// New returns server number i. It is switched off and its disk is empty.
func New(env *Env, i int, of Make) *Server {
	h := NewHardware(env.Seed, i, env.DiskBytes)
	of.apply(&h)
	settings, boot := newSettings(), NoOverride
	if env.Computer != nil {
		env.Computer.Fit(&h)
		f := env.Computer.Firmware()
		boot.Mode = f.Mode
		maps.Copy(settings.BIOS, f.attributes())
	}
	of.Persona, of.CDTarget = cmp.Or(of.Persona, "generic"), cmp.Or(of.CDTarget, "Cd")
	halted, halt := context.WithCancel(context.Background())
	return &Server{
		halted: halted, halt: halt, Hardware: h, env: env, index: i, make: of, power: Off, boot: boot, settings: settings, Console: Console{real: env.Computer != nil},
		Disk: disk.New(filepath.Join(env.DataDir, "disks", h.Name+".raw"), h.Drives[0].Bytes),
	}
}

// Index returns the server's number in the rack, from 0.
func (s *Server) Index() int { return s.index }

// SetFaults replaces the server's faults. The rack's seed determines which requests a fault
// with a probability strikes.
func (s *Server) SetFaults(l faults.List) {
	s.Faults.Set(l, uint64(s.env.Seed)<<20+uint64(s.index)) // any mapping will do
}

// PowerState returns the power state that the BMC reports.
func (s *Server) PowerState() Power {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.power
}

// Booted returns what the server has booted from: None while it is off or booting.
func (s *Server) Booted() Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.booted
}

// Booting returns what the firmware is loading, None if it loads nothing.
func (s *Server) Booting() Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.booting
}

// RestartBMC restarts the BMC: it forgets its sessions and tasks and does not answer for
// twice the power delay. The server itself runs on.
func (s *Server) RestartBMC() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restartBMC()
}

func (s *Server) restartBMC() {
	s.sessions, s.tasks = nil, nil
	s.bmcBackAt = time.Now().Add(2 * s.env.PowerDelay)
}

// BMCDowntime returns how long the BMC will still not answer, 0 if it answers.
func (s *Server) BMCDowntime() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, time.Until(s.bmcBackAt))
}

// BMCStarted returns when the BMC was started last; zero if it was never restarted.
func (s *Server) BMCStarted() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bmcBackAt
}

// Halt stops what runs on the server and waits for it. The server's state does not change:
// the process ends, not the server.
func (s *Server) Halt() {
	s.halt()
	s.mu.Lock()
	s.generation++
	if s.stop != nil {
		s.stop()
	}
	for _, sub := range s.subscriptions {
		sub.cancel()
	}
	s.mu.Unlock()
	s.agents.Wait()
}
