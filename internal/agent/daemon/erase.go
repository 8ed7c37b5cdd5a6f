//go:build linux

package daemon

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/agent/imagewriter"
	"go.temper.dev/temper/internal/agent/selferase"
	"go.temper.dev/temper/internal/rootdevice"
)

// erasedAtOnce is how many disks are erased at a time (Ironic's disk_erasure_concurrency).
const erasedAtOnce = 4

// eraseSettings are Ironic's settings of erasing, as ironic-python-agent reads them from driver_internal_info (hardware.py,
// erase_block_device).
type eraseSettings struct {
	allowed selferase.Allowed
	goOn    bool // a disk that should erase itself and can't is overwritten
}

func eraseSettingsOf(internal map[string]any) eraseSettings {
	on := func(key string, otherwise bool) bool {
		if v, ok := internal[key].(bool); ok {
			return v
		}
		return otherwise
	}
	return eraseSettings{
		allowed: selferase.Allowed{ATA: on("agent_enable_ata_secure_erase", true), NVMe: on("agent_enable_nvme_secure_erase", true)},
		goOn:    on("agent_continue_if_secure_erase_failed", on("agent_continue_if_ata_erase_failed", false)),
	}
}

// erasing is a disk that is erased.
type erasing struct {
	rootdevice.Disk
	*imagewriter.Target
	told func(n int64) // of its bytes
}

// eraseMetadata takes the signatures off every disk that is not in use.
func eraseMetadata(ctx context.Context, a *Agent, c *command, _ stepInput) (any, error) {
	_, err := a.eachDisk(ctx, c, func(_ context.Context, d erasing) (agent.Erasure, error) { return agent.Erasure{}, d.Wipe() })
	return nil, err
}

// eraseDevices has every disk erase itself, or overwrites it. Its result is the evidence.
func eraseDevices(ctx context.Context, a *Agent, c *command, in stepInput) (any, error) {
	settings := eraseSettingsOf(in.Internal)
	return a.eachDisk(ctx, c, func(ctx context.Context, d erasing) (agent.Erasure, error) { return a.eraseDisk(ctx, d, settings) })
}

// eraseExpress has the disks erase themselves that can, and wipes the signatures of the others.
func eraseExpress(ctx context.Context, a *Agent, c *command, in stepInput) (any, error) {
	settings := eraseSettingsOf(in.Internal)
	settings.allowed.ATA = false // ATA takes hours; ironic-python-agent has NVMe only here, too
	return a.eachDisk(ctx, c, func(ctx context.Context, d erasing) (agent.Erasure, error) {
		e, err := a.selfErase(ctx, d, settings.allowed)
		if why := notErased(""); errors.Is(err, selferase.ErrNoCommand) || errors.As(err, &why) {
			return agent.Erasure{}, d.Wipe()
		}
		return e, err
	})
}

// notErased says why a disk can't be erased as its settings want it.
type notErased string

func (n notErased) Error() string { return string(n) }

// eraseDisk erases one disk.
func (a *Agent) eraseDisk(ctx context.Context, d erasing, s eraseSettings) (agent.Erasure, error) {
	e, err := a.selfErase(ctx, d, s.allowed)
	if err == nil {
		return e, nil
	}
	why := notErased("")
	switch {
	case errors.As(err, &why):
		if !s.goOn {
			return e, why
		}
	case !errors.Is(err, selferase.ErrNoCommand):
		return e, err
	}
	began := time.Now()
	if err := d.Overwrite(ctx, d.told); err != nil {
		if why != "" {
			err = errors.Join(why, err)
		}
		return e, err
	}
	e = evidence(d, agent.Overwritten, began)
	e.Why = agent.Text(why)
	return e, nil
}

