package redfish

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

// quirks returns what is different about the BMC of the system sys, which was read at
// path. The first call for an endpoint reads the manager, if a row of the table that is
// about this vendor asks for its model or firmware.
func (s *session) quirks(ctx context.Context, sys system, path string) (effect, error) {
	e := s.endpoint
	e.mu.Lock()
	known, ok := e.quirks[path]
	e.mu.Unlock()
	if ok {
		return known, nil
	}
	id, err := s.identify(ctx, sys)
	if err != nil {
		return effect{}, err
	}
	e.pace(id)
	found := effectOf(id, e.conf.withoutQuirk)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.quirks == nil {
		e.quirks = map[string]effect{}
	}
	e.quirks[path] = found
	return found, nil
}

// pace limits the requests a second to what the settings say of the vendor.
func (e *endpoint) pace(id identity) {
	for vendor, perSecond := range e.conf.PerSecondOf {
		if (match{vendors: []string{vendor}}).byVendor(id) {
			e.shared.SetPerSecond(perSecond)
		}
	}
}

// identify returns what the service root, the system and, where it matters, the manager
// say. A manager that can't be read says nothing.
func (s *session) identify(ctx context.Context, sys system) (identity, error) {
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return identity{}, err
	}
	id := identity{vendor: string(root.Vendor), manufacturer: string(sys.Manufacturer), model: string(sys.Model)}
	if !slices.ContainsFunc(quirks, func(q quirk) bool { return q.who.needsManager() && q.who.byVendor(id) }) {
		return id, nil
	}
	err = s.askManager(ctx, sys, &id)
	return id, err
}

// askManager adds what the first manager says that has a firmware. A manager that can't be
// read at the moment is an error: without its firmware a change might be the wrong one.
func (s *session) askManager(ctx context.Context, sys system, id *identity) error {
	for _, path := range s.managers(ctx, sys) {
		var m manager
		_, err := s.read(ctx, path, &m)
		switch {
		case err == nil && m.FirmwareVersion != "":
			id.managerModel, id.firmware = string(m.Model), string(m.FirmwareVersion)
			return nil
		case err != nil && (!skippable(err) || serverError(err)):
			return err
		}
	}
	return nil
}

// serverError reports whether the BMC answered with a status from 500.
func serverError(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.status >= http.StatusInternalServerError
}
