package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// session is one conversation with a system on a BMC.
type session struct {
	endpoint *endpoint
	target   bmc.Target

	mu     sync.Mutex // guards what follows
	system string     // path, "" until it is known
	cd     string     // path of the virtual CD, "" until it is known
	denied error      // what the BMC said to our credentials
}

// fail makes an error for the caller: what was done to which node, the kind, and
// one line without secrets. What it is made of is not in its chain, because that
// may hold what a BMC repeated of a request; a guard's error and the cause of a
// cancellation are the caller's own, and stay.
func (s *session) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	var stopped *guarded
	if errors.As(err, &stopped) {
		return stopped.err
	}
	doing = doing + " node " + s.target.Node + " at " + s.endpoint.info.address()
	kind, told := fault.KindOf(err), s.endpoint.scrub(err.Error())
	var end *ended
	if errors.As(err, &end) && kind != fault.OutcomeUnknown {
		return fault.New(fault.KindOf(end.cause), "%s: %w", doing, end.cause)
	}
	if kind == fault.Busy {
		return bmc.Busy(bmc.Pause(err), "%s: %s", doing, told)
	}
	var silent *lost
	if errors.As(err, &silent) {
		return fault.New(kind, "%s: %w", doing, fault.Silence(told))
	}
	return fault.New(kind, "%s: %s", doing, told)
}

// admitted runs do with a pass, and once more with a new one where the BMC
// refused that of a session, which ends when it likes.
func (s *session) admitted(ctx context.Context, do func(pass) (*answer, error)) (*answer, error) {
	if err := s.wasDenied(); err != nil {
		return nil, err
	}
	refused := 0
	for {
		p, err := s.endpoint.admit(ctx, refused)
		if err != nil {
			return nil, s.deny(err)
		}
		a, err := do(p)
		if err != nil {
			return nil, err
		}
		switch {
		case a.status == http.StatusUnauthorized && p.kind == passSession && refused == 0:
			refused = p.number
			continue
		case a.status == http.StatusUnauthorized && p.kind == passBasic:
			s.endpoint.deny(a.err())
			return nil, s.deny(a.err())
		case a.status == http.StatusUnauthorized && p.kind == passNone:
			return nil, fault.New(fault.Denied, "%w (no %s is set)", a.err(), propUsername)
		}
		return a, a.err()
	}
}

// deny remembers, for this conversation, that our credentials were refused.
func (s *session) deny(err error) error {
	if fault.Is(err, fault.Denied) {
		s.mu.Lock()
		s.denied = err
		s.mu.Unlock()
	}
	return err
}

func (s *session) wasDenied() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

// read makes a GET and decodes what it finds.
func (s *session) read(ctx context.Context, path string, into any) (*answer, error) {
	a, err := s.admitted(ctx, func(p pass) (*answer, error) { return s.endpoint.fetch(ctx, path, p) })
	if err != nil {
		return nil, err
	}
	return a, a.decode(into)
}

// change sends a request that changes something, right after asking the guard.
// Secrets are what in body must not come back in an error.
func (s *session) change(ctx context.Context, method, path, etag string, body any, secrets ...string) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fault.New(fault.Internal, "encode a request to %s: %w", path, err)
	}
	r := request{method: method, path: path, body: text, ifMatch: etag, changes: true, guard: s.target.Guard, secrets: secrets}
	a, err := s.admitted(ctx, func(p pass) (*answer, error) { return s.endpoint.send(ctx, r, p) })
	if err != nil {
		return err
	}
	if a.status == http.StatusAccepted {
		return a.failed()
	}
	return nil
}

// patch changes a resource on the condition that it is still as it was read.
// Where it is not, it is read again and tried once more; where the BMC refuses
// the very ETag it tells, without one.
func (s *session) patch(ctx context.Context, path, etag string, body any, secrets ...string) error {
	err := s.change(ctx, http.MethodPatch, path, etag, body, secrets...)
	if etag == "" || !outdated(err) {
		return err
	}
	var fresh struct {
		ETag text `json:"@odata.etag"`
	}
	a, rerr := s.read(ctx, path, &fresh)
	if rerr != nil {
		return rerr
	}
	now := a.etag(fresh.ETag)
	if now == etag {
		now = ""
	}
	err = s.change(ctx, http.MethodPatch, path, now, body, secrets...)
	if now != "" && outdated(err) {
		return bmc.Busy(0, "somebody else is changing %s at the same time: %w", path, err)
	}
	return err
}

// outdated reports whether a change was refused because of its If-Match.
func outdated(err error) bool {
	var no *refusal
	return errors.As(err, &no) && no.status == http.StatusPreconditionFailed
}

// etag returns the resource's own @odata.etag, or else the header's. A value that
// can't be sent in a header counts as none.
func (a *answer) etag(inBody text) string {
	for _, tag := range []string{string(inBody), a.header.Get("ETag")} {
		if tag == "" {
			continue
		}
		bad := strings.IndexFunc(tag, func(r rune) bool { return r <= ' ' || r > '~' })
		if len(tag) > maxETag || bad >= 0 {
			return ""
		}
		return tag
	}
	return ""
}

// members lists the paths in a collection, at most maxMembers. The list ends at an
// empty page and at a page that was read before.
func (s *session) members(ctx context.Context, path string) ([]string, error) {
	var paths []string
	seen := map[string]bool{}
	for next := path; next != "" && !seen[next] && len(paths) < maxMembers && len(seen) < maxPages; {
		seen[next] = true
		var c collection
		if _, err := s.read(ctx, next, &c); err != nil {
			return nil, err
		}
		if len(c.Members) == 0 {
			break
		}
		paths = append(paths, c.Members...)
		next = string(c.NextLink)
	}
	return paths[:min(len(paths), maxMembers)], nil
}

// skippable reports whether an error is about one resource only, so that its
// neighbours may still be read: it is not there, broken or forbidden, but the
// BMC answers.
func skippable(err error) bool {
	var no *refusal
	if errors.As(err, &no) {
		switch no.status {
		case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return false
		}
		return true
	}
	var bad *garbled
	return errors.As(err, &bad)
}

// path is the path of the system: the one that driver_info names, or the only one.
func (s *session) path(ctx context.Context) (string, error) {
	s.mu.Lock()
	known := s.system
	s.mu.Unlock()
	if known == "" {
		var err error
		if known, err = s.findSystem(ctx); err != nil {
			return "", err
		}
		s.mu.Lock()
		s.system = known
		s.mu.Unlock()
	}
	return known, nil
}

func (s *session) findSystem(ctx context.Context) (string, error) {
	if only := s.endpoint.knownSystem(); only != "" {
		return only, nil
	}
	root, err := s.endpoint.service(ctx)
	if err != nil {
		return "", err
	}
	found, err := s.members(ctx, string(root.Systems))
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", fault.New(fault.Refused, "%s: the BMC lists no system", root.Systems)
	case 1:
		s.endpoint.learnSystem(found[0])
		return found[0], nil
	}
	return "", fault.New(fault.Invalid, "the BMC has %d systems; set %s to one of %s",
		len(found), propSystem, clean(strings.Join(found, ", "), maxMessage))
}

// look reads the system.
func (s *session) look(ctx context.Context) (sys system, path, etag string, err error) {
	path, err = s.path(ctx)
	if err != nil {
		return system{}, "", "", err
	}
	a, err := s.read(ctx, path, &sys)
	if err != nil {
		return system{}, "", "", err
	}
	return sys, path, a.etag(sys.ETag), nil
}