// selfErase has a disk erase itself, and reads afterwards that its content is another.
func (a *Agent) selfErase(ctx context.Context, d erasing, may selferase.Allowed) (agent.Erasure, error) {
	if volume := a.raidVolume(d.Disk); volume != "" {
		return agent.Erasure{}, notErased("it is a volume of a RAID controller (" + volume + "): writing reaches the volume, and not all of the disks behind it")
	}
	open := a.SelfErase
	if open == nil {
		open = selferase.Open
	}
	commands, err := open(d.Name)
	if err != nil {
		return agent.Erasure{}, err
	}
	defer func() { _ = commands.Close() }() // nothing is written through it
	var before imagewriter.Sampled
	may.Before = func() {
		if before, err = d.Mark(); err != nil {
			before = nil // a disk that can't be written may still erase itself
		}
	}
	began := time.Now()
	method, err := selferase.Erase(ctx, commands, may)
	var impossible selferase.Impossible
	switch {
	case errors.As(err, &impossible):
		return agent.Erasure{}, notErased(impossible.Why)
	case err != nil:
		return agent.Erasure{}, err
	}
	e := evidence(d, method, began)
	if e.Samples = 0; before != nil {
		if err := d.Differs(before); err != nil {
			return agent.Erasure{}, notErased("it reports that it has erased itself, but " + err.Error())
		}
		e.Samples = imagewriter.Samples
	}
	d.told(d.Target.Size())
	return e, nil
}

// raidVolume returns the driver of the RAID controller that the disk is a volume of, "" if it is none.
func (a *Agent) raidVolume(d rootdevice.Disk) string {
	if a.Disks != nil {
		return ""
	}
	return a.Machine.RAIDVolume(strings.TrimPrefix(d.Name, "/dev/"))
}

func evidence(d erasing, method string, began time.Time) agent.Erasure {
	return agent.Erasure{
		Disk: agent.Text(d.Name), Serial: agent.Text(d.Facts["serial"]), Method: method, Bytes: agent.Number(d.Target.Size()), Began: agent.Number(began.Unix()),
		Seconds: agent.Number(time.Since(began).Seconds()), Samples: imagewriter.Samples,
	}
}

// eachDisk carries do out with every disk, with some at a time, and returns the evidence. A disk that is not erased holds up no other
// one; the error names each such disk, and those that were erased.
func (a *Agent) eachDisk(ctx context.Context, c *command, do func(context.Context, erasing) (agent.Erasure, error)) ([]agent.Erasure, error) {
	disks := a.candidates()
	if len(disks) == 0 {
		return nil, failure.NoDevice("there is no disk to erase")
	}
	p := &progress{agent: a, command: c, done: make([]int64, len(disks))}
	out, errs := make([]agent.Erasure, len(disks)), make([]error, len(disks))
	for _, d := range disks {
		p.total += d.Size
	}
	slots, all := make(chan struct{}, erasedAtOnce), sync.WaitGroup{}
	for i, d := range disks {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t, err := imagewriter.Open(d.Name)
			if err != nil {
				errs[i] = err
				return
			}
			out[i], errs[i] = do(ctx, erasing{d, t, func(n int64) { p.tell(i, n) }})
			if closing := t.Close(); errs[i] == nil {
				errs[i] = closing
			}
		})
	}
	all.Wait()
	return collected(disks, out, errs)
}

// collected returns the evidence of all disks, or the error about those that are not erased.
func collected(disks []rootdevice.Disk, out []agent.Erasure, errs []error) (erased []agent.Erasure, err error) {
	var failed, done []string
	for i, e := range out {
		switch {
		case errs[i] != nil:
			name := disks[i].Name
			if serial := disks[i].Facts["serial"]; serial != "" {
				name += " (" + serial + ")"
			}
			failed = append(failed, name+" is not erased: "+strings.ReplaceAll(errs[i].Error(), "\n", "; "))
		case e.Method != "":
			erased, done = append(erased, e), append(done, e.Words())
		}
	}
	if len(failed) > 0 {
		return nil, failure.NotErased("%s", strings.Join(append(failed, done...), "; "))
	}
	return erased, nil
}

// progress adds up what is done of several disks.
type progress struct {
	agent   *Agent
	command *command
	mu      sync.Mutex
	done    []int64
	total   int64
}

func (p *progress) tell(i int, n int64) {
	p.mu.Lock()
	p.done[i] = n
	sum := int64(0)
	for _, one := range p.done {
		sum += one
	}
	p.mu.Unlock()
	p.agent.tell(p.command, agent.Progress{Fraction: min(1, float64(sum)/float64(max(1, p.total))), Bytes: sum})
}
