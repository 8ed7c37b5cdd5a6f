package redfish

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// ReadDrives reads the virtual drives of a kind. A drive that a BMC lists below the system and below its manager, at two paths, comes twice.
func (s *session) ReadDrives(ctx context.Context, kind string) ([]bmc.Media, []node.MediaDrive, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	all, err := s.mediaDrives(ctx, kind)
	var media []bmc.Media
	var shown []node.MediaDrive
	for _, d := range all {
		m := d.media()
		media = append(media, m)
		one := node.MediaDrive{Types: []string{}, Inserted: m.Inserted, Image: m.Image}
		for _, t := range d.MediaTypes {
			one.Types = append(one.Types, printable(string(t), maxShort))
		}
		shown = append(shown, one)
	}
	return media, shown, s.wrap("read the virtual drives", err)
}

// mediaDrives reads the drives of the first collection that has some of the kind.
func (s *session) mediaDrives(ctx context.Context, kind string) (all []virtualDrive, err error) {
	want, known := driveKinds[kind]
	if kind != "" && !known {
		return nil, fault.New(fault.Invalid, "%.40q is no kind of virtual drive", kind)
	}
	err = s.eachMedia(ctx, func(collection, _ string) (bool, error) {
		paths, err := s.members(ctx, collection)
		for _, path := range paths {
			d, rerr := s.readDrive(ctx, path)
			switch {
			case rerr != nil && !skippable(rerr):
				return false, rerr
			case rerr != nil:
				err = rerr
			case kind == "" || slices.Contains(d.MediaTypes, want):
				all = append(all, d)
			}
		}
		return len(all) > 0, err
	})
	if len(all) > 0 {
		err = nil
	}
	return all, err
}

// AttachMedia inserts the image into the first empty drive of the kind.
func (s *session) AttachMedia(ctx context.Context, kind, url string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("attach virtual media", s.attachMedia(bmc.Asking(ctx, bmc.NameInsert(url)), kind, url))
}

func (s *session) attachMedia(ctx context.Context, kind, url string) error {
	all, err := s.mediaDrives(ctx, kind)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.media().Holds(url) {
			return nil
		}
	}
	if len(all) == 0 {
		return fault.Coded(fault.VirtualMediaRefused, "the system has no virtual drive of the kind %q", kind)
	}
	err = fault.Coded(fault.VirtualMediaRefused, "no virtual drive of the kind %q is empty", kind)
	for _, d := range all {
		if d.media().Inserted || d.noPatch && d.Actions.v.Insert.Target == "" {
			continue
		}
		err = s.sendInsert(ctx, d, url)
		var no *refusal
		if errors.As(err, &no) && no.status == http.StatusMethodNotAllowed {
			continue // it takes no images by URL
		}
		break
	}
	var gone *lostAnswer
	if errors.As(err, &gone) && gone.sent {
		return fault.New(fault.OutcomeUnknown, "sent, outcome unknown: %w", err)
	}
	return mediaHint(err, url)
}
