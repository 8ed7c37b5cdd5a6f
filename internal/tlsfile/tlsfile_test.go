package tlsfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write writes a certificate of its own authority, with that serial number, and its key.
func write(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "temper"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
		at := time.Now().Add(time.Duration(serial) * time.Minute) // another time than that of the file before, however coarse the clock
		require.NoError(t, os.Chtimes(name, at, at))
	}
}

// A certificate that is replaced is in use without a restart. One that can't be read changes nothing, and is reported.
func TestACertificateIsReadAgainWhenItChanges(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	_, err := Load(certFile, keyFile, nil)
	require.ErrorContains(t, err, "read the certificate: ")
	write(t, certFile, keyFile, 1)
	failures := 0
	c, err := Load(certFile, keyFile, func(error) { failures++ })
	require.NoError(t, err)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(c.Listener(plain)) }()
	t.Cleanup(func() { _ = server.Close() })
	serial := func() int64 {
		c.mu.Lock()
		c.looked = time.Time{} // the next handshake looks at the files
		c.mu.Unlock()
		pool, err := Authorities(certFile)
		if err != nil {
			pool = nil
		}
		conn, err := tls.Dial("tcp", plain.Addr().String(), &tls.Config{RootCAs: pool, InsecureSkipVerify: pool == nil}) //nolint:gosec // only where the file is no certificate
		require.NoError(t, err)
		defer conn.Close()
		require.GreaterOrEqual(t, conn.ConnectionState().Version, uint16(tls.VersionTLS12))
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.EqualValues(t, 1, serial())
	write(t, certFile, keyFile, 2)
	require.EqualValues(t, 2, serial())
	require.Zero(t, failures)
	require.NoError(t, os.WriteFile(certFile, []byte("half of it"), 0o600))
	require.EqualValues(t, 2, serial())
	require.Positive(t, failures)
	_, err = Authorities(certFile)
	require.ErrorContains(t, err, "has no certificate in PEM")
	write(t, certFile, keyFile, 3)
	require.EqualValues(t, 3, serial())
}
