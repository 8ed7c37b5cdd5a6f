package main

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/config"
)

func TestAListenerThatSpeaksTLSIsReachedWithItsAuthority(t *testing.T) {
	dir := t.TempDir()
	example := httptest.NewTLSServer(http.NotFoundHandler()) // whose certificate is for 127.0.0.1
	t.Cleanup(example.Close)
	settings := config.Process{TLSCert: filepath.Join(dir, "cert"), TLSKey: filepath.Join(dir, "key")}
	p := &process{log: zap.NewNop()}
	_, err := p.listen(settings, "127.0.0.1:0")
	require.ErrorContains(t, err, "read the certificate: ")
	writePair(t, example, settings)
	l, err := p.listen(settings, "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"commands": []}`)) })} //nolint:gosec // a test's own requests
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	url := baseURL(settings, l.Addr())
	require.Regexp(t, `^https://127\.0\.0\.1:\d+$`, url)
	ask := func(ca string) error {
		c, err := client.New(client.Config{URL: url, CAFile: ca})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Once(client.DefaultTimeout).Why(t.Context(), "n1")
		return err
	}
	require.NoError(t, ask(settings.TLSCert))
	require.ErrorContains(t, ask(""), "certificate")
	_, err = client.New(client.Config{URL: url, CAFile: settings.TLSKey})
	require.ErrorContains(t, err, "read the authorities of the API's certificate: ")
}

// writePair writes the certificate of s and its key.
func writePair(t *testing.T, s *httptest.Server, c config.Process) {
	t.Helper()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{c.TLSCert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, c.TLSKey: {Type: "PRIVATE KEY", Bytes: key}} {
		require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
}

func TestThePlainPasswordsAreRepeatedInTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		auth    config.ListenerAuth
		process config.Process
		listen  string
		warns   int
	}{
		"plain":       {config.ListenerAuth{Strategy: config.HTTPBasic, Plain: true}, config.Process{}, ":6385", 1},
		"with TLS":    {config.ListenerAuth{Strategy: config.HTTPBasic, Plain: true}, config.Process{TLSCert: "cert"}, ":6385", 0},
		"on loopback": {config.ListenerAuth{Strategy: config.HTTPBasic}, config.Process{}, net.JoinHostPort("127.0.0.1", "0"), 0},
		"no password": {config.ListenerAuth{Strategy: config.NoAuth}, config.Process{}, ":6385", 0},
	} {
		t.Run(name, func(t *testing.T) {
			core, seen := observer.New(zap.WarnLevel)
			(&process{log: zap.New(core)}).warnOfPlainPasswords(c.auth, c.process, c.listen)
			require.Len(t, seen.All(), c.warns)
		})
	}
}

// Agents and BMCs have listeners of their own where the settings say so, and that of BMCs speaks no TLS.
func TestAgentsAndBMCsHaveListenersOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	example := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(example.Close)
	r := &config.API{Listen: "127.0.0.1:0"}
	r.Process = config.Process{TLSCert: filepath.Join(dir, "cert"), TLSKey: filepath.Join(dir, "key")}
	writePair(t, example, r.Process)
	for name, c := range map[string]struct {
		agents config.Agents
		want   []api.Audience
		at     string
	}{
		"one for all":          {config.Agents{}, []api.Audience{api.Clients | api.Agents | api.BMCs}, `^ $`},
		"one for agents":       {config.Agents{Listen: "127.0.0.1:0"}, []api.Audience{api.Clients, api.Agents | api.BMCs}, `^https://127.0.0.1:\d+ $`},
		"and one for BMCs":     {config.Agents{Listen: "127.0.0.1:0", Media: "127.0.0.1:0"}, []api.Audience{api.Clients, api.Agents | api.BMCs, api.BMCs}, `^https://\S+ http://127.0.0.1:\d+$`},
		"clients' serves both": {config.Agents{Listen: "127.0.0.1:0", Public: true}, []api.Audience{api.Clients | api.Agents | api.BMCs, api.Agents | api.BMCs}, `^https://\S+ $`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &process{log: zap.NewNop()}
			r.Agents = c.agents
			all, err := p.apiDoors(r)
			require.NoError(t, err)
			defer closeAll(all)
			var got []api.Audience
			for _, o := range all {
				got = append(got, o.door.For)
			}
			require.Equal(t, c.want, got)
			require.Regexp(t, c.at, p.at.AgentURL+" "+p.at.MediaURL)
		})
	}
	r.Agents = config.Agents{Listen: "127.0.0.1:0", Media: "no address"}
	_, err := (&process{log: zap.NewNop()}).apiDoors(r)
	require.ErrorContains(t, err, "listen")
}
