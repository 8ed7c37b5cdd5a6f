package intent

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
	"go.temper.dev/temper/internal/text"
)

// probeTimeout bounds what is fetched of an image before a request is answered, the checksum file included.
const probeTimeout = 5 * time.Second

// ImageCheck is what is known of an image and of the disk on which it would be written, before anything is written.
type ImageCheck struct {
	Refusals []error  // why the image can't be written to the node
	Warnings []error  // why the image could not be read, so that it may still be wrong
	Notes    []string // what else could not be checked, and why, and what has no effect
}

// CheckImage fetches what can be checked of the image that instance_info of n names, and compares its size with the disk of n's
// inventory. Dry runs, requests and Ironic's validate use it. What could not be found out becomes a warning or a note and not a refusal: the agent may
// reach a server that this process can't reach. The check is empty if instance_info is not valid, which ValidateInterface says, or
// if n's deploy interface writes no image. authorization is the secret for the image's server if the request has one; "" = it has none.
func (s *Service) CheckImage(ctx context.Context, n *node.Node, authorization string) (ImageCheck, error) {
	if !n.Implementation("deploy").WritesImage {
		return ImageCheck{}, nil
	}
	info, err := image.Parse(n.UUID, n.InstanceInfo, n.DriverInfo, s.Images)
	if err != nil {
		return ImageCheck{}, nil //nolint:nilerr // ValidateInterface says so
	}
	if authorization != "" {
		info.Authorization = authorization
	}
	var out ImageCheck
	if info.Unused != "" {
		out.note("%s has no effect: the image is verified with image_os_hash_value (%s), which takes precedence as in Ironic", info.Unused, info.Algo)
	}
	size := s.probe(ctx, info, &out)
	inventory, _, err := s.Store.Inventory(ctx, n.UUID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return ImageCheck{}, err
	}
	out.compare(n, inventory, size, info.RootGB)
	return out, nil
}

// probe returns how many bytes the image needs on a disk, 0 if that is not known.
func (s *Service) probe(ctx context.Context, info image.Info, out *ImageCheck) int64 {
	if s.ProbeImage == nil {
		return 0
	}
	if !info.FetchedByAgents() {
		out.note("the image was not read: temper boot fetches it when the node is deployed")
		return 0
	}
	if info.Authorization == mask.Masked {
		out.Warnings = append(out.Warnings, fault.Coded(fault.ImageUnreachable,
			"the image was not read, because its server needs the secret that is stored: a request that contains image_request_authorization_secret reads it"))
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	size, err := s.ProbeImage(ctx, info)
	switch {
	case err == nil && size == 0:
		out.note("the size of the image is not known: its server does not tell it")
	case fault.Is(err, fault.Invalid):
		out.Refusals = append(out.Refusals, fault.Coded(fault.ImageInvalid, "%w", err))
	case err != nil:
		out.Warnings = append(out.Warnings, fault.CodedAs(fault.KindOf(err), fault.CodeOf(err), "the image could not be read from here: %w", err))
	}
	return size
}

// compare compares an image of size bytes (0 = not known) and root_gb with the disk of n to which it would be written.
func (c *ImageCheck) compare(n *node.Node, inventory map[string]any, size, rootGB int64) {
	disk, known, err := admission.RootDisk(n, inventory)
	_, some := admission.LargestDisk(n, inventory)
	tooSmall := admission.FitsDisk(n, inventory, size)
	switch {
	case err != nil:
		c.Refusals = append(c.Refusals, err)
	case tooSmall != nil:
		c.Refusals = append(c.Refusals, fault.CodedAs(fault.Invalid, fault.DiskTooSmall, "%w", tooSmall))
	case known && rootGB<<30 > disk.Size:
		wanted, has := text.Sizes(float64(rootGB<<30), float64(disk.Size))
		c.Refusals = append(c.Refusals, fault.Coded(fault.ValidationFailed, "root_gb of node %s is %d, which is %s, and disk %s has %s.", cmp.Or(n.Name, n.UUID), rootGB, wanted, disk.Name, has))
	case known:
	case inventory == nil && some:
		c.note("the size of the disk was not checked: the node was never inspected; the image fits into properties/local_gb")
	case inventory == nil && admission.Hinted(n):
		c.note("the root device hints in %s and the size of the disk were not checked: the node was never inspected, so its disks are not known. "+
			"The agent checks the hints, and the deploy fails if no disk fits them", rootdevice.Where(n.InstanceInfo))
	case inventory == nil:
		c.note("the size of the disk was not checked: the node was never inspected, so its disks are not known")
	default:
		c.note("the size of the disk was not checked: the node's inventory does not say which disk it will be")
	}
}

func (c *ImageCheck) note(pattern string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(pattern, args...))
}

