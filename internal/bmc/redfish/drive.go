package redfish

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/fault"
)

// virtualDrive is a virtual CD drive as it was read.
type virtualDrive struct {
	virtualMedia
	path, etag string
	noPatch    bool // the answer lists the methods of the drive, and PATCH is none of them
}

// drive reads the virtual CD drive. The first call of a conversation looks for it.
func (s *session) drive(ctx context.Context) (virtualDrive, error) {
	s.mu.Lock()
	path := s.cd
	s.mu.Unlock()
	var d virtualDrive
	var err error
	if path != "" {
		d, err = s.readDrive(ctx, path)
	} else {
		d, err = s.findDrive(ctx)
	}
	if err == nil {
		s.mu.Lock()
		s.cd = d.path
		s.mu.Unlock()
		note(s, &s.readings.drive, d)
	}
	return d, err
}

// recentDrive is drive for what is about to change what is in it.
func (s *session) recentDrive(ctx context.Context) (virtualDrive, error) {
	return recently(ctx, s, &s.readings.drive, s.drive)
}

func (s *session) readDrive(ctx context.Context, path string) (virtualDrive, error) {
	d := virtualDrive{path: path}
	a, err := s.read(ctx, path, &d.virtualMedia)
	if err != nil {
		return virtualDrive{}, err
	}
	allowed := a.header.Get("Allow")
	d.etag, d.noPatch = a.etag(d.ETag), allowed != "" && !strings.Contains(allowed, http.MethodPatch)
	return d, nil
}

// giveUpDrive makes the next call look for another drive than the one at path, which has
// refused the method.
func (s *session) giveUpDrive(path string) {
	e := s.endpoint
	e.mu.Lock()
	if e.unusable == nil {
		e.unusable = map[string]bool{}
	}
	e.unusable[path] = true
	e.mu.Unlock()
	s.mu.Lock()
	s.cd = ""
	s.mu.Unlock()
}

// findDrive looks for a virtual CD drive in the system, where newer services have it, then
// in its managers. A resource that can't be read does not end the search.
func (s *session) findDrive(ctx context.Context) (virtualDrive, error) {
	var found virtualDrive
	err := s.eachMedia(ctx, func(collection, slot string) (bool, error) {
		d, err := s.bestCD(ctx, collection, slot)
		if err == nil && d.path != "" {
			found = d
		}
		return found.path != "", err
	})
	if err == nil && found.path == "" {
		err = fault.Coded(fault.VirtualMediaRefused, "the system has no virtual CD")
	}
	return found, err
}

// eachMedia calls f for each collection of virtual media, with the slot that quirks prefer, until f has found what it looks for
// (true). A resource that can't be read does not end the search; its error is returned if nothing is found.
func (s *session) eachMedia(ctx context.Context, f func(collection, slot string) (found bool, err error)) error {
	sys, err := s.recentSystem(ctx)
	if err != nil {
		return err
	}
	quirks, err := s.quirks(ctx, sys.system, sys.path)
	if err != nil {
		return err
	}
	var broken error
	for i, path := range append([]string{string(sys.VirtualMedia)}, s.managers(ctx, sys.system)...) {
		collection := path
		if i > 0 {
			var m manager
			if _, err := s.read(ctx, path, &m); err != nil {
				if !skippable(err) {
					return err
				}
				broken = err
			}
			collection = string(m.VirtualMedia)
		}
		if collection == "" {
			continue
		}
		switch found, err := f(collection, quirks.mediaSlot); {
		case found:
			return nil
		case err != nil && !skippable(err):
			return err
		case err != nil:
			broken = err
		}
	}
	return broken
}

// managers returns the paths of the system's managers, or of all managers if the system
// does not link to any.
func (s *session) managers(ctx context.Context, sys system) []string {
	if paths := sys.Links.v.ManagedBy; len(paths) > 0 {
		return paths[:min(len(paths), maxMembers)]
	}
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return nil
	}
	paths, _ := s.members(ctx, string(root.Managers)) // without the list there are no managers to search
	return paths
}

// bestCD returns the CD or DVD drive to use of a collection of virtual media: the one with
// the Id slot, if that is not empty, else one with the action InsertMedia, else one that may
// accept PATCH. Of several it is the first that has a medium, else the first: another
// process may have been refused by the first, and have used the next. The path is empty if
// there is none.
func (s *session) bestCD(ctx context.Context, collection, slot string) (virtualDrive, error) {
	paths, err := s.members(ctx, collection)
	if err != nil {
		return virtualDrive{}, err
	}
	var best virtualDrive
	var broken error
	for _, path := range paths {
		d, err := s.readDrive(ctx, path)
		switch {
		case err != nil && !skippable(err):
			return virtualDrive{}, err
		case err != nil:
			broken = err
		case !d.isCD() || s.endpoint.gaveUp(path) || !d.changeable():
		case slot != "" && string(d.ID) == slot:
			return d, nil
		case best.path == "" || d.rank() > best.rank():
			best = d
		}
		if slot == "" && best.rank() == bestRank {
			break
		}
	}
	if best.path != "" {
		return best, nil
	}
	return virtualDrive{}, broken
}

// changeable reports whether the drive says that it can be changed.
func (d virtualDrive) changeable() bool { return d.Actions.v.Insert.Target != "" || !d.noPatch }

// bestRank is the rank of a drive that has the action InsertMedia and a medium.
const bestRank = 3

// rank is higher for a drive that is better to use.
func (d virtualDrive) rank() int {
	rank := 0
	if d.Actions.v.Insert.Target != "" {
		rank += 2
	}
	if d.media().Inserted {
		rank++
	}
	return rank
}

// gaveUp reports whether the drive at path has refused the method.
func (e *endpoint) gaveUp(path string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unusable[path]
}

// isCD reports whether the drive is a CD or DVD drive, by its media types or, if it has
// none, by its name.
func (m virtualMedia) isCD() bool {
	types := m.MediaTypes
	if len(types) == 0 {
		id := strings.ToLower(string(m.ID))
		return strings.HasPrefix(id, "cd") || strings.HasPrefix(id, "dvd")
	}
	return slices.Contains(types, schemas.CDVirtualMediaType) || slices.Contains(types, schemas.DVDVirtualMediaType)
}
