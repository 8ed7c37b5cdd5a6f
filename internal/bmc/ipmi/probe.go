package ipmi

import (
	"context"
	"fmt"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/command/storage"
	"github.com/bougou/go-ipmi/pkg/command/transport"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// probeTime limits one probe: reading the records of some hundred sensors takes a command or more for each.
const probeTime = 2 * time.Minute

// Probe is what a BMC tells about itself, and what the driver can do with it.
type Probe struct {
	Manufacturer   string `json:"manufacturer"` // by its number, as far as that is known
	ManufacturerID uint32 `json:"manufacturer_id"`
	Product        uint16 `json:"product_id"`
	Device         uint8  `json:"device_id"`
	Firmware       string `json:"firmware"`
	IPMI           string `json:"ipmi_version"`
	CipherSuite    int    `json:"cipher_suite"` // of the session
	Privilege      string `json:"privilege"`    // of the session
	// Findings say, for each thing that Temper asks of a BMC, whether it will work.
	Findings []bmc.Finding `json:"operations"`
}

// Probe asks the BMC what it is and what it can do. It changes nothing, but logs in. An error means that there is no BMC that
// can be talked to; everything else that does not work is a finding.
func (d *Driver) Probe(ctx context.Context, t bmc.Target) (*Probe, error) {
	s, release, err := d.converse(ctx, t)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	p, err := s.probe(ctx)
	return p, s.wrap("probe the BMC", err)
}

func (s *session) probe(ctx context.Context) (*Probe, error) {
	var id app.GetDeviceIDResponse
	if err := s.read(ctx, &app.GetDeviceIDRequest{}, &id); err != nil {
		return nil, err
	}
	suite, err := s.endpoint.suiteInUse(ctx)
	if err != nil {
		return nil, err
	}
	p := &Probe{
		ManufacturerID: id.ManufacturerID, Manufacturer: types.OEM(id.ManufacturerID).String(), Product: id.ProductID, Device: id.DeviceID,
		Firmware: fmt.Sprintf("%d.%02d", id.MajorFirmwareRevision, id.MinorFirmwareRevision),
		IPMI:     fmt.Sprintf("%d.%d", id.MajorIPMIVersion, id.MinorIPMIVersion), CipherSuite: int(suite), Privilege: s.endpoint.info.privilegeName(),
	}
	for _, find := range []func(context.Context) bmc.Finding{
		s.findPower, s.findSwitch, s.findBoot, s.findConsole, s.findSensors, s.findEvents,
	} {
		p.Findings = append(p.Findings, find(ctx))
	}
	return p, nil
}

// suiteInUse returns the cipher suite that the BMC took last.
func (e *endpoint) suiteInUse(ctx context.Context) (types.CipherSuiteID, error) {
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
		return e.suite, nil
	case <-ctx.Done():
		return 0, fault.New(fault.Unreachable, "no time was left to probe it")
	}
}

// privilegeName returns Ironic's name of the privilege level of the session.
func (i info) privilegeName() string {
	for name, level := range privLevels {
		if level == i.privilege {
			return name
		}
	}
	return ""
}

func (s *session) findPower(ctx context.Context) bmc.Finding {
	p, err := s.power(ctx)
	return bmc.Found("read the power state", err, "%s", p)
}

// findSwitch tells whether the privilege level of the session suffices for Chassis Control (IPMI 2.0, appendix G).
func (s *session) findSwitch(context.Context) bmc.Finding {
	var err error
	if s.endpoint.info.privilege < types.PrivilegeLevelOperator {
		err = fault.New(fault.Refused, "that needs the privilege level OPERATOR, and %s is %s", propPrivLevel, s.endpoint.info.privilegeName())
	}
	return bmc.Found("switch on and off", err, "the privilege level %s may do that", s.endpoint.info.privilegeName())
}

func (s *session) findBoot(ctx context.Context) bmc.Finding {
	b, err := s.Boot(ctx)
	return bmc.Found("choose the boot device", err, "now %s", b)
}

// thisChannel stands for the channel over which a command comes.
const thisChannel = 0x0e

// findConsole reads whether Serial over LAN is enabled. Whether another session has the console is not asked.
func (s *session) findConsole(ctx context.Context) bmc.Finding {
	request := &transport.GetSOLConfigParamRequest{ChannelNumber: thisChannel, ParamSelector: types.SOLConfigParamSelector_SOLEnable}
	var answer transport.GetSOLConfigParamResponse
	var enable types.SOLConfigParam_SOLEnable
	err := s.read(ctx, request, &answer)
	if err == nil {
		if bad := enable.Unpack(answer.ParamData); bad != nil {
			err = malformed(request.Command(), bad)
		}
	}
	if err == nil && !enable.EnableSOLPayload {
		err = fault.New(fault.Refused, "Serial over LAN is disabled in the BMC")
	}
	return bmc.Found("open the serial console", err, "Serial over LAN is enabled")
}

func (s *session) findSensors(ctx context.Context) bmc.Finding {
	all, err := s.sensors(ctx)
	if err == nil && len(all) == 0 {
		err = fault.New(fault.Refused, "the BMC lists no sensors")
	}
	return bmc.Found("read the sensors", err, "%d sensors", len(all))
}

func (s *session) findEvents(ctx context.Context) bmc.Finding {
	var log storage.GetSELInfoResponse
	err := s.read(ctx, &storage.GetSELInfoRequest{}, &log)
	words := fmt.Sprintf("%d entries, %d bytes free", log.Entries, log.FreeBytes)
	if log.OperationSupport.Overflow {
		words += "; it was full and has lost entries"
	}
	return bmc.Found("read the event log", err, "%s", words)
}
