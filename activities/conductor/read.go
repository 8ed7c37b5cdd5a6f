package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// ReadInput says what to read of which node.
type ReadInput struct {
	Node string       `json:"node"` // uuid
	What node.Reading `json:"what"`
	ID   string       `json:"id,omitempty"` // of what is read, if there are several
}

// ReadBMC reads something from a node's BMC for a client who waits for it. It takes no claim, because it changes nothing.
// Temporal does not retry it. A BMC that is known to be silent is asked only when it is due: clients that wait for dead BMCs must
// not take slots from the steps.
func (s *Steps) ReadBMC(ctx context.Context, in ReadInput) (node.BMCReading, error) {
	out, err := s.readBMC(ctx, in)
	if err != nil {
		return node.BMCReading{}, activities.NonRetryable(err)
	}
	return out, nil
}

func (s *Steps) readBMC(ctx context.Context, in ReadInput) (out node.BMCReading, err error) {
	n, err := s.Store.Node(ctx, in.Node)
	if err != nil {
		return out, err
	}
	if silent := n.SilentBMC(); silent != nil && s.Settings.AwayTimeout > 0 && time.Now().Before(silent.NextAt) {
		return out, notAskedNow(silent)
	}
	session, err := s.openToRead(ctx, n)
	if err != nil {
		return out, err
	}
	defer session.Close()
	switch in.What {
	case node.ReadBootDevice, node.ReadBootDevices:
		if session.BootDevice == nil {
			return out, n.Unsupported("management")
		}
		out, err = readBoot(ctx, session, in.What)
	case node.ReadIndicators:
		if session.Indicators == nil {
			return out, n.Unsupported(node.StepSetIndicator)
		}
		out.Indicators, err = session.ReadIndicators(ctx)
	case node.ReadMedia:
		if session.MediaDrives == nil {
			return out, n.Unsupported(node.StepAttachMedia)
		}
		out.Media, err = readMedia(ctx, session)
	case node.ReadSubscriptions, node.ReadSubscription:
		if session.Subscriber == nil {
			return out, n.Unsupported("vendor")
		}
		out, err = readSubscriptions(ctx, session, in)
	default:
		err = fault.New(fault.Invalid, "conductor %s can't read %q: use one version of temper for all roles", s.Settings.Conductor, in.What)
	}
	s.Reach.heard(n.UUID, err)
	return out, err
}

// openToRead opens the BMC of a node that this conductor has not claimed.
func (s *Steps) openToRead(ctx context.Context, n *node.Node) (bmc.Session, error) {
	driver, ok := s.Drivers[n.Driver]
	if !ok {
		return bmc.Session{}, fault.New(fault.NoValidHost, "conductor %s has no driver %s", s.Settings.Conductor, n.Driver)
	}
	sealed, err := s.Store.Credentials(ctx, n)
	if err != nil {
		return bmc.Session{}, err
	}
	return driver.Open(ctx, bmc.Target{Node: n.UUID, Info: secret.DriverInfo(n, sealed), LastPower: powerOf(n.PowerState)})
}

// AskBMC reads the power state of a node, to see whether its BMC answers (Reach.Ask). It records nothing.
func (s *Steps) AskBMC(ctx context.Context, uuid string) error {
	n, err := s.Store.Node(ctx, uuid)
	if err != nil {
		return err
	}
	session, err := s.openToRead(ctx, n)
	if err != nil {
		return err
	}
	defer session.Close()
	if session.PowerControl == nil {
		return n.Unsupported("power")
	}
	_, err = session.Power(ctx)
	return err
}

func readBoot(ctx context.Context, session bmc.BootDevice, what node.Reading) (out node.BMCReading, err error) {
	if what == node.ReadBootDevice {
		b, err := session.Boot(ctx)
		out.BootDevice = node.BootDevice{Device: string(b.Device), Persistent: b.Persistent}
		return out, err
	}
	all, err := session.BootDevices(ctx)
	for _, d := range all {
		out.BootDevices = append(out.BootDevices, string(d))
	}
	return out, err
}

// readMedia reads the virtual drives. Their URLs go through Temporal without what may be secret.
func readMedia(ctx context.Context, session bmc.MediaDrives) ([]node.MediaDrive, error) {
	_, all, err := session.ReadDrives(ctx, "")
	for i := range all {
		all[i].Image = mask.URLs(all[i].Image)
	}
	return all, err
}

// readSubscriptions reads all subscriptions or one. The answer goes through Temporal, so that what may be secret is masked.
func readSubscriptions(ctx context.Context, session bmc.Subscriber, in ReadInput) (out node.BMCReading, err error) {
	if in.What == node.ReadSubscription {
		one, err := session.Subscription(ctx, in.ID)
		one.Destination, one.Context = mask.Path(one.Destination), mask.URLs(one.Context)
		out.Subscription = &one.EventSubscription
		return out, err
	}
	path, all, err := session.Subscriptions(ctx)
	out.Subscriptions = &node.EventSubscriptions{Path: path, Members: []string{}}
	for _, one := range all {
		out.Subscriptions.Members = append(out.Subscriptions.Members, one.Path)
	}
	return out, err
}
