package redfish

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/recording"
)

const (
	maxRecorded   = 2000     // paths that are read for a recording; a large machine has some 1,000
	maxLinked     = 20_000   // paths that are known, read or not
	maxRecordSize = 32 << 20 // bytes of the answers; a recording may have twice as many
	recordTime    = 30 * time.Minute
)

// unrecorded are parts of the paths that are left out: they are long, say nothing about the machine, or
// are about people.
var unrecorded = []string{"/Entries", "/JsonSchemas", "/Registries", "/Sessions/", "/TelemetryService/MetricReports/", "/AccountService/Accounts/", "/EventService/Subscriptions/", "/TaskService/Tasks/"}

// Record reads all resources of the BMC that lead from one to the next, at most 2,000 and 32 MiB, and returns them masked
// (recording.Recording.Mask). It sends nothing but GET, but for the login. A resource that can't be read is
// recorded with the status of the refusal.
func (d *Driver) Record(ctx context.Context, t bmc.Target, progress func(read, known int)) (*recording.Recording, error) {
	s, end, err := d.converse(ctx, t)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	r, err := s.record(ctx, progress)
	if err != nil {
		return nil, s.wrap("record the BMC", err)
	}
	i := s.endpoint.info
	r.Mask(i.password, i.base.Hostname())
	return r, nil
}

func (s *session) record(ctx context.Context, progress func(read, known int)) (*recording.Recording, error) {
	sys, err := s.readSystem(ctx)
	if err != nil {
		return nil, err
	}
	id, root, err := s.selfDescription(ctx, sys.system)
	if err != nil {
		return nil, err
	}
	r := recording.New()
	r.System = recording.Path(sys.path)
	r.Vendor, r.Product, r.Manufacturer, r.Model, r.Firmware = id.vendor, string(root.Product), id.manufacturer, id.model, id.firmware
	queue, known := []string{recording.Root, r.System}, map[string]bool{recording.Root: true, r.System: true}
	size := 0
	for asked := 0; len(queue) > 0 && asked < maxRecorded && size < maxRecordSize; asked, queue = asked+1, queue[1:] {
		var body recording.Resource
		a, err := s.read(ctx, queue[0], &body)
		var no *refusal
		switch {
		case errors.As(err, &no) && skippable(err):
			r.Refused[queue[0]] = no.status
		case err != nil && !skippable(err):
			return nil, err
		case err == nil:
			r.Resources[queue[0]], size = body, size+len(a.body)
			if allow := a.header.Get("Allow"); allow != "" {
				r.Allow[queue[0]] = printable(allow, maxStored)
			}
			for _, at := range recording.LinksIn(body) {
				if !known[at] && len(known) < maxLinked && recorded(at) {
					known[at] = true
					queue = append(queue, at)
				}
			}
		}
		progress(len(r.Resources)+len(r.Refused), len(known))
	}
	r.LeftOut = len(queue)
	if r.Resources[r.System] == nil {
		return nil, fault.Coded(fault.BMCBadAnswer, "the system %s could not be read", sys.path)
	}
	return r, nil
}

func recorded(path string) bool {
	for _, part := range unrecorded {
		if strings.Contains(path+"/", part+"/") || strings.HasSuffix(part, "/") && strings.Contains(path, part) {
			return false
		}
	}
	return true
}
