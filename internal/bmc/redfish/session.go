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

// session is a conversation with one system of a BMC.
type session struct {
	endpoint *endpoint
	target   bmc.Target

	mu      sync.Mutex // guards the fields below
	system  string     // path, "" until it is known
	cd      string     // path of the virtual CD, "" until it is known
	ejected string     // path of the drive that was ejected, "" = none was, or an image was inserted since
	booting string     // BootProgress.LastState when the system was read last, "" = not told
	denied  error      // the BMC's refusal of the credentials; nil = none yet
	readings
}

// wrap returns an error for the caller, with its kind and cause: one line without secrets,
// which begins with what the BMC said and ends with what was done at which address. It does not wrap err, because err may contain what a BMC repeated
// of a request. The guard's error and the cause of a cancellation come from the caller,
// and are returned and wrapped.
func (s *session) wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	var stopped *guardError
	if errors.As(err, &stopped) {
		return stopped.err
	}
	doing += " at " + s.endpoint.info.address()
	kind, text := fault.KindOf(err), s.endpoint.redact(err.Error())
	var end *cancelledRequest
	if errors.As(err, &end) && kind != fault.OutcomeUnknown {
		return fault.New(fault.KindOf(end.cause), "%w; %s", end.cause, doing)
	}
	if kind == fault.Busy {
		return bmc.Busy(bmc.RetryAfter(err), "%s; %s", text, doing)
	}
	cause := bmc.CauseOf(err)
	var silent *lostAnswer
	if errors.As(err, &silent) {
		lost := error(fault.NoAnswerError(text))
		if !silent.sent {
			lost = bmc.NotSent(lost)
		}
		return fault.CodedAs(kind, cause, "%w; %s", lost, doing)
	}
	return fault.CodedAs(kind, cause, "%s; %s", text, doing)
}

// withLogin calls do with a login. If the BMC refuses the session, which may have
// expired, it logs in and calls do once more.
func (s *session) withLogin(ctx context.Context, do func(login) (*answer, error)) (*answer, error) {
	if err := s.denial(); err != nil {
		return nil, err
	}
	refused := 0
	for {
		p, err := s.endpoint.ensureLogin(ctx, refused)
		if err != nil {
			return nil, s.recordDenial(err)
		}
		a, err := do(p)
		if err != nil {
			return nil, err
		}
		switch {
		case a.status == http.StatusUnauthorized && p.kind == loginSession && refused == 0:
			refused = p.generation
			continue
		case a.status == http.StatusUnauthorized && p.kind == loginBasic:
			s.endpoint.recordDenial(a.err())
			return nil, s.recordDenial(a.err())
		case a.status == http.StatusUnauthorized && p.kind == loginNone:
			return nil, fault.New(fault.Denied, "%w (no %s is set)", a.err(), propUsername)
		}
		return a, a.err()
	}
}

// recordDenial records, for this conversation, that the BMC refused the credentials. It
// returns err.
func (s *session) recordDenial(err error) error {
	if fault.Is(err, fault.Denied) {
		s.mu.Lock()
		s.denied = err
		s.mu.Unlock()
	}
	return err
}

func (s *session) denial() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

// read sends a GET and decodes the answer.
func (s *session) read(ctx context.Context, path string, into any) (*answer, error) {
	a, err := s.withLogin(ctx, func(p login) (*answer, error) { return s.endpoint.fetch(ctx, path, p) })
	if err != nil {
		return nil, err
	}
	return a, a.decode(into)
}

// change sends a request that changes something, right after it has called the guard.
// secrets are the strings in body that no error may contain.
func (s *session) change(ctx context.Context, method, path, etag string, body any, secrets ...string) error {
	_, err := s.changed(ctx, method, path, etag, body, secrets...)
	return err
}

// changed is change that returns the BMC's answer. Without a body (nil) the request has none.
func (s *session) changed(ctx context.Context, method, path, etag string, body any, secrets ...string) (*answer, error) {
	r := request{method: method, path: path, ifMatch: etag, changes: true, target: &s.target, secrets: secrets}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fault.New(fault.Internal, "encode a request to %s: %w", path, err)
		}
		r.body = text
	}
	s.forgetReadings()
	defer s.forgetReadings() // of what was read meanwhile it is not known whether it was before the change
	a, err := s.withLogin(ctx, func(p login) (*answer, error) { return s.endpoint.send(ctx, r, p) })
	if err == nil && a.status == http.StatusAccepted {
		err = a.taskError()
	}
	return a, err
}

// patch changes a resource if it is still as it was read (If-Match). If it is not, patch
// reads it again and tries once more. If the BMC refuses its own current ETag, the second
// try is without one.
func (s *session) patch(ctx context.Context, path, etag string, body any, secrets ...string) error {
	err := s.change(ctx, http.MethodPatch, path, etag, body, secrets...)
	if etag == "" || !outdated(err) {
		return err
	}
	var fresh struct {
		ETag looseString `json:"@odata.etag"`
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

// etag returns the resource's @odata.etag, else the header's. It returns "" for a value
// that can't be sent in a header.
func (a *answer) etag(inBody looseString) string {
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

// members returns the paths of a collection's members, at most maxMembers.
func (s *session) members(ctx context.Context, path string) ([]string, error) {
	return s.membersUpTo(ctx, path, maxMembers)
}

// membersUpTo returns the paths of a collection's members, at most most. It stops at an empty page and at a page that it
// has read before.
func (s *session) membersUpTo(ctx context.Context, path string, most int) ([]string, error) {
	var paths []string
	seen := map[string]bool{}
	for next := path; next != "" && !seen[next] && len(paths) < most && len(seen) < maxPages; {
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
	return paths[:min(len(paths), most)], nil
}

// skippable reports whether an error is about one resource only: it does not exist, is
// malformed or forbidden. Other resources of the BMC may still be read.
func skippable(err error) bool {
	var no *refusal
	if errors.As(err, &no) {
		switch no.status {
		case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return false
		}
		return true
	}
	var bad *malformed
	return errors.As(err, &bad)
}

// systemPath returns the path of the system that driver_info names, or of the only one.
func (s *session) systemPath(ctx context.Context) (string, error) {
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
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return "", err
	}
	found, err := s.members(ctx, string(root.Systems))
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", fault.Coded(fault.BMCWrongAddress, "the BMC lists no system at %s", root.Systems)
	case 1:
		s.endpoint.learnSystem(found[0])
		return found[0], nil
	}
	return "", fault.New(fault.Invalid, "the BMC has %d systems; set %s to one of %s",
		len(found), propSystem, printable(strings.Join(found, ", "), maxMessage))
}

// systemReading is a system as it was read.
type systemReading struct {
	system
	path, etag string
}

// readSystem reads the system.
func (s *session) readSystem(ctx context.Context) (systemReading, error) {
	path, err := s.systemPath(ctx)
	if err != nil {
		return systemReading{}, err
	}
	r := systemReading{path: path}
	a, err := s.read(ctx, path, &r.system)
	if err != nil {
		return systemReading{}, err
	}
	r.etag = a.etag(r.ETag)
	note(s, &s.readings.system, r)
	return r, nil
}

// recentSystem is readSystem for what is about to change the system, or needs what does not change.
func (s *session) recentSystem(ctx context.Context) (systemReading, error) {
	return recently(ctx, s, &s.readings.system, s.readSystem)
}
