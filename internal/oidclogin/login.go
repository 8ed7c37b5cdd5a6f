package oidclogin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"go.temper.dev/temper/internal/access"
)

// The paths of the login in a browser.
const (
	LoginPath    = "/temper/v1/login"
	CallbackPath = "/temper/v1/login/callback"
	LogoutPath   = "/temper/v1/logout"
)

const (
	attemptCookie = "temper_login"
	// attemptLifetime is how long somebody may take to log in at the issuer.
	attemptLifetime = 10 * time.Minute
	// maxTo bounds the path to which a browser goes after a login.
	maxTo = 1024
)

// LoginSettings are those of the login in a browser.
type LoginSettings struct {
	ClientID   string
	SecretFile string   // read for each login, so that it may be replaced; "" = a client without a secret
	Scopes     []string // openid is always asked for
	// Key seals cookies.
	Key [32]byte
	// Base is what the URLs of this API begin with for the client of a request, as https://host or https://host/prefix.
	Base func(*http.Request) string
	// Lifetime is how long a login lasts.
	Lifetime time.Duration
	// Keep, if it is set, takes out of an identity what nothing depends on, so that the rest fits a cookie.
	Keep func(*access.Identity)
}

// Login lets people log in in a browser, by the code flow with PKCE. It keeps nothing: what belongs to a login is in cookies.
type Login struct {
	LoginSettings
	issuer *Issuer
	jar    *jar
}

// Login returns the login in a browser at the issuer.
func (i *Issuer) Login(s LoginSettings) (*Login, error) {
	j, err := newJar(s.Key, i.URL+"\x00"+s.ClientID, s.Base)
	if err != nil {
		return nil, fmt.Errorf("the key of cookies: %w", err)
	}
	return &Login{s, i, j}, nil
}

// attempt is what the cookie of somebody holds who is about to log in at the issuer.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // of PKCE
	To       string `json:"to"`       // where the browser goes afterwards
	Expires  int64  `json:"expires"`
}

// Begin answers GET LoginPath: it sends the browser to the issuer. The parameter to is the path to which the browser goes after the
// login.
func (l *Login) Begin(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to")
	if to == "" {
		to = "/"
	}
	if !local(to) {
		l.fail(w, http.StatusBadRequest, "The parameter to must be a path of this API, such as /v1/nodes.")
		return
	}
	found, err := l.issuer.discover(r.Context())
	if err != nil {
		l.away(w)
		return
	}
	c, err := l.client(r, found)
	if err != nil {
		l.issuer.Log.Error("the secret of auth.oidc_client_secret_file can't be read", zap.Error(err))
		l.fail(w, http.StatusInternalServerError, "The login is not set up; its log says why.")
		return
	}
	a := attempt{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to,
		Expires: l.issuer.Now().Add(attemptLifetime).Unix(),
	}
	cookie, err := l.jar.seal(r, attemptCookie, a, attemptLifetime)
	if err != nil {
		l.fail(w, http.StatusBadRequest, "The parameter to is too long.")
		return
	}
	http.SetCookie(w, cookie)
	private(w)
	http.Redirect(w, r, c.AuthCodeURL(a.State, oauth2.SetAuthURLParam("nonce", a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), http.StatusFound)
}

// Callback answers GET CallbackPath, to which the issuer sends the browser back.
func (l *Login) Callback(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, l.jar.gone(r, attemptCookie)) // an attempt is for one answer
	private(w)
	var a attempt
	query := r.URL.Query()
	err := l.jar.open(r, attemptCookie, &a)
	if err != nil || !l.issuer.Now().Before(time.Unix(a.Expires, 0)) || subtle.ConstantTimeCompare([]byte(a.State), []byte(query.Get("state"))) != 1 {
		l.fail(w, http.StatusBadRequest, "This browser began no such login, or it took too long. Log in again at "+LoginPath+".")
		return
	}
	if why := query.Get("error"); why != "" {
		l.issuer.Log.Info("the issuer refused a login", zap.String("error", short(why)))
		l.fail(w, http.StatusForbidden, "The identity provider refused the login: "+short(why)+".")
		return
	}
	id, err := l.exchange(r, query.Get("code"), a)
	if err != nil {
		l.refused(w, err)
		return
	}
	cookie, err := l.jar.seal(r, sessionCookie, l.sessionOf(id), l.Lifetime)
	if err != nil {
		l.issuer.Log.Warn("a login was refused, because the user's groups and claims do not fit a cookie", zap.String("user", id.User), zap.Int("groups", len(id.Groups)))
		l.fail(w, http.StatusForbidden, "Your groups and claims do not fit a cookie. The identity provider has to send fewer of them to this client.")
		return
	}
	l.issuer.Log.Info("somebody logged in", zap.String("user", id.User))
	http.SetCookie(w, cookie)
	http.Redirect(w, r, a.To, http.StatusFound)
}

