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
	ctx, done := within(ctx, callTime)
	defer done()
	m, _, _, err := s.drive(ctx)
	if err != nil {
		return bmc.Media{}, s.fail("read virtual media of", err)
	}
	return m.media(), nil
}

// media is what is in the drive. Inserted counts where it is told: Supermicro
// keeps the image of a medium that is out.
func (m virtualMedia) media() bmc.Media {
	in := m.Image != ""
	if told := m.Inserted.v; told != nil {
		in = *told
	}
	if !in {
		return bmc.Media{}
	}
	return bmc.Media{Inserted: true, Image: string(m.Image)}
}

// InsertMedia inserts the image at url by the drive's action, or by PATCH where
// it has none. Another image is ejected first.
func (s *session) InsertMedia(ctx context.Context, image string) error {
	ctx, done := within(ctx, callTime)
	defer done()
	return s.fail("insert virtual media of", s.insert(ctx, image))
}

func (s *session) insert(ctx context.Context, image string) error {
	if u, err := url.Parse(image); err != nil || u.Scheme == "" || u.Host == "" {
		return fault.New(fault.Invalid, "the image is no URL")
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
		if err := s.empty(ctx, m, path, etag); err != nil {
			return err
		}
		if m.Actions.v.Insert.Target == "" { // the condition of a PATCH is what is there now
			if m, etag, err = s.readDrive(ctx, path); err != nil {
				return err
			}
		}
	}
	err = s.fill(ctx, m, path, etag, image)
	var gone *lost
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

// fill inserts. Some BMCs want to be told the protocol that the URL tells
// already (they say so in their refusal), others refuse to hear it.
func (s *session) fill(ctx context.Context, m virtualMedia, path, etag, image string) error {
	yes := true
	what := schemas.VirtualMediaInsertMediaParameters{Image: image, Inserted: &yes}
	secrets := secretsOf(image)
	target := m.Actions.v.Insert.Target
	if target == "" {
		return s.patch(ctx, path, etag, what, secrets...)
	}
	what.WriteProtected = &yes
	err := s.change(ctx, http.MethodPost, target, "", what, secrets...)
	if !refused(err) || !strings.Contains(err.Error(), "TransferProtocolType") && !strings.Contains(err.Error(), "TransferMethod") {
		return err
	}
	scheme, _, _ := strings.Cut(image, ":")
	protocol, method := schemas.TransferProtocolType(strings.ToUpper(scheme)), schemas.StreamTransferMethod
	what.TransferProtocolType, what.TransferMethod = &protocol, &method
	return s.change(ctx, http.MethodPost, target, "", what, secrets...)
}

// EjectMedia empties the virtual CD by its action, or by PATCH where it has none.
func (s *session) EjectMedia(ctx context.Context) error {
	ctx, done := within(ctx, callTime)
	defer done()
	m, path, etag, err := s.drive(ctx)
	if err == nil && m.media().Inserted {
		err = s.empty(ctx, m, path, etag)
	}
	return s.fail("eject virtual media of", err)
}

func (s *session) empty(ctx context.Context, m virtualMedia, path, etag string) error {
	if target := m.Actions.v.Eject.Target; target != "" {
		return s.change(ctx, http.MethodPost, target, "", struct{}{})
	}
	return s.patch(ctx, path, etag, map[string]any{"Image": nil, "Inserted": false})
}

// drive reads the first virtual CD, finding it first where it is not known yet.
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

// findDrive looks at the system, where newer services have their media, then at
// the managers in charge of it. A broken member does not hide the one behind it.
func (s *session) findDrive(ctx context.Context) (m virtualMedia, path, etag string, err error) {
	sys, _, _, err := s.look(ctx)
	if err != nil {
		return virtualMedia{}, "", "", err
	}
	var broken error
	for i, place := range append([]string{string(sys.VirtualMedia)}, s.managers(ctx, sys)...) {
		if i > 0 {
			var boss manager
			if _, err := s.read(ctx, place, &boss); err != nil {
				if !skippable(err) {
					return virtualMedia{}, "", "", err
				}
				broken = err
			}
			place = string(boss.VirtualMedia)
		}
		if place == "" {
			continue
		}
		m, path, etag, err = s.firstCD(ctx, place)
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
	return virtualMedia{}, "", "", fault.New(fault.Refused, "the system has no virtual CD")
}

// managers are the paths of the managers in charge of the system; all there are
// where the system does not say.
func (s *session) managers(ctx context.Context, sys system) []string {
	if paths := sys.Links.v.ManagedBy; len(paths) > 0 {
		return paths[:min(len(paths), maxMembers)]
	}
	root, err := s.endpoint.service(ctx)
	if err != nil {
		return nil
	}
	// Without the list the system simply has no drive that we know of.
	paths, _ := s.members(ctx, string(root.Managers))
	return paths
}

// firstCD is the first CD or DVD drive in a collection of virtual media; no path
// when it has none.
func (s *session) firstCD(ctx context.Context, place string) (m virtualMedia, path, etag string, err error) {
	paths, err := s.members(ctx, place)
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

// isCD goes by the media types, and by the name where there are none.
func (m virtualMedia) isCD() bool {
	types := m.MediaTypes
	if len(types) == 0 {
		id := strings.ToLower(string(m.ID))
		return strings.HasPrefix(id, "cd") || strings.HasPrefix(id, "dvd")
	}
	return slices.Contains(types, schemas.CDVirtualMediaType) || slices.Contains(types, schemas.DVDVirtualMediaType)
}

// secretsOf are the parts of an image's URL that may be a password or a
// signature. BMCs like to repeat the URL in their messages.
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
