package redfish

import (
	"cmp"
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
	d, err := s.drive(ctx)
	if err != nil {
		return bmc.Media{}, s.wrap("read virtual media", err)
	}
	return d.media(), nil
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
	ctx = bmc.Asking(ctx, bmc.NameInsert(image))
	return s.wrap("insert virtual media", s.insertMedia(ctx, image))
}

// insertMedia inserts the image into the first drive that does not refuse the method.
func (s *session) insertMedia(ctx context.Context, image string) error {
	if u, err := url.Parse(image); err != nil || u.Scheme == "" || u.Host == "" {
		return fault.New(fault.Invalid, "the image is not a URL")
	}
	var first error
	for {
		d, err := s.recentDrive(ctx)
		if err != nil {
			return cmp.Or(first, err) // no drive is left
		}
		err = s.insertInto(ctx, d, image)
		var no *refusal
		if !errors.As(err, &no) || no.status != http.StatusMethodNotAllowed || !no.change {
			return mediaHint(err, image)
		}
		first = cmp.Or(first, err)
		s.giveUpDrive(d.path)
	}
}

// insertInto inserts the image into the drive d, and ejects another image first.
func (s *session) insertInto(ctx context.Context, d virtualDrive, image string) error {
	have := d.media()
	if have.Holds(image) && !s.wasEjected(d.path) {
		return nil
	}
	if have.Inserted && !s.wasEjected(d.path) {
		if err := s.sendEject(ctx, d); err != nil {
			return err
		}
		if d.Actions.v.Insert.Target == "" { // the eject changed the ETag, which PATCH sends
			var err error
			if d, err = s.readDrive(ctx, d.path); err != nil {
				return err
			}
		}
	}
	err := s.sendInsert(ctx, d, image)
	var gone *lostAnswer
	lost := errors.As(err, &gone) && gone.sent
	if err == nil || lost {
		s.noteEjected("")
	}
	if lost {
		return fault.New(fault.OutcomeUnknown, "sent, outcome unknown: %w", err)
	}
	var no *refusal // of any status: Dell answers 500 (storyboard 2008504)
	if have.Inserted && errors.As(err, &no) && no.change && !fault.Is(err, fault.Denied) {
		// The eject may have ended just now. If the image itself is refused, the next try shows it.
		if now, rerr := s.readDrive(ctx, d.path); rerr == nil && (now.media() == have || !now.media().Inserted) {
			return bmc.Busy(0, "%s is still being ejected: %w", d.path, err)
		}
	}
	return err
}

// sendInsert sends the request to insert the image. The action gets the image only, because
// Supermicro refuses Inserted and WriteProtected, which are true by default (DSP8010); PATCH
// gets Inserted, without which Lenovo does not connect the image. If the BMC refuses and
// names parameters, or says that one is missing, they are added.
func (s *session) sendInsert(ctx context.Context, d virtualDrive, image string) error {
	params := schemas.VirtualMediaInsertMediaParameters{Image: image}
	secrets := secretsOf(image)
	send := func() error { return s.change(ctx, http.MethodPost, d.Actions.v.Insert.Target, "", params, secrets...) }
	if d.Actions.v.Insert.Target == "" {
		yes := true
		params.Inserted = &yes
		send = func() error { return s.patch(ctx, d.path, d.etag, params, secrets...) }
	}
	err := send()
	for refused(err) && addParameters(&params, err, image) {
		err = send()
	}
	return err
}

// addParameters adds the parameters that the refusal asks for. It returns false if there are
// none to add.
func addParameters(p *schemas.VirtualMediaInsertMediaParameters, refused error, image string) bool {
	var no *refusal
	if !errors.As(refused, &no) {
		return false
	}
	names := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(no.details, w) })
	}
	named := names("TransferProtocolType", "TransferMethod", "UserName", "Password", "Inserted", "WriteProtected")
	missing := !named && names("ParameterMissing", "parameter missing", "PropertyMissing", "to be present in the request")
	switch {
	case p.TransferProtocolType == nil && (missing || names("TransferProtocolType", "TransferMethod")):
		scheme, _, _ := strings.Cut(image, ":")
		protocol, method := schemas.TransferProtocolType(strings.ToUpper(scheme)), schemas.StreamTransferMethod
		p.TransferProtocolType, p.TransferMethod = &protocol, &method
	case p.UserName == nil && (missing || names("UserName", "Password")):
		user, password := noAccount, noAccount
		p.UserName, p.Password = &user, &password
	case p.WriteProtected == nil && names("Inserted", "WriteProtected"):
		yes := true
		p.Inserted, p.WriteProtected = &yes, &yes
	default:
		return false
	}
	return true
}

// noAccount is the user name and password for an image that needs none, where a BMC wants
// both.
const noAccount = "none"

// mediaHint adds to a refusal what makes BMCs refuse such an image, whatever they say.
func mediaHint(err error, image string) error {
	if !fault.Is(err, fault.Refused) {
		return err
	}
	u, perr := url.Parse(image)
	var hints []string
	if perr == nil && u.Scheme == "https" {
		hints = append(hints, "the URL is https, and many BMCs can't verify the certificate or have no TLS for images: use http, or a certificate of a CA that the BMC trusts")
	}
	if strings.ContainsAny(image, "?&") {
		hints = append(hints, "the URL has a query, which many BMCs refuse: use one without ? and &")
	}
	if len(hints) == 0 {
		return err
	}
	return fault.CodedAs(fault.Refused, fault.CodeOf(err), "%w; a likely reason: %s", err, strings.Join(hints, "; "))
}

// EjectMedia ejects the medium with the drive's EjectMedia action, or with PATCH if the
// drive has no such action.
func (s *session) EjectMedia(ctx context.Context) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	d, err := s.recentDrive(ctx)
	if err == nil && d.media().Inserted {
		if err = s.sendEject(ctx, d); err == nil {
			s.noteEjected(d.path)
		}
	}
	return s.wrap("eject virtual media", err)
}

// noteEjected notes which drive this conversation has ejected. Some BMCs go on showing the medium as inserted, which is then no
// reason not to insert it (ironic release note fix-redfish-vmedia-stale-insert-skip).
func (s *session) noteEjected(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ejected = path
}

func (s *session) wasEjected(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ejected == path
}

func (s *session) sendEject(ctx context.Context, d virtualDrive) error {
	return s.sendEjectAs(ctx, bmc.NameEject, d)
}

func (s *session) sendEjectAs(ctx context.Context, name string, d virtualDrive) error {
	ctx = bmc.Asking(ctx, name)
	if target := d.Actions.v.Eject.Target; target != "" {
		return s.change(ctx, http.MethodPost, target, "", struct{}{})
	}
	return s.patch(ctx, d.path, d.etag, map[string]any{"Image": nil, "Inserted": false})
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
