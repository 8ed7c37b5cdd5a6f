package agent_test

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
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The agent's certificate is valid for 90 days from an hour ago: the clock of
// a machine that just booted may be off.
const (
	certificateLife = 90 * 24 * time.Hour
	certificateSkew = time.Hour
)

// newCertificate makes what an agent makes for itself at boot (auto-TLS): a
// self-signed certificate for its address, and the PEM text that its
// heartbeats carry as agent_verify_ca.
func newCertificate(t testing.TB, ip net.IP) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "ironic-python-agent"},
		NotBefore:    now.Add(-certificateSkew),
		NotAfter:     now.Add(certificateLife),
		IPAddresses:  []net.IP{ip},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	require.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(text)
}
