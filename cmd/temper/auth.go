package main

import (
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/grants"
	"go.temper.dev/temper/internal/keystone"
	"go.temper.dev/temper/internal/oidclogin"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/tokens"
)

// authOf says who may use the API, and logs who may do everything.
func (p *process) authOf(r *config.API, db tokens.Store) (api.Auth, error) {
	c, a := r.Auth, api.Auth{Strategy: api.NoAuth}
	if c.Uses(config.NoAuth) || c.Strategy == "" {
		return a, nil
	}
	a.Others = append(a.Others, tokens.NewAuthenticator(db, time.Now, p.log))
	if c.Uses(config.HTTPBasic) {
		a.Strategy, a.File = api.HTTPBasic, c.HtpasswdFile
	}
	var keep func(*access.Identity)
	if c.AccessFile != "" {
		f, err := grants.Open(c.AccessFile, time.Now, p.log)
		if err != nil {
			return a, err
		}
		a.Assign, keep = f.Assign, f.Keep
	} else if c.Uses(config.HTTPBasic) {
		p.log.Warn("auth.access_file is not set: everybody with a name and a password may do everything", zap.String("htpasswd_file", c.HtpasswdFile))
	}
	if c.Uses(config.OIDC) {
		if err := p.addIssuer(&a, r, keep); err != nil {
			return a, err
		}
	}
	if c.Uses(config.Keystone) {
		k, err := keystone.New(keystone.Settings{
			CloudsFile: r.CloudFile, Cloud: r.KeystoneCloud(), ServiceProject: c.Keystone.ServiceProject, ServiceDomain: c.Keystone.ServiceDomain, Now: time.Now, Log: p.log,
		})
		if err != nil {
			return a, err
		}
		a.Others = append(a.Others, k)
	}
	return a, nil
}

// addIssuer lets users of the OpenID Connect issuer log in, by tokens and, where Temper is its client, in a browser.
func (p *process) addIssuer(a *api.Auth, r *config.API, keep func(*access.Identity)) error {
	o := r.Auth.OIDC
	issuer, err := oidclogin.New(oidclogin.Settings{
		URL: o.Issuer, Audiences: o.Audiences(), UserClaim: o.UserClaim, GroupsClaim: o.GroupsClaim, CAFile: o.CA, Leeway: o.Leeway, Now: time.Now, Log: p.log,
	})
	if err != nil {
		return err
	}
	a.Others = append(a.Others, issuer.Bearer())
	if o.ClientID == "" {
		return nil
	}
	keys, err := readKeyset(r.Database)
	if err != nil {
		return err
	}
	key, err := store.DeriveKey(keys, "cookies of logins")
	if err != nil {
		return err
	}
	login, err := issuer.Login(oidclogin.LoginSettings{
		ClientID: o.ClientID, SecretFile: o.SecretFile, Scopes: o.Scopes, Key: key, Base: baseOf(r.PublicURL), Lifetime: o.Session, Keep: keep,
	})
	if err != nil {
		return err
	}
	a.Others, a.Login = append(a.Others, login.Session()), login
	return nil
}

// baseOf returns the beginning of the API's URLs for the client of a request.
func baseOf(publicURL string) func(*http.Request) string {
	return func(r *http.Request) string {
		switch {
		case publicURL != "":
			return strings.TrimSuffix(publicURL, "/")
		case r.TLS != nil:
			return "https://" + r.Host
		default:
			return "http://" + r.Host
		}
	}
}