// TryImage is CheckImage for the image that p would write to n. It is empty if p writes none.
func (s *Service) TryImage(ctx context.Context, p *Provision, n *node.Node) (ImageCheck, error) {
	if p == nil || !p.Verb.Deploys() {
		return ImageCheck{}, nil
	}
	after, secrets, err := p.Applied(n)
	if err != nil {
		return ImageCheck{}, nil //nolint:nilerr // Obstacles and Decide say so
	}
	authorization, _ := secrets["instance_info/image_request_authorization_secret"].(string)
	check, err := s.CheckImage(ctx, after, authorization)
	for i, wrong := range check.Refusals {
		if fault.CodeOf(wrong) == fault.ImageInvalid {
			check.Refusals[i] = misfit(n, p.Verb.Kind.Spec(), wrong)
		}
	}
	return check, err
}

// CheckedImage is the check of an image, and the fields of the node that it depends on.
type CheckedImage struct {
	ImageCheck
	instanceInfo, properties map[string]any
}

// imageOf checks the image that p would write to the node ident, before the node's row is locked: an image server may be slow.
// The check is empty if the request writes no image, or is refused anyway.
func (s *Service) imageOf(ctx context.Context, p *Provision, ident string, fl *Fleet) (CheckedImage, error) {
	if p == nil || !p.Verb.Deploys() {
		return CheckedImage{}, nil
	}
	n, err := s.Store.Node(ctx, ident)
	if err != nil {
		return CheckedImage{}, err
	}
	n = s.unheld(n)
	if r, err := s.Decide(p, n, fl); err != nil || r.Open == nil {
		return CheckedImage{}, nil //nolint:nilerr // it is decided again under the lock
	}
	check, err := s.TryImage(ctx, p, n)
	return CheckedImage{check, n.InstanceInfo, n.Properties}, err
}

// RetriedImage is the check of the image that a retry of old would write, made as imageOf makes it.
func (s *Service) RetriedImage(ctx context.Context, old *node.Operation) (CheckedImage, error) {
	v := old.Kind.Verb()
	if !v.Deploys() {
		return CheckedImage{}, nil
	}
	n, err := s.Store.Node(ctx, old.NodeUUID)
	if err != nil {
		return CheckedImage{}, err
	}
	if n = s.unheld(n); n.Operation != nil { // it is refused anyway
		return CheckedImage{}, nil
	}
	check, err := s.TryImage(ctx, &Provision{Verb: v}, n)
	return CheckedImage{check, n.InstanceInfo, n.Properties}, err
}

// Refusal returns why an operation that writes the image is not opened on n, nil if nothing is known against it. If n was changed
// since the check it returns nil, because the check no longer fits; the operation then finds out.
func (c CheckedImage) Refusal(n *node.Node) error {
	if len(c.Refusals) == 0 || !reflect.DeepEqual(c.instanceInfo, n.InstanceInfo) || !reflect.DeepEqual(c.properties, n.Properties) {
		return nil
	}
	return c.Refusals[0]
}
