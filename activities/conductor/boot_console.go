package conductor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

const (
	recordedBytes = 64 << 10         // of a boot: the last ones
	recordEvery   = 10 * time.Second // between two writes, and two tries to open the console
	recordOpen    = 15 * time.Second // for the BMC to open the console
	recordWrite   = 5 * time.Second  // for the database
)

// RecordingStore is what recordings of serial consoles read and write.
type RecordingStore interface {
	SaveLog(ctx context.Context, nodeUUID string, l node.Log) (id int64, err error)
	UpdateLog(ctx context.Context, id int64, content string) error
	// IsRecorded reports whether the console of a node is still to be recorded: the operation goes on, and nobody has enabled the console.
	IsRecorded(ctx context.Context, nodeUUID string, operation int64) (bool, error)
}

// Recordings keep what servers print on their serial consoles while they boot the ramdisk. A recording belongs to the process: after its
// death another conductor begins a new one with the next boot.
type Recordings struct {
	Store   RecordingStore
	Drivers map[string]bmc.Driver
	Log     *zap.Logger

	mu      sync.Mutex
	running map[string]*recording // by the uuid of the node
	ends    sync.WaitGroup
}

// recording is that of one boot.
type recording struct {
	keeper *Recordings
	node   *node.Node
	sealed node.Secrets
	log    node.Log
	boot   string // which boot of the node it is
	stop   context.CancelFunc

	mu      sync.Mutex
	printed []byte // at most recordedBytes
	more    bool   // than was written
}

// record begins to record the boot of a step. A recording of an earlier boot ends.
func (r *Recordings) record(t *task, step *node.Step) {
	if r == nil || t.node.ConsoleEnabled || t.node.Implementation("console").Means != node.MeansBMC {
		return
	}
	boot := fmt.Sprint(t.op.ID, " ", step.Name(), " ", step.BootsAgain, " ", step.OnAgain, " ", step.Failures)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.running[t.node.UUID]; now != nil {
		if now.boot == boot {
			return
		}
		now.stop()
	}
	if r.running == nil {
		r.running = map[string]*recording{}
	}
	ctx, stop := context.WithTimeout(context.Background(), t.Settings.AgentWait[t.op.Kind.Spec().Family])
	one := *t.node
	rec := &recording{
		keeper: r, node: &one, sealed: t.sealed, boot: boot, stop: stop,
		log: node.Log{Operation: t.op.ID, Kind: node.ConsoleLog, Step: step.Name(), Conductor: t.Settings.Conductor},
	}
	r.running[t.node.UUID] = rec
	r.ends.Go(func() {
		defer stop()
		rec.run(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.running[one.UUID] == rec {
			delete(r.running, one.UUID)
		}
	})
}

// end ends the recording of a node, if there is one.
func (r *Recordings) end(nodeUUID string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.running[nodeUUID]; now != nil {
		now.stop()
	}
}

// Close ends all recordings, and waits until they are written or ctx ends.
func (r *Recordings) Close(ctx context.Context) {
	r.mu.Lock()
	for _, rec := range r.running {
		rec.stop()
	}
	r.mu.Unlock()
	over := make(chan struct{})
	go func() { defer close(over); r.ends.Wait() }()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// run records until ctx ends, the BMC ends the console, or it is not to be recorded any more.
func (r *recording) run(ctx context.Context) {
	log := r.keeper.Log.With(zap.String("node", r.node.UUID), zap.Int64("operation", r.log.Operation))
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWrite)
		defer cancel()
		if err := r.write(last); err != nil {
			log.Warn("the serial console of a boot is not kept whole", zap.Error(err))
		}
	}()
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	var ended chan struct{}
	for {
		if ended == nil {
			session, console, err := r.open(ctx)
			switch {
			case err == nil:
				ended = make(chan struct{})
				go func(ended chan struct{}) { defer close(ended); r.read(console) }(ended)
				defer session.Close()
				defer func() { _ = console.Close(); <-ended }()
			case !errors.Is(err, bmc.ErrConsoleInUse): // else perhaps by the conductor before; BMCs end that after a minute
				log.Debug("the serial console is not recorded", zap.Error(err))
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ended: // nil before the console is open
			return
		case <-tick.C:
		}
		goesOn, err := r.keep(ctx)
		if err != nil && ctx.Err() == nil {
			log.Debug("the serial console could not be written", zap.Error(err))
		}
		if !goesOn && err == nil {
			return
		}
	}
}

// open opens the console of the BMC.
func (r *recording) open(ctx context.Context) (bmc.Session, bmc.Console, error) {
	ctx, cancel := context.WithTimeout(ctx, recordOpen)
	defer cancel()
	s, err := openUnreserved(ctx, r.keeper.Drivers, r.node, r.sealed)
	if err != nil {
		return s, nil, err
	}
	if s.ConsoleOpener == nil {
		s.Close()
		return s, nil, r.node.Unsupported("console")
	}
	c, err := s.OpenConsole(ctx)
	if err != nil {
		s.Close()
	}
	return s, c, err
}

// read reads what the server prints until the console is closed.
func (r *recording) read(c bmc.Console) {
	buffer := make([]byte, 4<<10)
	for {
		n, err := c.Read(buffer)
		r.mu.Lock()
		r.printed = append(r.printed, buffer[:n]...)
		r.printed = r.printed[max(0, len(r.printed)-recordedBytes):]
		r.more = r.more || n > 0
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// keep writes what was printed, and reports whether the recording goes on.
func (r *recording) keep(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, recordWrite)
	defer cancel()
	if err := r.write(ctx); err != nil {
		return true, err
	}
	return r.keeper.Store.IsRecorded(ctx, r.node.UUID, r.log.Operation)
}

func (r *recording) write(ctx context.Context) (err error) {
	r.mu.Lock()
	more := r.more
	r.log.Content = printable(r.printed)
	r.more = false
	r.mu.Unlock()
	r.log.Content = mask.URLs(withoutSecrets(r.sealed, r.log.Content))
	switch {
	case !more:
	case r.log.ID == 0:
		r.log.ID, err = r.keeper.Store.SaveLog(ctx, r.node.UUID, r.log)
	default:
		err = r.keeper.Store.UpdateLog(ctx, r.log.ID, r.log.Content)
	}
	if err != nil { // the next write has it, too
		r.mu.Lock()
		r.more = true
		r.mu.Unlock()
	}
	return err
}

var (
	// terminal are the sequences that move a terminal's cursor and choose colours (ECMA-48, 5.4), and the other control characters.
	terminal = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f]`)
	// bootToken is the agent's token as the kernel prints it with its command line.
	bootToken = regexp.MustCompile(`(ipa-agent-token=)\S+`)
)

// printable is what a server printed as lines of text, from the first whole line if the beginning was dropped.
func printable(b []byte) string {
	text := strings.ToValidUTF8(string(b), "?")
	if len(b) == recordedBytes {
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	text = terminal.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	return bootToken.ReplaceAllString(text, "${1}"+mask.Masked)
}
