//go:build linux

package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// identity is what the API and the conductors know an agent by. It must not change within a boot: another certificate or an agent
// without token is refused.
type identity struct {
	Token string `json:"token"`
	Cert  string `json:"cert"` // PEM, made for the callback host
	Key   string `json:"key"`
}

// loadIdentity reads the identity of an earlier process of the same boot. No file is no error.
func loadIdentity(path string) (identity, error) {
	var id identity
	if path == "" {
		return id, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil
	} else if err != nil {
		return id, fmt.Errorf("read the agent's identity: %w", err)
	}
	if err := jsonvalue.Unmarshal(b, &id); err != nil {
		return identity{}, fmt.Errorf("read the agent's identity in %s: %w", path, err)
	}
	return id, nil
}

// save writes the identity where only this user reads it, whole or not at all.
func (id identity) save(path string) error {
	if path == "" {
		return nil
	}
	b, err := json.Marshal(id)
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", filepath.Clean(path))
	}
	if err != nil {
		return fmt.Errorf("keep the agent's identity: %w", err)
	}
	return nil
}

// makeCertificate makes a certificate for the host of the callback URL. It is valid at any time a clock may show: servers come back
// from storage with a clock of 2000, and the conductor has the certificate itself and trusts nothing but it.
func (id *identity) makeCertificate(host string) error {
	if id.Cert != "" {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the agent's key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("make the agent's certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, BasicConstraintsValid: true, IsCA: true,
		NotBefore: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("make the agent's certificate: %w", err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("make the agent's key: %w", err)
	}
	id.Cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	id.Key = string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
	return nil
}

func (id identity) certificate() (tls.Certificate, error) {
	c, err := tls.X509KeyPair([]byte(id.Cert), []byte(id.Key))
	if err != nil {
		return c, fmt.Errorf("read the agent's certificate: %w", err)
	}
	return c, nil
}
