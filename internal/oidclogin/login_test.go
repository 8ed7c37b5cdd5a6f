package oidclogin_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/oidclogin"
	"go.temper.dev/temper/internal/oidclogin/issuertest"
)

// site is an API with a login in a browser, and its issuer.
type site struct {
	url    string
	issuer *issuertest.Issuer
	clock  *clock
	login  *oidclogin.Login
}

func newSite(t *testing.T, secure bool, change ...func(*oidclogin.LoginSettings)) *site {
	t.Helper()
	s := &site{clock: newClock()}
	mux := http.NewServeMux()
	server := httptest.NewUnstartedServer(mux)
	s.url = "http://" + server.Listener.Addr().String()
	server.Start()
	t.Cleanup(server.Close)
	s.issuer = issuertest.New(t, s.url+oidclogin.CallbackPath)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(issuertest.Secret+"\n"), 0o600))
	settings := oidclogin.LoginSettings{
		ClientID: issuertest.Client, SecretFile: secret, Scopes: []string{"profile", "email"}, Key: [32]byte{1}, Lifetime: 8 * time.Hour,
		Base: func(*http.Request) string { return s.url },
	}
	if secure {
		settings.Base = func(*http.Request) string { return strings.Replace(s.url, "http:", "https:", 1) }
	}
	for _, f := range change {
		f(&settings)
	}
	var err error
	s.login, err = newIssuer(t, s.issuer.URL, s.clock).Login(settings)
	require.NoError(t, err)
	auth := s.login.Session()
	mux.HandleFunc("GET "+oidclogin.LoginPath, s.login.Begin)
	mux.HandleFunc("GET "+oidclogin.CallbackPath, s.login.Callback)
	mux.HandleFunc("POST "+oidclogin.LogoutPath, s.login.Logout)
	mux.HandleFunc("/v1/nodes", func(w http.ResponseWriter, r *http.Request) {
		id, refusal := auth.Authenticate(r)
		switch {
		case refusal != nil:
			http.Error(w, refusal.Message, refusal.Status)
		case id == nil:
			http.Error(w, "no credentials", http.StatusUnauthorized)
		default:
			_ = json.NewEncoder(w).Encode(id)
		}
	})
	return s
}

// browser is a client with cookies.
type browser struct {
	*http.Client
	t    *testing.T
	site *site
}

func (s *site) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{&http.Client{Jar: jar, Timeout: 10 * time.Second}, t, s}
}

