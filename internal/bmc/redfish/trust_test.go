package redfish

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// certificate makes a self-signed certificate for a BMC at 127.0.0.1. change may alter its template.
func certificate(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bmc.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func pemOf(c tls.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}))
}

func testCA(t *testing.T) []byte { return []byte(pemOf(certificate(t, nil))) }

// tlsBMC answers every request with a system that is on.
func tlsBMC(t *testing.T, c tls.Certificate) string {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"PowerState": "On"}`)
	}))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

func readPower(t *testing.T, info map[string]any) error {
	t.Helper()
	d := New(Config{Settings: here})
	defer d.Close(context.WithoutCancel(t.Context()))
	info["redfish_system_id"] = "/redfish/v1/Systems/1"
	s, err := d.Open(t.Context(), bmc.Target{Node: "n1", Info: info})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Power(t.Context())
	return err
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	good, other := certificate(t, nil), certificate(t, nil)
	expired := certificate(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	elsewhere := certificate(t, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.example.org"} })
	for name, c := range map[string]struct {
		shows  tls.Certificate
		verify any
		words  []string // of the error; none = the certificate is trusted
	}{
		"a self-signed certificate is not trusted":   {good, nil, []string{"not signed by a trusted CA", "redfish_verify_ca", "bmc.example.org", "SHA-256"}},
		"a certificate is trusted by its CA":         {good, pemOf(good), nil},
		"a certificate is not trusted by another CA": {good, pemOf(other), []string{"not signed by a trusted CA"}},
		"an expired certificate is told":             {expired, pemOf(expired), []string{"not valid at this time", "redfish_verify_ca"}},
		"a certificate for another name is told":     {elsewhere, pemOf(elsewhere), []string{"for another host", "redfish_address"}},
		"anything is accepted by those who say so":   {expired, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := readPower(t, map[string]any{"redfish_address": tlsBMC(t, c.shows), "redfish_verify_ca": c.verify})
			if len(c.words) == 0 {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.Untrusted, fault.KindOf(err), "%v", err)
			for _, w := range c.words {
				require.ErrorContains(t, err, w)
			}
		})
	}
}

func TestATLSBMCThatSpeaksPlainHTTPIsUnreachable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	err := readPower(t, map[string]any{"redfish_address": "https" + srv.URL[len("http"):]})
	require.Equal(t, fault.Unreachable, fault.KindOf(err))
	require.ErrorContains(t, err, "it speaks HTTP, not HTTPS")
}

// If gofish.Connect is told not to verify one BMC, it switches verification off for
// http.DefaultTransport, which the whole process uses. The driver must not.
func TestNotVerifyingOneBMCLeavesTheRestOfTheProcessAlone(t *testing.T) {
	t.Parallel()
	address := tlsBMC(t, certificate(t, nil))
	ask := func() error {
		resp, err := http.Get(address) // the client that the whole process shares
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	require.Error(t, ask())
	require.NoError(t, readPower(t, map[string]any{"redfish_address": address, "redfish_verify_ca": false}))
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	require.Error(t, ask(), "the process trusts nobody new")
	if c := http.DefaultTransport.(*http.Transport).TLSClientConfig; c != nil {
		require.False(t, c.InsecureSkipVerify)
	}
}

// Whether a host name is allowed depends on the address that it resolves to at the time of the connection.
func TestABMCOnThisMachineIsNotAskedUnlessItMay(t *testing.T) {
	t.Parallel()
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, `{"PowerState": "On"}`)
	}))
	t.Cleanup(srv.Close)
	i, err := parseInfo(map[string]any{"redfish_address": srv.URL, "redfish_system_id": "/redfish/v1/Systems/1"}, here)
	require.NoError(t, err)
	e := newEndpoint(i, bmc.NewShared(bmc.Settings{MaxPerBMC: 1}.WithDefaults()), Config{}.WithDefaults(), make(chan struct{}, 1))
	_, err = e.fetch(t.Context(), "/redfish/v1/", login{})
	require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "127.0.0.1 is an address of this machine")
	require.Zero(t, asked)
	e = newEndpoint(i, bmc.NewShared(bmc.Settings{MaxPerBMC: 1}.WithDefaults()), Config{Settings: here}.WithDefaults(), make(chan struct{}, 1))
	_, err = e.fetch(t.Context(), "/redfish/v1/", login{})
	require.NoError(t, err)
}

func TestEveryTimeoutIsSet(t *testing.T) {
	t.Parallel()
	i, err := parseInfo(map[string]any{"redfish_address": "bmc"}, here)
	require.NoError(t, err)
	c := Config{}.WithDefaults()
	e := newEndpoint(i, bmc.NewShared(bmc.Settings{MaxPerBMC: 1}.WithDefaults()), c, nil)
	require.Positive(t, e.client.Timeout)
	tr := e.client.Transport.(*http.Transport)
	for name, d := range map[string]time.Duration{
		"TLS handshake": tr.TLSHandshakeTimeout, "response header": tr.ResponseHeaderTimeout,
		"idle connection": tr.IdleConnTimeout, "100-continue": tr.ExpectContinueTimeout,
	} {
		require.Positive(t, d, name)
		require.LessOrEqual(t, d, time.Minute, name)
	}
	require.Nil(t, tr.Proxy)
	require.Positive(t, tr.MaxResponseHeaderBytes)
	require.NotSame(t, http.DefaultTransport, tr)
	require.Positive(t, c.RequestTimeout)
	require.Positive(t, c.MaxPerBMC)
	require.Positive(t, c.SessionIdle)
	require.Positive(t, c.DeniedFor)
}
