package redfish

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
)

// Inspect reads the inventory. What a BMC does not report stays empty, and a resource
// that can't be read is left out. But if the BMC stops answering, Inspect fails, because
// half an inventory would look like a smaller server.
func (s *session) Inspect(ctx context.Context) (bmc.Inventory, error) {
	ctx, done := withBudget(ctx, inspectTime)
	defer done()
	inv, err := s.inspect(ctx)
	if err != nil {
		return bmc.Inventory{}, s.wrap("inspect", err)
	}
	return inv, nil
}

// inspection is an inventory while it is read.
type inspection struct {
	*session
	sys     system
	path    string // of the system
	quirks  effect
	inv     bmc.Inventory
	enough  time.Time        // optional parts are read until then
	byClass []bmc.PCIDevice  // that are accelerators by their class
	seen    map[bmc.Part]int // elements of optional parts
}

func (s *session) inspect(ctx context.Context) (bmc.Inventory, error) {
	in := &inspection{session: s, enough: time.Now().Add(inspectTime), seen: map[bmc.Part]int{}}
	if until, ok := ctx.Deadline(); ok {
		in.enough = time.Now().Add(time.Until(until) * 3 / 4)
	}
	sys, err := s.readSystem(ctx)
	if err != nil {
		return bmc.Inventory{}, err
	}
	in.sys, in.path = sys.system, sys.path
	if in.quirks, err = s.quirks(ctx, in.sys, in.path); err != nil {
		return bmc.Inventory{}, err
	}
	in.describe()
	// Without the first three there is no inventory; the others are optional.
	for _, read := range []func(context.Context) error{
		in.readProcessors, in.readDisks, in.readNICs,
		in.readMemory, in.readSecureBoot, in.readAdapters, in.readNetworkBoot, in.readSwitches, in.readPCIDevices, in.readGPUs, in.readFirmware,
	} {
		if err := read(ctx); err != nil {
			return bmc.Inventory{}, err
		}
	}
	return in.inv, nil
}

// describe sets what the system itself says.
func (in *inspection) describe() {
	sys := in.sys
	in.inv = bmc.Inventory{
		CPUs:         int(sys.ProcessorSummary.v.LogicalProcessorCount),
		MemoryMiB:    int64(sys.MemorySummary.v.TotalSystemMemoryGiB * 1024),
		Manufacturer: sys.Manufacturer.stored(),
		Model:        sys.Model.stored(),
		PartNumber:   sys.PartNumber.short(),
		SKU:          sys.SKU.short(),
		Serial:       sys.SerialNumber.stored(),
		AssetTag:     sys.AssetTag.short(),
		SystemUUID:   strings.ToLower(sys.UUID.stored()),
		BIOSVersion:  sys.BIOSVersion.short(),
		BootMode:     modeFromRedfish(sys.Boot.v.Mode),
	}
	if sku := sys.SKU.stored(); in.quirks.serialFromSKU && sku != "" {
		in.inv.Serial = sku
	}
	for _, m := range sys.TrustedModules {
		if !m.Status.v.absent() && m.InterfaceType != "" {
			enabled := m.Status.v.State == "" || m.Status.v.State == looseString(schemas.EnabledState)
			in.inv.TPM = &bmc.TPM{Version: m.InterfaceType.short(), Firmware: m.FirmwareVersion.short(), Enabled: enabled}
			break
		}
	}
}

type trustedModule struct {
	InterfaceType   looseString
	FirmwareVersion looseString
	Status          loose[status]
}

// absent reports whether the resource is an empty socket or bay.
func (s status) absent() bool { return s.State == looseString(schemas.AbsentState) }

// each calls use for each member of a collection that can be read.
func each[T any](ctx context.Context, s *session, collection link, use func(T)) error {
	if collection == "" {
		return nil
	}
	paths, err := s.members(ctx, string(collection))
	if err != nil && !skippable(err) {
		return err
	}
	return eachOf(ctx, s, paths, use)
}

func eachOf[T any](ctx context.Context, s *session, paths []string, use func(T)) error {
	for _, path := range paths[:min(len(paths), maxMembers)] {
		var member T
		_, err := s.read(ctx, path, &member)
		switch {
		case err == nil:
			use(member)
		case !skippable(err):
			return err
		}
	}
	return nil
}

// Optional parts leave so many requests and bytes of the call's budget.
const (
	spareRequests = 20
	spareBytes    = 2 * maxBody
)

// room reports whether there is time and budget for one more resource of an optional part.
func (in *inspection) room(ctx context.Context) bool {
	b, ok := ctx.Value(budgetKey{}).(*budget)
	return time.Now().Before(in.enough) && (!ok || b.requests.Load() > spareRequests && b.bytes.Load() > spareBytes)
}

// unread notes that a part is not whole.
func (in *inspection) unread(part bmc.Part) {
	if !slices.Contains(in.inv.Incomplete, part) {
		in.inv.Incomplete = append(in.inv.Incomplete, part)
	}
}

// tryRead reads a resource of an optional part, and reports whether it could be read. If the BMC has no such resource, it
// has no such part. If it refuses the resource, or there is no room for it, the part is noted as unread. An error means that the
// BMC does not answer.
func tryRead[T any](ctx context.Context, in *inspection, part bmc.Part, path string, into *T) (bool, error) {
	if path == "" {
		return false, nil
	}
	if !in.room(ctx) {
		in.unread(part)
		return false, nil
	}
	_, err := in.read(ctx, path, into)
	var no *refusal
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &no) && no.status == http.StatusNotFound:
		return false, nil
	case skippable(err) || serverError(err):
		in.unread(part)
		return false, nil
	}
	return false, err
}

// tryMembers returns the paths of the members of a collection of an optional part. If there are more than maxParts, the part is
// noted as unread.
func (in *inspection) tryMembers(ctx context.Context, part bmc.Part, collection link) ([]string, error) {
	if collection == "" {
		return nil, nil
	}
	if !in.room(ctx) {
		in.unread(part)
		return nil, nil
	}
	paths, err := in.membersUpTo(ctx, string(collection), maxParts+1)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusNotFound:
		return nil, nil
	case err != nil && (skippable(err) || serverError(err)):
		in.unread(part)
		return nil, nil
	case len(paths) > maxParts:
		in.unread(part)
	}
	return paths[:min(len(paths), maxParts)], err
}

// tryEach calls use for each resource of an optional part that can be read. One part has at most maxParts elements, from however
// many collections they come.
func tryEach[T any](ctx context.Context, in *inspection, part bmc.Part, paths []string, use func(T)) error {
	for _, path := range paths {
		if in.seen[part] >= maxParts {
			in.unread(part)
			return nil
		}
		var member T
		ok, err := tryRead(ctx, in, part, path, &member)
		if err != nil {
			return err
		}
		if ok {
			in.seen[part]++
			use(member)
		}
	}
	return nil
}
