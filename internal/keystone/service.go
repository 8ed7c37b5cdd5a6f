package keystone

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/dial"
)

// maxAnswer bounds an answer of Keystone, which has the cloud's catalog in it.
const maxAnswer = 4 << 20

var (
	// errUnknown means that Keystone does not know a token: it has expired, was revoked or was never one.
	errUnknown = errors.New("Keystone does not know the token") //nolint:staticcheck // a name
	// errAway means that Keystone could not be asked, so that a token may be good or bad.
	errAway = errors.New("Keystone can't be asked") //nolint:staticcheck // a name
)

// service is Keystone, as the user of clouds.yaml sees it.
type service struct {
	url  string // with v3/ at its end
	auth gophercloud.AuthOptions
	web  http.Client
	now  func() time.Time
	log  *zap.Logger

	mu     sync.Mutex
	client *gophercloud.ServiceClient // nil = not logged in yet
	failed time.Time                  // when it could not be asked; zero = it could, the last time
}

func newService(s Settings) (*service, error) {
	// The library's error could repeat parts of the file.
	auth, _, secure, err := clouds.Parse(clouds.WithLocations(s.CloudsFile), clouds.WithCloudName(s.Cloud))
	if err != nil || auth.IdentityEndpoint == "" {
		return nil, fmt.Errorf("the file of clouds_file can't be read, or has no cloud %q with an auth_url", s.Cloud)
	}
	auth.AllowReauth = true
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own is one
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport.TLSClientConfig = secure
	transport.MaxIdleConnsPerHost = turns
	client, err := openstack.NewClient(auth.IdentityEndpoint)
	if err != nil {
		return nil, fmt.Errorf("the auth_url of cloud %q in the file of clouds_file is no URL", s.Cloud)
	}
	return &service{
		url: client.IdentityBase + "v3/", auth: auth, now: s.Now, log: s.Log,
		web: http.Client{
			Timeout: askTimeout, Transport: dial.Limited(transport, maxAnswer),
			// A redirect would take tokens to another place.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// token is what Keystone says of one.
type token struct {
	Expires time.Time `json:"expires_at"`
	User    owner     `json:"user"`
	Project owner     `json:"project"`
	System  struct {
		All bool `json:"all"`
	} `json:"system"`
	Roles []struct {
		Name string `json:"name"`
	} `json:"roles"`
}

// owner is a user or a project.
type owner struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"domain"`
}

// look asks Keystone about a token. The error is errUnknown or errAway.
func (s *service) look(ctx context.Context, raw string) (*token, error) {
	client, err := s.login(ctx)
	if err != nil {
		return nil, err
	}
	answer := tokens.Get(ctx, client, raw)
	if ofToken(answer.Err) {
		return nil, errUnknown
	}
	var t token
	if err := answer.Err; err != nil {
		return nil, s.away(reason(err))
	}
	if err := answer.ExtractInto(&t); err != nil || t.User.Name == "" || t.Expires.IsZero() {
		return nil, s.away("its answer about a token is not that of Keystone v3")
	}
	return &t, nil
}

// ofToken reports whether Keystone's answer is about the token: it has none, or can't read it. Other answers are about our own login,
// or about Keystone.
func ofToken(err error) bool {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge} {
		if gophercloud.ResponseCodeIs(err, status) {
			return true
		}
	}
	return false
}

// login returns the client, which logs in again by itself when its own token has expired.
func (s *service) login(ctx context.Context) (*gophercloud.ServiceClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.failed) < awayPause {
		return nil, errAway
	}
	if s.client != nil {
		return s.client, nil
	}
	provider, err := openstack.NewClient(s.auth.IdentityEndpoint)
	if err != nil {
		return nil, s.isAway(reason(err))
	}
	provider.HTTPClient = s.web
	auth := s.auth
	if err := openstack.AuthenticateV3(ctx, provider, &auth, gophercloud.EndpointOpts{}); err != nil {
		return nil, s.isAway("the login of clouds_file: " + reason(err))
	}
	if s.client, err = openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{}); err != nil {
		return nil, s.isAway(reason(err))
	}
	return s.client, nil
}

func (s *service) away(why string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isAway(why)
}

// isAway notes that Keystone could not be asked. The caller holds s.mu.
func (s *service) isAway(why string) error {
	if s.now().Sub(s.failed) >= awayPause { // one line for all requests that failed together
		s.log.Warn("Keystone can't be asked about tokens; their requests get 503", zap.String("url", s.url), zap.String("why", why))
	}
	s.failed = s.now()
	return errAway
}

// reason tells why Keystone could not be asked, without its own words: they may have tokens in them.
func reason(err error) string {
	var unable *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &unable) {
		return "a new login of clouds_file: " + reason(unable.ErrReauth)
	}
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		return fmt.Sprintf("Keystone answers %d %s", answer.Actual, http.StatusText(answer.Actual))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + askTimeout.String()
	}
	return strings.ToValidUTF8(err.Error(), "?")
}