// ask sends a request. Redirects are followed.
func (b *browser) ask(method, at string, headers ...string) (status int, body string) {
	b.t.Helper()
	if strings.HasPrefix(at, "/") {
		at = b.site.url + at
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, at, nil)
	require.NoError(b.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.Do(r)
	require.NoError(b.t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	return resp.StatusCode, string(raw)
}

// stopAt makes the browser stop at redirects to URLs that begin so, and keeps the last one.
func (b *browser) stopAt(prefix string) *string {
	last := new(string)
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), prefix) {
			*last = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	return last
}

// cookie returns the cookie of the login.
func (b *browser) cookie() *http.Cookie {
	at, _ := url.Parse(b.site.url)
	for _, c := range b.Jar.Cookies(at) {
		if c.Name == "temper_session" {
			return c
		}
	}
	return nil
}

func (b *browser) set(value string) {
	at, _ := url.Parse(b.site.url)
	b.Jar.SetCookies(at, []*http.Cookie{{Name: "temper_session", Value: value, Path: "/"}})
}

func TestALoginInABrowser(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	status, _ := b.ask("GET", "/v1/nodes")
	require.Equal(t, 401, status)
	status, body := b.ask("GET", oidclogin.LoginPath+"?to=/v1/nodes")
	require.Equal(t, 200, status, body)
	var id access.Identity
	require.NoError(t, json.Unmarshal([]byte(body), &id))
	require.Equal(t, "alice", id.User)
	require.Equal(t, access.OIDC, id.Method)
	require.Equal(t, []string{"operators", "everybody"}, id.Groups)
	require.Equal(t, []any{"operators", "everybody"}, id.Claims["groups"])
	require.Equal(t, "alice@example.org", id.Claims["email"])
	require.Equal(t, "id-alice", id.Claims["sub"])
	require.NotContains(t, id.Claims, "nonce")
	require.Empty(t, id.Grants)
	require.WithinDuration(t, s.clock.at.Add(8*time.Hour), id.Expires, time.Second)

	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"of our own":                       {[]string{"Origin", s.url}, 200},
		"of our own, by the newer header":  {[]string{"Sec-Fetch-Site", "same-origin"}, 200},
		"of another site":                  {[]string{"Origin", "https://evil.example"}, 403},
		"of a neighbour":                   {[]string{"Sec-Fetch-Site", "same-site", "Origin", s.url}, 403},
		"of another port of this host":     {[]string{"Origin", "http://127.0.0.1:1"}, 403},
		"of the same host without TLS":     {[]string{"Origin", strings.Replace(s.url, "http:", "https:", 1)}, 403},
		"of a page without an origin":      {[]string{"Origin", "null"}, 403},
		"that says nothing of where it is": {nil, 403},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			status, body := b.ask(method, "/v1/nodes", c.headers...)
			require.Equal(t, c.status, status, "%s from a page %s: %s", method, name, body)
		}
	}
	status, _ = b.ask("GET", "/v1/nodes", "Origin", "https://evil.example")
	require.Equal(t, 200, status, "the browser does not show the answer to that page")
	status, body = b.ask("GET", "/v1/nodes", "Authorization", "Basic YTpi")
	require.Equal(t, 401, status)
	require.Equal(t, "no credentials\n", body, "other credentials are for other authenticators")

	status, _ = b.ask("POST", oidclogin.LogoutPath)
	require.Equal(t, 403, status)
	require.NotNil(t, b.cookie())
	status, body = b.ask("POST", oidclogin.LogoutPath, "Origin", s.url)
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"logout_url": "`+s.issuer.URL+`/end_session?client_id=temper"}`, body)
	require.Nil(t, b.cookie())
	status, _ = b.ask("GET", "/v1/nodes")
	require.Equal(t, 401, status)
}

func TestTheCookieOfALogin(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	status, _ := b.ask("GET", oidclogin.LoginPath+"?to=/v1/nodes")
	require.Equal(t, 200, status)
	sealed := b.cookie().Value
	require.NotContains(t, sealed, "alice")
	for _, at := range []int{0, 31, 32, len(sealed) / 2, len(sealed) - 1} {
		swapped := byte('A')
		if sealed[at] == 'A' {
			swapped = 'B'
		}
		b.set(sealed[:at] + string(swapped) + sealed[at+1:])
		status, body := b.ask("GET", "/v1/nodes")
		require.Equal(t, 401, status)
		require.Equal(t, "The cookie of the login is not valid; log in again\n", body)
	}
	for _, other := range []string{"x", sealed[:len(sealed)-4], sealed + "AAAA", strings.Repeat("A", 5000), "."} {
		b.set(other)
		status, _ := b.ask("GET", "/v1/nodes")
		require.Equal(t, 401, status, other)
	}
	b.set(sealed)
	status, _ = b.ask("GET", "/v1/nodes")
	require.Equal(t, 200, status)
	s.clock.at = s.clock.at.Add(8*time.Hour + time.Second)
	status, body := b.ask("GET", "/v1/nodes")
	require.Equal(t, 401, status)
	require.Equal(t, "The login has expired; log in again\n", body)

	for name, change := range map[string]func(*oidclogin.LoginSettings){
		"another key":    func(l *oidclogin.LoginSettings) { l.Key = [32]byte{2} },
		"another client": func(l *oidclogin.LoginSettings) { l.ClientID = "other" },
	} {
		other := newSite(t, false, change)
		r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
		r.AddCookie(&http.Cookie{Name: "temper_session", Value: sealed})
		_, refusal := other.login.Session().Authenticate(r)
		require.Equal(t, 401, refusal.Status, name)
	}
}

// The cookie of an attempt has the same key, and is no login.
func TestACookieIsForOnePurpose(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	b.stopAt(s.issuer.URL)
	status, _ := b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	at, _ := url.Parse(s.url)
	require.Len(t, b.Jar.Cookies(at), 1)
	b.set(b.Jar.Cookies(at)[0].Value)
	status, _ = b.ask("GET", "/v1/nodes")
	require.Equal(t, 401, status)
}

func TestAttributesOfCookies(t *testing.T) {
	for secure, name := range map[bool]string{false: "temper_login", true: "__Host-temper_login"} {
		w := httptest.NewRecorder()
		newSite(t, secure).login.Begin(w, httptest.NewRequest(http.MethodGet, oidclogin.LoginPath, nil))
		require.Equal(t, 302, w.Code)
		c := w.Result().Cookies()[0]
		require.Equal(t, name, c.Name)
		require.True(t, c.HttpOnly)
		require.Equal(t, secure, c.Secure)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, "/", c.Path)
		require.Empty(t, c.Domain)
		require.Equal(t, 600, c.MaxAge)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		at, err := url.Parse(w.Header().Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "openid profile email", at.Query().Get("scope"))
		require.Equal(t, "S256", at.Query().Get("code_challenge_method"))
	}
}

func TestOnlyPathsOfOurOwnFollowALogin(t *testing.T) {
	s := newSite(t, false)
	for _, to := range []string{
		"https://evil.example", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "evil.example", "javascript:alert(1)",
		"/a\nb", "/" + strings.Repeat("a", 2000), "/%zz",
	} {
		b := s.browser(t)
		b.stopAt(s.issuer.URL)
		status, _ := b.ask("GET", oidclogin.LoginPath+"?to="+url.QueryEscape(to))
		require.Equal(t, 400, status, to)
	}
	for _, to := range []string{"/", "/v1/nodes?limit=1", "/dashboard#nodes", ""} {
		b := s.browser(t)
		b.stopAt(s.issuer.URL)
		status, _ := b.ask("GET", oidclogin.LoginPath+"?to="+url.QueryEscape(to))
		require.Equal(t, 302, status, to)
	}
}

// A link to the callback with an attacker's code must not log his victim in as him.
func TestTheLoginOfAnotherBrowserIsRefused(t *testing.T) {
	s := newSite(t, false)
	attacker, victim := s.browser(t), s.browser(t)
	callback := attacker.stopAt(s.url + oidclogin.CallbackPath)
	status, _ := attacker.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	require.Contains(t, *callback, "code=")

	status, body := victim.ask("GET", *callback)
	require.Equal(t, 400, status, "a browser that began no login")
	require.Contains(t, body, "This browser began no such login")
	own := victim.stopAt(s.url + oidclogin.CallbackPath)
	status, _ = victim.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	status, _ = victim.ask("GET", *callback)
	require.Equal(t, 400, status, "a browser that began another one")
	require.Nil(t, victim.cookie())

	// With a state of the victim's own, the code of the attacker does not fit the verifier.
	status, _ = victim.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	theirs, _ := url.Parse(*callback)
	mine, _ := url.Parse(*own)
	q := mine.Query()
	q.Set("code", theirs.Query().Get("code"))
	status, body = victim.ask("GET", oidclogin.CallbackPath+"?"+q.Encode())
	require.Equal(t, 403, status)
	require.Contains(t, body, "does not take its code back (invalid_grant)")
	require.Nil(t, victim.cookie())
}

func TestATokenForAnotherNonceIsRefused(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	to := b.stopAt(s.issuer.URL)
	status, _ := b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	at, err := url.Parse(*to)
	require.NoError(t, err)
	q := at.Query()
	q.Set("nonce", "another")
	at.RawQuery = q.Encode()
	b.CheckRedirect = nil
	status, body := b.ask("GET", at.String())
	require.Equal(t, 403, status)
	require.Equal(t, "The login is not accepted: it is for another login.\n", body)
	require.Nil(t, b.cookie())
}

func TestAnAttemptIsForAWhileAndForOnce(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	callback := b.stopAt(s.url + oidclogin.CallbackPath)
	status, _ := b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	s.clock.at = s.clock.at.Add(11 * time.Minute)
	status, _ = b.ask("GET", *callback)
	require.Equal(t, 400, status)
	s.clock.at = s.clock.at.Add(-11 * time.Minute)
	status, _ = b.ask("GET", *callback)
	require.Equal(t, 400, status, "the cookie went with the first answer")
}

func TestWhatTheIssuerSaysOfAFailedLogin(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	callback := b.stopAt(s.url + oidclogin.CallbackPath)
	status, _ := b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	at, _ := url.Parse(*callback)
	state := at.Query().Get("state")
	status, body := b.ask("GET", oidclogin.CallbackPath+"?error=access_denied%0a<b>&state="+state)
	require.Equal(t, 403, status)
	require.Equal(t, "The identity provider refused the login: access_denied?<b>.\n", body)

	s.issuer.Claim("groups", 7)
	b.CheckRedirect = nil
	status, body = b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 403, status)
	require.Equal(t, "The login is not accepted: its claim groups is not a list of names.\n", body)
	s.issuer.Claim("sub", "id-root")
	status, body = b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 403, status)
	require.Equal(t, "The login is not accepted: the identity provider names another user.\n", body)
}

// A cookie has room for 4 KiB. Whoever has more groups learns why he can't log in, unless the groups that count are fewer.
func TestAUserInTooManyGroups(t *testing.T) {
	many := make([]any, 0, 300)
	for range 300 {
		many = append(many, "a group with a long name")
	}
	s := newSite(t, false)
	s.issuer.Claim("groups", many)
	status, body := s.browser(t).ask("GET", oidclogin.LoginPath+"?to=/v1/nodes")
	require.Equal(t, 403, status)
	require.Contains(t, body, "Your groups and claims do not fit a cookie.")

	s = newSite(t, false, func(l *oidclogin.LoginSettings) { l.Keep = func(id *access.Identity) { id.Groups = id.Groups[:1] } })
	s.issuer.Claim("groups", many)
	b := s.browser(t)
	status, _ = b.ask("GET", oidclogin.LoginPath+"?to=/v1/nodes")
	require.Equal(t, 200, status)
	require.Less(t, len(b.cookie().Value), 1000)
}

func TestNobodyLogsInWhileTheIssuerIsAway(t *testing.T) {
	s := newSite(t, false)
	b := s.browser(t)
	s.issuer.Stop()
	status, _ := b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 503, status)
	s.issuer.Start(t)
	s.clock.at = s.clock.at.Add(3 * time.Second)
	callback := b.stopAt(s.url + oidclogin.CallbackPath)
	status, _ = b.ask("GET", oidclogin.LoginPath)
	require.Equal(t, 302, status)
	s.issuer.Stop()
	status, body := b.ask("GET", *callback)
	require.Equal(t, 503, status)
	require.Equal(t, "The identity provider can't be reached, so the login can't be checked; try again.\n", body)
}
