package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/origin"
)

// The strategies of Auth. Without one, loopback has noauth, and other addresses are refused.
const (
	NoAuth    = "noauth"
	HTTPBasic = "http_basic"
	OIDC      = "oidc"
	Keystone  = "keystone"
)

// ListenerAuth says who may use a listener: that of a compute service, which knows HTTP Basic only, or the API.
type ListenerAuth struct {
	Strategy     string `key:"strategy" help:"how clients log in: http_basic, oidc, keystone, or several of them with commas; noauth lets everybody in; of these a compute service has http_basic and noauth only; required if the API or compute service listens on more than loopback"`
	HtpasswdFile string `key:"htpasswd_file" help:"file with users and bcrypt hashes, for http_basic"`
	Plain        bool   `key:"plain_http" default:"false" help:"whether passwords and tokens may cross the network without TLS, where a proxy or an internal network protects them"`
}

// Strategies returns the strategies in their order; none if the setting is empty.
func (a ListenerAuth) Strategies() []string {
	var out []string
	for s := range strings.SplitSeq(a.Strategy, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Uses reports whether a strategy is one of those that are set.
func (a ListenerAuth) Uses(strategy string) bool { return slices.Contains(a.Strategies(), strategy) }

// Auth says who may use the API.
type Auth struct {
	ListenerAuth
	AccessFile string `key:"access_file" help:"file that says which roles users, groups and claims have (docs/security.md); read again when it changes; without it, whoever has a password by http_basic is an administrator"`
	OIDC       AuthOIDC
	Keystone   AuthKeystone
}

// AuthOIDC says which issuer of OpenID Connect names users, and how people log in there in a browser.
type AuthOIDC struct {
	Issuer      string        `key:"oidc_issuer" help:"URL of the issuer whose tokens are accepted, as its configuration writes it, for oidc"`
	Audience    []string      `key:"oidc_audience" help:"values of aud of which a bearer token needs one; empty is oidc_client_id"`
	UserClaim   string        `key:"oidc_user_claim" help:"claim that names the user; empty is preferred_username, else email if the issuer has verified it, else sub"`
	GroupsClaim string        `key:"oidc_groups_claim" default:"groups" help:"claim with the groups of the user"`
	CA          string        `key:"oidc_ca" help:"file with the authorities of the issuer's certificate, PEM, besides the system's"`
	Leeway      time.Duration `key:"oidc_leeway" default:"1m" help:"how far the issuer's clock may differ from that of the API"`
	ClientID    string        `key:"oidc_client_id" help:"id of Temper as a client of the issuer, which lets people log in in a browser; the issuer needs the URL of the API with /temper/v1/login/callback as a redirect URI; empty is that people don't log in there"`
	SecretFile  string        `key:"oidc_client_secret_file" help:"file with the client's secret; empty is a public client, which has none"`
	Scopes      []string      `key:"oidc_scopes" default:"profile,email" help:"scopes that a login in a browser asks for besides openid; some issuers want groups here"`
	Session     time.Duration `key:"oidc_session" default:"8h" help:"how long a login in a browser lasts; whatever the issuer revokes, it is not noticed before"`
}

// Audiences returns the audiences of bearer tokens.
func (a AuthOIDC) Audiences() []string {
	if len(a.Audience) == 0 && a.ClientID != "" {
		return []string{a.ClientID}
	}
	return a.Audience
}

// AuthKeystone says which Keystone names users.
type AuthKeystone struct {
	Cloud          string `key:"keystone_cloud" help:"name of the cloud in clouds_file whose user asks Keystone about tokens, for keystone; the user needs the role service or admin; empty is os_cloud"`
	ServiceProject string `key:"keystone_service_project" default:"service" help:"name of the project in which the role service lets other services of the cloud, such as Nova, use all nodes; empty is none"`
	ServiceDomain  string `key:"keystone_service_domain" default:"Default" help:"name or id of the domain of that project"`
}

// requireAuth requires auth.strategy if listen is more than loopback, and TLS if it takes passwords or tokens there. known are the
// strategies of the listener; more are those of others in the same file, which it may leave out.
func (p *problems) requireAuth(a ListenerAuth, c Process, listenKey, listen string, known, more []string) {
	if a.Strategy == "" {
		if !origin.Loopback(listen) {
			p.refuse("auth.strategy", "want %s, or noauth to let everybody in: %s is %s, which is more than this machine", strings.Join(known, ", "), listenKey, listen)
		}
		return
	}
	of, own := a.Strategies(), append(slices.Clone(known), NoAuth)
	isOwn := func(s string) bool { return slices.Contains(own, s) }
	isUnknown := func(s string) bool { return !isOwn(s) && !slices.Contains(more, s) }
	switch {
	case !slices.ContainsFunc(of, isOwn), slices.ContainsFunc(of, isUnknown):
		p.refuse("auth.strategy", "want %s or noauth", strings.Join(known, ", "))
		return
	case a.Uses(NoAuth) && len(of) > 1:
		p.refuse("auth.strategy", "want noauth alone, because it lets everybody in")
		return
	case a.Uses(NoAuth):
		return
	}
	if a.Uses(HTTPBasic) {
		if a.HtpasswdFile == "" {
			p.refuse("auth.htpasswd_file", "want the file with users and bcrypt hashes, because auth.strategy has http_basic")
		}
		p.requireFile("auth.htpasswd_file", a.HtpasswdFile)
	}
	if !origin.Loopback(listen) && !c.TLS() && !a.Plain {
		p.refuse("tls_cert", "want a certificate, because %s is %s, and passwords or tokens would cross the network in the clear; "+
			"auth.plain_http allows that, where a proxy or an internal network protects them", listenKey, listen)
	}
}

// checkAuth checks the settings of each strategy of the API.
func (r *API) checkAuth(p *problems) {
	p.requireAuth(r.Auth.ListenerAuth, r.Process, "listen", r.Listen, []string{HTTPBasic, OIDC, Keystone}, nil)
	p.requireFile("auth.access_file", r.Auth.AccessFile)
	if r.Auth.Uses(OIDC) {
		r.Auth.OIDC.check(p, r.Auth.Plain)
	}
	if r.Auth.Uses(Keystone) && r.CloudFile == "" {
		p.refuse("clouds_file", "want the clouds.yaml with a user who may check tokens, because auth.strategy has keystone")
	}
}

// KeystoneCloud is the name of the cloud in clouds_file whose user asks Keystone about tokens.
func (r *API) KeystoneCloud() string { return cmp.Or(r.Auth.Keystone.Cloud, r.Cloud) }

// maxLeeway is less than most tokens live.
const maxLeeway = 10 * time.Minute

func (a AuthOIDC) check(p *problems, plain bool) {
	u, err := url.Parse(a.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		p.refuse("auth.oidc_issuer", "want the URL of an issuer, such as https://id.example.org/realms/main, because auth.strategy has oidc")
	} else if u.Scheme == "http" && !plain && !origin.LoopbackHost(u.Hostname()) {
		p.refuse("auth.oidc_issuer", "want https, because its keys would cross the network in the clear; auth.plain_http allows that")
	}
	if len(a.Audiences()) == 0 {
		p.refuse("auth.oidc_audience", "want the audience that the issuer writes into tokens for Temper, or oidc_client_id: otherwise a token for any other service would do")
	}
	if a.SecretFile != "" && a.ClientID == "" {
		p.refuse("auth.oidc_client_secret_file", "want it together with auth.oidc_client_id")
	}
	p.requireFile("auth.oidc_client_secret_file", a.SecretFile)
	p.requireFile("auth.oidc_ca", a.CA)
	p.requireNotNegative("auth.oidc_leeway", a.Leeway)
	if a.Leeway > maxLeeway {
		p.refuse("auth.oidc_leeway", "want at most %s", maxLeeway)
	}
	p.requirePositive(map[string]time.Duration{"auth.oidc_session": a.Session})
}
