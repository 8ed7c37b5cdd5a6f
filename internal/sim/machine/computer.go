package machine

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Computer makes the servers of a rack real machines behind their simulated BMCs. A server then boots the image of its virtual CD
// or what is on its disk, and not the simulated agent.
type Computer interface {
	// Fit changes h to the hardware that the machines have.
	Fit(h *Hardware)
	// Firmware describes the firmware of all machines.
	Firmware() Firmware
	// Run switches the machine of s on, which boots from the source, and returns when the machine is off. The end of ctx takes the
	// machine's power away. A value from button is a press of its power button.
	Run(ctx context.Context, s *Server, from Source, button <-chan struct{}) Ending
}

// Firmware is what the BMC reports of a real machine's firmware, and can't change.
type Firmware struct {
	Mode       string // one of BootModes
	SecureBoot bool
}

// attributes are the BIOS attributes that the firmware determines.
func (f Firmware) attributes() Attributes {
	a := Attributes{"BootMode": "Uefi", "SecureBoot": "Disabled"}
	if f.Mode == "Legacy" {
		a["BootMode"] = "Bios"
	}
	if f.SecureBoot {
		a["SecureBoot"] = "Enabled"
	}
	return a
}

// Ending is how a machine ended.
type Ending string

// Endings of a machine.
const (
	PowerLost  Ending = "power_lost"     // ctx ended
	GuestOff   Ending = "guest_off"      // what ran on it switched it off
	GuestReset Ending = "guest_reset"    // what ran on it restarted it
	Failed     Ending = "machine_failed" // it did not start or broke down
)

// RealMachine reports whether the server is a real machine.
func (s *Server) RealMachine() bool { return s.env.Computer != nil }

// BootModes are the boot modes that the BMC accepts.
func (s *Server) BootModes() []string {
	if s.env.Computer != nil {
		return []string{s.env.Computer.Firmware().Mode}
	}
	return BootModes
}

// MediaFile returns the path of the image in the virtual CD drive, "" if the drive is empty. Only real machines have the file.
func (s *Server) MediaFile() string {
	if !s.Media().Inserted {
		return ""
	}
	return s.mediaPath()
}

func (s *Server) mediaPath() string { return filepath.Join(s.env.DataDir, "media", s.Name+".iso") }

// newMedia returns the file for an image that is being downloaded. keepMedia gives it its name.
func (s *Server) newMedia() (io.WriteCloser, error) {
	if s.env.Computer == nil {
		return discard{io.Discard}, nil
	}
	if err := os.MkdirAll(filepath.Dir(s.mediaPath()), 0o755); err != nil {
		return nil, err
	}
	return os.Create(s.mediaPath() + ".new")
}

// keepMedia replaces the file of the image that was inserted before. A machine that has that one open goes on reading it.
func (s *Server) keepMedia() error {
	if s.env.Computer == nil {
		return nil
	}
	return os.Rename(s.mediaPath()+".new", s.mediaPath())
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// runMachine starts the server's real machine when its predecessor, which has the same disk, is gone. The caller holds the lock.
func (s *Server) runMachine(from Source) {
	ctx, stop := context.WithCancel(context.Background()) // ended by stopSoftware and Halt
	turn, before, gone, button := s.generation, s.machineGone, make(chan struct{}), make(chan struct{}, 1)
	s.stop, s.machineGone, s.button = stop, gone, button
	s.agents.Go(func() {
		defer stop()
		if before != nil {
			<-before
		}
		ending := PowerLost
		if ctx.Err() == nil {
			ending = s.env.Computer.Run(ctx, s, from, button)
		}
		close(gone)
		s.machineEnded(turn, ending)
	})
}

// machineEnded follows a machine that ended by itself: after a reset it boots again, in the order that then holds.
func (s *Server) machineEnded(turn uint64, how Ending) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != turn || how == PowerLost {
		return
	}
	s.stopSoftware()
	if how == GuestReset {
		s.notePower(ResetType(how), On, On, true)
		s.post(0)
		return
	}
	s.notePower(ResetType(how), On, Off, true)
	s.power = Off
}

// pressButton presses the power button of the machine that runs. Its operating system decides what follows.
func (s *Server) pressButton() {
	select {
	case s.button <- struct{}{}:
	default: // it has been pressed already, or nothing runs
	}
}
