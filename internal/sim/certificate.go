package sim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// certLife is long, so that a demonstration never stops because a certificate expired.
const certLife = 10 * 365 * 24 * time.Hour

// authority is the CA of the BMCs. It issues the certificate for an address when the first
// client connects there.
type authority struct {
	cert      tls.Certificate
	mu        sync.Mutex
	byAddress map[string]*tls.Certificate
}

const (
	caFile    = "ca.pem"
	agentFile = "agent.pem"
)

// authority loads the CA, or creates it.
func (s *store) authority() (*authority, error) {
	c, err := s.certificate(caFile, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Temper simulated rack"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return nil, err
	}
	return &authority{cert: c, byAddress: map[string]*tls.Certificate{}}, nil
}

// agentCertificate loads or creates the self-signed certificate that agents have for the
// host that they advertise (auto-TLS). All agents share one, and keep it.
func (s *store) agentCertificate(hostport string) (tls.Certificate, string, error) {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	c, err := s.certificate(agentFile, serverTemplate(host), nil)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	return c, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})), nil
}

// getCertificate returns a tls.Config.GetCertificate, whose certificates are for the
// address that the client connected to, and for host.
func (a *authority) getCertificate(host string) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		ip, _, err := net.SplitHostPort(h.Conn.LocalAddr().String())
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if c := a.byAddress[ip]; c != nil {
			return c, nil
		}
		c, err := sign(serverTemplate(ip, host), &a.cert)
		if err != nil {
			return nil, err
		}
		a.byAddress[ip] = &c
		return &c, nil
	}
}

func serverTemplate(hosts ...string) *x509.Certificate {
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: hosts[0]}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if h != "" {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return t
}

// sign creates a key and a certificate for it. by signs the certificate; if by is nil, it
// is self-signed.
func sign(t *x509.Certificate, by *tls.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return tls.Certificate{}, err
	}
	t.NotBefore, t.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(certLife)
	parent, signer := t, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, nil
}

// certificate loads the certificate in file if it is still valid for the same hosts, else
// creates it. The key is in a file beside it.
func (s *store) certificate(file string, t *x509.Certificate, by *tls.Certificate) (tls.Certificate, error) {
	certPath := filepath.Join(s.dir, file)
	keyPath := certPath[:len(certPath)-len(".pem")] + "-key.pem"
	switch c, err := tls.LoadX509KeyPair(certPath, keyPath); {
	case err == nil && stillValid(c.Leaf, t):
		return c, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return tls.Certificate{}, fmt.Errorf("load certificate: %w", err)
	}
	c, err := sign(t, by)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	err = errors.Join(
		os.WriteFile(keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
		os.WriteFile(certPath, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), 0o644), // public
	)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("keep certificate: %w", err)
	}
	return c, nil
}

func stillValid(have, want *x509.Certificate) bool {
	for _, ip := range want.IPAddresses {
		if have.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	for _, name := range want.DNSNames {
		if have.VerifyHostname(name) != nil {
			return false
		}
	}
	return time.Now().Before(have.NotAfter)
}
