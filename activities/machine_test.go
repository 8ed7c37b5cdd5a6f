package activities_test

import (
	"context"
	"sync"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// machine is a server with a BMC that counts requests.
type machine struct {
	mu          sync.Mutex
	power       bmc.Power
	boot        bmc.Boot
	media       bmc.Media
	asked       []bmc.PowerRequest
	restarts    int
	interrupts  int   // NMIs that it got
	interrupted error // the answer to an NMI
	noMedia     bool  // its driver has no virtual media
	writes      int
	sends       int // how often a driver sends each request, because packets may be lost; 0 = once
	opened      int
	stuck       error                                                  // why its medium can't be ejected
	silent      bool                                                   // its answers are lost
	onOpen      func()                                                 // called when it is opened, unless nil
	onPowerRead func() error                                           // before its power state is read; nil = nothing happens
	answer      func(r bmc.PowerRequest) (takesEffect bool, err error) // nil = obeys
	reads       func() error                                           // the error of reading the power state; nil = none
	insert      func(url string) error                                 // nil = obeys
	boots       func(b bmc.Boot) bmc.Boot                              // changes an override that it is sent; nil = takes it as it is
	images      []string                                               // the images that it was sent

	progress  func() string // how far its boot is; nil = its driver does not read that
	inventory bmc.Inventory
	takes     time.Duration // how long it says that it takes for an answer; 0 = it does not say

	accounts *accounts // its accounts; nil = its driver can't change them

	watch  *watch  // its clock; nil = its driver can't set it
	setup  *setup  // its BIOS settings; nil = its driver can't change them
	lights *lights // what else its management has; nil = its driver has nothing of that

	storage *storage // its storage controller; nil = its driver makes no volumes

	rom      *rom   // its firmware; nil = its driver can't update it
	onUpdate func() // called when an update was begun, unless nil

	vendor *listener // what vendor methods need; nil = its driver has none

	follow func(ctx context.Context, happened func()) error // its events; nil = its driver has none

	within    time.Duration // how long its answers are awaited
	inherited time.Duration // how long others awaited them, when it was opened last
}

func (m *machine) Validate(map[string]any) error { return nil }
func (m *machine) Close(context.Context)         {}
func (m *machine) Open(_ context.Context, t bmc.Target) (bmc.Session, error) {
	m.opened++
	if m.onOpen != nil {
		m.onOpen()
	}
	m.inherited = t.AnswerWithin
	s := &session{machine: m, target: t}
	out := bmc.Session{PowerControl: s, Restarter: s, BootDevice: s, VirtualMedia: s, Inspector: s, Interrupter: s}
	if m.within > 0 {
		out.AnswerWithin = func() time.Duration { m.mu.Lock(); defer m.mu.Unlock(); return m.within }
	}
	out.BootProgress = m.progress
	if m.follow != nil {
		out.EventSource = follower(m.follow)
	}
	if m.vendor != nil {
		v := vendorSession{s, m.vendor}
		out.Subscriber, out.RawCommander, out.ManagerRestarter, out.DriveEjector = v, v, v, v
	}
	if m.watch != nil {
		out.Clock = clockSession{s, m.watch}
	}
	if m.setup != nil {
		out.BIOSControl = biosSession{s, m.setup}
	}
	if m.rom != nil {
		r := romSession{s, m.rom}
		out.FirmwareControl, out.TaskReader = r, r
	}
	if m.accounts != nil {
		a := &accountSession{session: s, accounts: m.accounts}
		a.user, _ = t.Info["redfish_username"].(string)
		a.with, _ = t.Info["redfish_password"].(string)
		out.Accounts = a
	}
	if m.lights != nil {
		l := lightSession{s, m.lights}
		out.BootModes, out.Indicators, out.MediaDrives, out.DriveEjector = l, l, l, l
	}
	if m.storage != nil {
		v := storageSession{s, m.storage}
		out.Volumes, out.TaskReader = v, v
	}
	if m.noMedia {
		out.VirtualMedia = nil
	}
	return out, nil
}

type follower func(ctx context.Context, happened func()) error

func (f follower) FollowEvents(ctx context.Context, happened func()) error { return f(ctx, happened) }

type session struct {
	*machine
	target bmc.Target
}

func (s *session) write(ctx context.Context, name string) error {
	for i := range max(s.sends, 1) {
		if _, err := s.target.Permit(ctx, bmc.Request{Name: name, AnswerWithin: s.within, Again: i > 0}); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return nil
}

func (s *session) Power(ctx context.Context) (bmc.Power, error) {
	if s.onPowerRead != nil {
		if err := s.onPowerRead(); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return "", fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))
	}
	if s.reads != nil {
		if err := s.reads(); err != nil {
			return "", err
		}
	}
	if s.takes > 0 {
		bmc.Heard(ctx, s.takes, 2*s.takes)
	}
	return s.power, nil
}

func (s *session) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	if err := s.write(ctx, r.Name()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	effect, err := true, error(nil)
	if s.answer != nil {
		effect, err = s.answer(r)
	}
	if effect {
		s.power = bmc.PowerOff
		if r == bmc.RequestOn {
			if s.setup != nil && s.power != bmc.PowerOn {
				s.setup.boot()
			}
			if s.rom != nil && s.power != bmc.PowerOn {
				s.rom.boot()
			}
			s.power = bmc.PowerOn
			if !s.boot.Persistent {
				s.boot.Device = bmc.DeviceNone
			}
		}
	}
	return err
}

func (s *session) Restart(ctx context.Context) error {
	if err := s.write(ctx, bmc.NameRestart); err != nil {
		return err
	}
	s.restarts++
	return nil
}

func (s *session) InjectNMI(ctx context.Context) error {
	if err := s.write(ctx, bmc.NameNMI); err != nil {
		return err
	}
	s.interrupts++
	return s.interrupted
}

func (s *session) Boot(context.Context) (bmc.Boot, error) { return s.boot, nil }
func (*session) BootDevices(context.Context) ([]bmc.Device, error) {
	return []bmc.Device{bmc.DevicePXE, bmc.DeviceDisk, bmc.DeviceCDROM}, nil
}

func (s *session) SetBoot(ctx context.Context, b bmc.Boot) error {
	if err := s.write(ctx, b.Name()); err != nil {
		return err
	}
	if s.boots != nil {
		b = s.boots(b)
	}
	s.boot = b
	return nil
}

func (s *session) Media(context.Context) (bmc.Media, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.media, nil
}

func (s *session) InsertMedia(ctx context.Context, url string) error {
	if err := s.write(ctx, bmc.NameInsert(url)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.images = append(s.images, url)
	if s.machine.insert != nil {
		return s.machine.insert(url)
	}
	s.media = bmc.Media{Inserted: true, Image: url}
	return nil
}

func (s *session) EjectMedia(ctx context.Context) error {
	if s.stuck != nil {
		return s.stuck
	}
	if err := s.write(ctx, bmc.NameEject); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.media = bmc.Media{}
	return nil
}
func (s *session) Inspect(context.Context) (bmc.Inventory, error) { return s.inventory, nil }

// shows shows a medium.
func (m *machine) shows(image string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.media = bmc.Media{Inserted: true, Image: image}
}
