package redfish

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// Media reads the first virtual CD.
func (s *session) Media(ctx context.Context) (bmc.Media, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	m, _, _, err := s.drive(ctx)
	if err != nil {
		return bmc.Media{}, s.wrap("read virtual media", err)
	}
	return m.media(), nil
}

// media returns what is in the drive. If the BMC reports Inserted, that decides, because
// Supermicro still shows the image after an eject.
func (m virtualMedia) media() bmc.Media {
	inserted := m.Image != ""
	if reported := m.Inserted.v; reported != nil {
		inserted = *reported
	}
	if !inserted {
		return bmc.Media{}
	}
	return bmc.Media{Inserted: true, Image: string(m.Image)}
}

// InsertMedia inserts the image with the drive's InsertMedia action, or with PATCH if the
// drive has no such action. It ejects another image first.
func (s *session) InsertMedia(ctx context.Context, image string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("insert virtual media", s.insertMedia(ctx, image))
}

func (s *session) insertMedia(ctx context.Context, image string) error {
	if u, err := url.Parse(image); err != nil || u.Scheme == "" || u.Host == "" {
		return fault.New(fault.Invalid, "the image is not a URL")
	}
	m, path, etag, err := s.drive(ctx)
	if err != nil {
		return err
	}
	have := m.media()
	if have.Holds(image) {
		return nil
	}
	if have.Inserted {
		if err := s.sendEject(ctx, m, path, etag); err != nil {
			return err
		}
		if m.Actions.v.Insert.Target == "" { // the eject changed the ETag, which PATCH sends
			if m, etag, err = s.readDrive(ctx, path); err != nil {
				return err
			}
		}
	}
	err = s.sendInsert(ctx, m, path, etag, image)
	var gone *lostAnswer
	if errors.As(err, &gone) && gone.sent {
		return fault.New(fault.OutcomeUnknown, "sent, outcome unknown: %w", err)
	}
	if have.Inserted && refused(err) {
		if now, _, rerr := s.readDrive(ctx, path); rerr == nil && now.media().Inserted {
			return bmc.Busy(0, "%s is still being ejected: %w", path, err)
		}
	}
	return err
}

// sendInsert sends the request to insert the image. Some BMCs need TransferProtocolType,
// which they say in their refusal, others refuse it; so the first try is without it.
func (s *session) sendInsert(ctx context.Context, m virtualMedia, path, etag, image string) error {
	yes := true
	params := schemas.VirtualMediaInsertMediaParameters{Image: image, Inserted: &yes}
	secrets := secretsOf(image)
	target := m.Actions.v.Insert.Target
	if target == "" {
		return s.patch(ctx, path, etag, params, secrets...)
	}
	params.WriteProtected = &yes
	err := s.change(ctx, http.MethodPost, target, "", params, secrets...)
	if !refused(err) || !strings.Contains(err.Error(), "TransferProtocolType") && !strings.Contains(err.Error(), "TransferMethod") {
		return err
	}
	scheme, _, _ := strings.Cut(image, ":")
	protocol, method := schemas.TransferProtocolType(strings.ToUpper(scheme)), schemas.StreamTransferMethod
	params.TransferProtocolType, params.TransferMethod = &protocol, &method
	return s.change(ctx, http.MethodPost, target, "", params, secrets...)
}

// EjectMedia ejects the medium with the drive's EjectMedia action, or with PATCH if the
// drive has no such action.
func (s *session) EjectMedia(ctx context.Context) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	m, path, etag, err := s.drive(ctx)
	if err == nil && m.media().Inserted {
		err = s.sendEject(ctx, m, path, etag)
	}
	return s.wrap("eject virtual media", err)
}

func (s *session) sendEject(ctx context.Context, m virtualMedia, path, etag string) error {
	if target := m.Actions.v.Eject.Target; target != "" {
		return s.change(ctx, http.MethodPost, target, "", struct{}{})
	}
	return s.patch(ctx, path, etag, map[string]any{"Image": nil, "Inserted": false})
}

// drive reads the first virtual CD drive. The first call of a conversation looks for it.
func (s *session) drive(ctx context.Context) (m virtualMedia, path, etag string, err error) {
	s.mu.Lock()
	path = s.cd
	s.mu.Unlock()
	if path != "" {
		m, etag, err = s.readDrive(ctx, path)
		return m, path, etag, err
	}
	m, path, etag, err = s.findDrive(ctx)
	if err == nil {
		s.mu.Lock()
		s.cd = path
		s.mu.Unlock()
	}
	return m, path, etag, err
}

func (s *session) readDrive(ctx context.Context, path string) (m virtualMedia, etag string, err error) {
	a, err := s.read(ctx, path, &m)
	if err != nil {
		return virtualMedia{}, "", err
	}
	return m, a.etag(m.ETag), nil
}

// findDrive looks for a virtual CD drive in the system, where newer services have it, then
// in its managers. A resource that can't be read does not end the search.
func (s *session) findDrive(ctx context.Context) (m virtualMedia, path, etag string, err error) {
	sys, _, _, err := s.readSystem(ctx)
	if err != nil {
		return virtualMedia{}, "", "", err
	}
	var broken error
	for i, path := range append([]string{string(sys.VirtualMedia)}, s.managers(ctx, sys)...) {
		collection := path
		if i > 0 {
			var m manager
			if _, err := s.read(ctx, path, &m); err != nil {
				if !skippable(err) {
					return virtualMedia{}, "", "", err
				}
				broken = err
			}
			collection = string(m.VirtualMedia)
		}
		if collection == "" {
			continue
		}
		m, path, etag, err := s.firstCD(ctx, collection)
		if err == nil && path != "" {
			return m, path, etag, nil
		}
		if err != nil {
			if !skippable(err) {
				return virtualMedia{}, "", "", err
			}
			broken = err
		}
	}
	if broken != nil {
		return virtualMedia{}, "", "", broken
	}
	return virtualMedia{}, "", "", fault.Coded(fault.VirtualMediaRefused, "the system has no virtual CD")
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

// firstCD returns the first CD or DVD drive in a collection of virtual media, with an
// empty path if there is none.
func (s *session) firstCD(ctx context.Context, collection string) (m virtualMedia, path, etag string, err error) {
	paths, err := s.members(ctx, collection)
	if err != nil {
		return virtualMedia{}, "", "", err
	}
	var broken error
	for _, path := range paths {
		m, etag, err := s.readDrive(ctx, path)
		switch {
		case err != nil && !skippable(err):
			return virtualMedia{}, "", "", err
		case err != nil:
			broken = err
		case m.isCD():
			return m, path, etag, nil
		}
	}
	return virtualMedia{}, "", "", broken
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

// secretsOf returns the parts of an image's URL that may be a password or a signature.
// BMCs often repeat the URL in their messages.
func secretsOf(image string) []string {
	u, err := url.Parse(image)
	if err != nil {
		return []string{image}
	}
	var secrets []string
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	if u.RawQuery == "" {
		return secrets
	}
	secrets = append(secrets, u.RawQuery)
	for _, values := range u.Query() { // a BMC may quote a part of it, decoded
		for _, v := range values {
			if len(v) >= shortSecret {
				secrets = append(secrets, v)
			}
		}
	}
	return secrets
}

// shortSecret is the length from which a query value is masked. A shorter value
// protects nothing, and would be found in ordinary words by chance.
const shortSecret = 6
