package oidclogin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/oidclogin"
)

// secureIssuer is an issuer with TLS and a key of another kind, among keys that are not for us.
type secureIssuer struct {
	*httptest.Server
	key  *rsa.PrivateKey
	jwks string // "" = its own
}

func newSecureIssuer(t *testing.T) *secureIssuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	s := &secureIssuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		jwks := s.jwks
		if jwks == "" {
			jwks = s.URL + "/keys"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": s.URL, "jwks_uri": jwks, "token_endpoint": s.URL + "/token", "authorization_endpoint": s.URL + "/auth"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]any{"kty": "of the future", "kid": "x"},
			map[string]any{"kty": "oct", "k": "c2VjcmV0", "kid": "y"},
			jose.JSONWebKey{Key: key.Public(), KeyID: "encrypts", Use: "enc"},
			jose.JSONWebKey{Key: key.Public(), KeyID: "signs", Use: "sig"},
		}})
	})
	s.Server = httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *secureIssuer) token(t *testing.T, kid string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.PS256, Key: jose.JSONWebKey{KeyID: kid, Key: s.key}}, nil)
	require.NoError(t, err)
	payload, err := json.Marshal(map[string]any{"iss": s.URL, "sub": "alice", "aud": "temper-api", "exp": time.Now().Add(time.Hour).Unix()})
	require.NoError(t, err)
	signed, err := signer.Sign(payload)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

func TestAnIssuerWithAnAuthorityOfItsOwn(t *testing.T) {
	s := newSecureIssuer(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	trusting := func(c *oidclogin.Settings) { c.CAFile = ca }
	_, refusal := newIssuer(t, s.URL, newClock()).Bearer().Authenticate(withBearer(s.token(t, "signs")))
	require.Equal(t, 503, refusal.Status, "its certificate is not known")

	bearer := newIssuer(t, s.URL, newClock(), trusting).Bearer()
	for kid, want := range map[string]int{"signs": 200, "": 200, "encrypts": 401, "y": 401} {
		id, refusal := bearer.Authenticate(withBearer(s.token(t, kid)))
		if want == 200 {
			require.Nil(t, refusal, kid)
			require.Equal(t, "alice", id.User)
			continue
		}
		require.Equal(t, want, refusal.Status, kid)
	}

	s.jwks = strings.Replace(s.URL, "https:", "http:", 1) + "/keys"
	_, refusal = newIssuer(t, s.URL, newClock(), trusting).Bearer().Authenticate(withBearer(s.token(t, "signs")))
	require.Equal(t, 503, refusal.Status, "keys without TLS")
	_, err := oidclogin.New(oidclogin.Settings{CAFile: "/nowhere"})
	require.ErrorContains(t, err, "read the authorities of the issuer's certificate: ")
}
