package intent

import (
	"context"
	"fmt"
	"time"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// Obstacles returns everything that is in the way of p on n, where Decide returns the first thing. It reads
// only its arguments.
func (s *Service) Obstacles(p *Provision, n *node.Node, fl *Fleet) []error {
	all := admission.Obstacles(n, p.Verb, fl.Reservation(n))
	add := func(err error) {
		if err != nil {
			all = append(all, err)
		}
	}
	add(p.check())
	if p.Verb.Kind == "" { // it opens no operation, so it needs no conductor
		return all
	}
	add(fl.RequireCovered(n))
	after, _, err := p.Applied(n)
	if err != nil {
		return append(all, err)
	}
	noAgent := p.DisableRamdisk != nil && *p.DisableRamdisk
	misfits := s.misfits(after, p.Verb.Kind, noAgent)
	all = append(all, misfits...)
	asked, err := p.steps(p.Verb.Kind)
	if err == nil && len(misfits) == 0 {
		_, err = s.plan(after, p.Verb.Kind, asked, p)
	}
	add(err)
	return all
}

// PowerObstacles is Obstacles for a power request.
func (s *Service) PowerObstacles(n *node.Node, fl *Fleet, target node.PowerState) (all []error) {
	_, admitted := admission.Power(n, target, fl.Reservation(n))
	for _, err := range []error{admitted, fl.RequireCovered(n), s.Drivers.Validate(n.Driver, n.DriverInfo)} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// misfits returns what of the interfaces that an operation of kind k needs is not valid, and which
// traits the node lacks.
func (s *Service) misfits(n *node.Node, k node.OperationKind, noAgent bool) (all []error) {
	spec := k.Spec()
	for _, i := range interfacesOf(spec, noAgent) {
		err := s.ValidateInterface(n, i)
		if err != nil {
			all = append(all, misfit(n, spec, err))
		}
		if n.Implementation(i).WritesImage {
			if lacks := validateInstanceTraits(n); lacks != nil && (err == nil || fault.Text(lacks) != fault.Text(err)) {
				all = append(all, misfit(n, spec, lacks))
			}
		}
	}
	return all
}

// probeTimeout bounds what a dry run fetches of an image, the checksum file included.
const probeTimeout = 15 * time.Second

// TryImage fetches what can be checked of the image that p would write to n, and compares its size with the disk of
// n's inventory. Conductors fetch the same later, by the same rules. notes are what could not be checked, and why.
func (s *Service) TryImage(ctx context.Context, p *Provision, n *node.Node) (wrong []error, notes []string, err error) {
	after, secrets, err := p.Applied(n)
	if err != nil || !p.Verb.Deploys() || !n.Implementation("deploy").WritesImage {
		return nil, nil, nil //nolint:nilerr // Obstacles says so
	}
	info, err := image.Parse(after.UUID, after.InstanceInfo, after.DriverInfo, s.Images)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // Obstacles says so
	}
	size := int64(0)
	if given, ok := secrets["instance_info/image_request_authorization_secret"].(string); ok {
		info.Authorization = given
	}
	switch {
	case s.ProbeImage == nil:
	case info.Authorization == mask.Masked:
		notes = append(notes, "the image was not fetched, because its server wants a stored secret")
	default:
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		if size, err = s.ProbeImage(ctx, info); err != nil {
			wrong = append(wrong, fault.CodedAs(fault.Invalid, fault.ImageInvalid, "%s%w", fmt.Sprintf(p.Verb.Kind.Spec().Refusal, n.UUID), err))
		}
	}
	inventory, _, err := s.Store.Inventory(ctx, n.UUID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, nil, err
	}
	disk, known, err := admission.RootDisk(after, inventory)
	switch {
	case err != nil:
		wrong = append(wrong, err)
	case !known:
		if largest, some := admission.LargestDisk(after, inventory); some && size > largest.Size {
			wrong = append(wrong, tooSmall(n, size, largest))
			break
		}
		notes = append(notes, "the size of the disk was not checked: the node's inventory does not say which disk it will be")
	case size > disk.Size:
		wrong = append(wrong, tooSmall(n, size, disk))
	case info.RootGB<<30 > disk.Size:
		wrong = append(wrong, fault.Coded(fault.ValidationFailed, "root_gb of node %s is %d, and disk %s has %d GiB.", n.UUID, info.RootGB, disk.Name, disk.Size>>30))
	}
	return wrong, notes, nil
}

func tooSmall(n *node.Node, size int64, disk admission.Disk) error {
	return fault.CodedAs(fault.Invalid, fault.DiskTooSmall, "The image of node %s needs %d MiB, and disk %s has %d MiB.",
		n.UUID, (size+1<<20-1)>>20, disk.Name, disk.Size>>20)
}

// Notes are what somebody should know of p on n although it refuses nothing.
func (s *Service) Notes(r *node.Request, n *node.Node) (out []string) {
	if len(n.Owed) > 0 && r != nil && r.Open != nil {
		what := "stays to be undone after it"
		if (&node.Operation{Kind: r.Open.Kind, Steps: r.Open.Steps}).UndoesAll() {
			what = "is undone by its own steps"
		}
		out = append(out, fmt.Sprintf("what earlier work left (%s) %s", node.UndoList(n.Owed), what))
	}
	return out
}
