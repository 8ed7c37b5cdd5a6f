// Package ipmi is the IPMI front of a simulated server's BMC: IPMI 2.0 (RMCP+) over UDP, with the
// cipher suites 3 and 17, for the same machine as its Redfish. Sessions and packets are those of
// go-ipmi's reference BMC; what commands do to the machine is ours. ipmitool judges the front.
package ipmi

import (
	"context"
	"net"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/clock"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/google/uuid"

	"go.temper.dev/temper/internal/sim/machine"
)

// Config has the settings of a rack's fronts.
type Config struct {
	Latency     time.Duration // of each command
	MaxSessions int           // of one BMC
}

// Service makes fronts.
type Service struct {
	conf     Config
	registry *handlers.Registry // of all fronts: handlers find the machine in their context
}

// New returns a service.
func New(c Config) *Service {
	s := &Service{conf: c, registry: handlers.NewRegistry()}
	s.registry.Use(s.strike)
	handlers.RegisterAppHandlers(s.registry)
	handlers.RegisterSessionHandlers(s.registry)
	handlers.RegisterTransportHandlers(s.registry)
	registerChassis(s.registry)
	registerBMC(s.registry)
	registerSensors(s.registry)
	registerLog(s.registry)
	handlers.RegisterPayloadHandlers(s.registry)
	handlers.RegisterSOLHandlers(s.registry)
	return s
}

// Front is the IPMI front of one server.
type Front struct {
	server *server.Server
	bmc    *bmc.BMC
}

// The LAN channel, and the slot of the account: the first one that has a name.
const (
	lanChannel  = 1
	accountSlot = 2
)

// Front returns a front for the machine that answers on conn. It closes conn at the end.
func (s *Service) Front(m *machine.Server, conn net.PacketConn) (*Front, error) {
	var guid [16]byte
	if id, err := uuid.Parse(m.UUID); err == nil {
		guid = id
	}
	hw := &hardware{machine: m}
	b := bmc.New(bmc.DeviceInfo{DeviceID: 0x20, DeviceRevision: 1, FirmwareMajor: 1, IPMIVersion: 0x02}, guid, hw, bmc.WithV15Disabled(),
		bmc.WithCipherSuites([]types.CipherSuiteID{types.CipherSuiteID3, types.CipherSuiteID17}))
	b.Sessions = bmc.NewSessionStoreWithOptions(clock.Real, bmc.WithMaxSessions(s.conf.MaxSessions))
	b.Sessions.SetOnRemove(b.SOL.DeactivateBySession)
	// The BMC sends what the server prints 8 times, 300 ms apart, before it gives it up (table 26-5): clients may be slow.
	_ = b.SOL.Config().SetParam(uint8(types.SOLConfigParamSelector_SOLRetry), []byte{7, 30}) // these are allowed
	account, err := b.Users.Add(accountSlot, m.Username)
	if err != nil {
		return nil, err
	}
	m.OnPassword(func(password string) { account.SetPassword([]byte(password)) })
	account.Enabled = true
	account.ChannelAccess[lanChannel] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}
	hw.wire = newWire(m, conn, b.Sessions)
	return &Front{bmc: b, server: server.NewServer(b, hw.wire, server.WithHandlerRegistry(s.registry), server.WithServerBufferSize(maxPacket))}, nil
}

// Serve answers until Close.
func (f *Front) Serve(ctx context.Context) { _ = f.server.Serve(ctx) } // it ends with Close only

// Close ends Serve and closes the socket.
func (f *Front) Close() { _ = f.server.Close() }

// Sessions returns how many sessions there are.
func (f *Front) Sessions() int { return f.bmc.Sessions.Count() }

// hardware is what handlers find of a machine. The reference BMC's own handlers of hardware are
// not used.
type hardware struct {
	machine *machine.Server
	wire    *wire
	boot    bootOptions
	light   light
}

var _ hal.HAL = (*hardware)(nil)

func (*hardware) Chassis() hal.ChassisHAL { return nil }
func (*hardware) Sensors() hal.SensorHAL  { return nil }
func (*hardware) Storage() hal.StorageHAL { return nil }
func (*hardware) Network() hal.NetworkHAL { return nil }
func (*hardware) GPIO() hal.GPIOHAL       { return nil }
func (*hardware) I2C() hal.I2CHAL         { return nil }
func (*hardware) Close() error            { return nil }

// Console returns the serial console, for SOL.
func (h *hardware) Console() hal.ConsoleHAL { return serialConsole{h.machine} }

// hardwareOf returns the hardware that a command is for.
func hardwareOf(c *handlers.HandlerContext) *hardware { return c.BMC.HAL().(*hardware) }