// Logout answers POST LogoutPath: it takes the cookie out of the browser. The answer is {"logout_url": URL}, where the browser can
// also log out at the issuer, or {} if the issuer offers that nowhere.
func (l *Login) Logout(w http.ResponseWriter, r *http.Request) {
	if !l.ownOrigin(r) {
		l.fail(w, http.StatusForbidden, "A logout must come from a page of this API.")
		return
	}
	http.SetCookie(w, l.jar.gone(r, sessionCookie))
	private(w)
	answer := map[string]string{}
	if found, err := l.issuer.discover(r.Context()); err == nil && found.more.EndSession != "" {
		if at, err := url.Parse(found.more.EndSession); err == nil {
			q := at.Query()
			q.Set("client_id", l.ClientID)
			at.RawQuery = q.Encode()
			answer["logout_url"] = at.String()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails only if the client has gone
}

// client is this API as a client of the issuer.
func (l *Login) client(r *http.Request, found *discovered) (*oauth2.Config, error) {
	c := &oauth2.Config{
		ClientID: l.ClientID, Endpoint: found.Endpoint(), RedirectURL: l.Base(r) + CallbackPath,
		Scopes: append([]string{"openid"}, slices.DeleteFunc(slices.Clone(l.Scopes), func(s string) bool { return s == "openid" })...),
	}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	if l.SecretFile == "" {
		return c, nil
	}
	secret, err := os.ReadFile(l.SecretFile)
	if err != nil {
		return nil, err
	}
	c.ClientSecret = strings.TrimSpace(string(secret))
	if of := found.more.TokenAuth; len(of) == 0 || slices.Contains(of, "client_secret_basic") { // OpenID Connect Discovery: the default
		c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	return c, nil
}

// exchange gets the tokens for a code, and returns whom they name.
func (l *Login) exchange(r *http.Request, code string, a attempt) (*access.Identity, error) {
	found, err := l.issuer.discover(r.Context())
	if err != nil {
		return nil, err
	}
	c, err := l.client(r, found)
	if err != nil {
		return nil, err
	}
	ctx, cancel := l.issuer.context(r.Context())
	defer cancel()
	tokens, err := c.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, exchangeError(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	t, err := l.issuer.verify(ctx, raw, []string{l.ClientID})
	if err != nil {
		return nil, err
	}
	if nonce, _ := t.claims["nonce"].(string); subtle.ConstantTimeCompare([]byte(nonce), []byte(a.Nonce)) != 1 {
		return nil, refuse("it is for another login")
	}
	if err := l.ask(ctx, found, tokens, t.claims); err != nil {
		return nil, err
	}
	id, err := l.issuer.identity(t.claims, l.issuer.Now().Add(l.Lifetime))
	if err == nil && l.Keep != nil {
		l.Keep(id)
	}
	return id, err
}

// ask adds the answer of the userinfo endpoint to the claims of an ID token. Many issuers leave names and groups out of ID tokens.
func (l *Login) ask(ctx context.Context, found *discovered, tokens *oauth2.Token, claims map[string]any) error {
	if found.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return fmt.Errorf("ask the issuer for the user: %w", err)
	}
	if info.Subject != claims["sub"] {
		return refuse("the identity provider names another user")
	}
	more, err := claimsOf(info.Claims)
	if err != nil {
		return refuse("the answer of the userinfo endpoint can't be read")
	}
	for name, value := range more {
		if _, there := claims[name]; !there { // what is signed counts
			claims[name] = value
		}
	}
	return nil
}

// exchangeError hides what the issuer's answer says besides its code: it may repeat what was sent.
func exchangeError(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.Response != nil {
		if s := answer.Response.StatusCode; s >= 400 && s < 500 {
			return refuse("the identity provider does not take its code back (%s)", short(answer.ErrorCode))
		}
		return fmt.Errorf("%w: the token endpoint answers %s", errAway, answer.Response.Status)
	}
	return fmt.Errorf("%w: %w", errAway, err)
}

// refused answers a login that has failed.
func (l *Login) refused(w http.ResponseWriter, err error) {
	l.issuer.Log.Warn("a login failed", zap.Error(err))
	var wrong *invalid
	if errors.As(err, &wrong) {
		l.fail(w, http.StatusForbidden, "The login is not accepted: "+wrong.why+".")
		return
	}
	l.away(w)
}

func (l *Login) away(w http.ResponseWriter) {
	refusal := away()
	w.Header().Set("Retry-After", strconv.Itoa(int(refusal.RetryAfter.Seconds())))
	l.fail(w, refusal.Status, refusal.Message+".")
}

func (l *Login) fail(w http.ResponseWriter, status int, message string) {
	private(w)
	http.Error(w, message, status)
}

// private keeps an answer out of caches, and the URL with the code out of the requests of the next page.
func private(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
}

// local reports whether to is a path on this host for every browser: some take \ for /, and leave control characters out.
func local(to string) bool {
	if len(to) > maxTo || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsFunc(to, func(c rune) bool { return c == '\\' || c < ' ' || c == 0x7f }) {
		return false
	}
	u, err := url.Parse(to)
	return err == nil && u.Host == "" && u.Scheme == ""
}

// short is a code of the issuer's, as an error of OAuth, without what is no part of such a code.
func short(code string) string {
	return strings.Map(func(c rune) rune {
		if c < '!' || c > '~' {
			return '?'
		}
		return c
	}, code[:min(len(code), 60)])
}
