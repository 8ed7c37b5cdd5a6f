// Package issuertest is a real OpenID Connect issuer for tests: zitadel's OpenID provider with the storage of its examples, changed
// where tests need other users, clients, keys and claims. Only tests may import it.
package issuertest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Names that the issuer knows.
const (
	Audience = "temper-api" // of bearer tokens
	Client   = "temper"     // of logins in a browser
	Secret   = "client secret of temper"
	Password = "open sesame" // of all users
)

// Issuer is a running issuer. Its fields may be changed between requests.
type Issuer struct {
	URL string
	// Requests counts those for the keys.
	Requests atomic.Int64

	mu      sync.Mutex
	key     *key
	user    string         // who is logged in at the issuer
	extra   map[string]any // claims of all tokens
	server  *httptest.Server
	handler http.Handler
	address string
}

// New starts an issuer. redirect is the only URL to which it sends a browser back after a login.
func New(t *testing.T, redirect string) *Issuer {
	t.Helper()
	i := &Issuer{key: newKey(t), user: "alice"}
	server := httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	i.address = server.Listener.Addr().String()
	i.URL = "http://" + i.address
	i.handler = i.provider(t, redirect)
	i.start(server)
	t.Cleanup(i.Stop)
	return i
}

func (i *Issuer) provider(t *testing.T, redirect string) http.Handler {
	t.Helper()
	web := storage.WebClient(Client, Secret, redirect)
	kept := &store{Storage: storage.NewStorageWithClients(users{}, map[string]*storage.Client{Client: web}), issuer: i}
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: sha256.Sum256([]byte(rand.Text())), CodeMethodS256: true, AuthMethodPost: true,
	}, kept, op.StaticIssuer(i.URL), op.WithAllowInsecure())
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	back := op.AuthCallbackURL(provider)
	mux.Handle("/login/username", op.NewIssuerInterceptor(provider.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		i.mu.Lock()
		defer i.mu.Unlock()
		if err := kept.CheckUsernamePassword(i.user, Password, id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, back(r.Context(), id), http.StatusFound)
	}))
	return mux
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/keys" {
		i.Requests.Add(1)
	}
	i.handler.ServeHTTP(w, r)
}

func (i *Issuer) start(server *httptest.Server) {
	server.Start()
	i.server = server
}

// Stop takes the issuer off the network.
func (i *Issuer) Stop() { i.server.Close() }

// Start brings a stopped issuer back, at the same address.
func (i *Issuer) Start(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", i.address)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	_ = server.Listener.Close() // it gets the address of before
	server.Listener = l
	i.start(server)
}

// Rotate replaces the key with which tokens are signed. Nothing is left of the one before.
func (i *Issuer) Rotate(t *testing.T) {
	t.Helper()
	k := newKey(t)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = k
}

// Key returns the key with which tokens are signed, for forgeries.
func (i *Issuer) Key() (id string, public any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.key.id, i.key.Key()
}

// Sign returns a token with a type and claims of the test's choice, signed with the issuer's key.
func (i *Issuer) Sign(t *testing.T, kind string, claims map[string]any) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{KeyID: i.key.id, Key: i.key.private}},
		(&jose.SignerOptions{}).WithType(jose.ContentType(kind)))
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// LogIn makes user the one who is logged in at the issuer.
func (i *Issuer) LogIn(user string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.user = user
}

// Claim adds a claim to all tokens from now on; nil takes one out.
func (i *Issuer) Claim(name string, value any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	more := map[string]any{}
	for k, v := range i.extra {
		more[k] = v
	}
	more[name] = value
	i.extra = more
}

// Token returns a token of a user for an audience, as the issuer's token endpoint gives it out.
func (i *Issuer) Token(t *testing.T, user, audience string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {audience}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.URL+"/oauth/token", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(user), url.QueryEscape(Password))
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	require.NoError(t, jsonvalue.NewDecoder(resp.Body).Decode(&answer))
	require.Equal(t, http.StatusOK, resp.StatusCode, answer.Error)
	return answer.Token
}
