// Package tlsfile serves TLS with a certificate in files that are replaced while the process runs, as those of a site that renews its
// certificates are.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// lookEvery is how often at most the files are looked at for changes.
const lookEvery = time.Second

// Certificate is a certificate with its key, read anew when a file has changed. It is safe for concurrent use.
type Certificate struct {
	certFile, keyFile string
	failed            func(error) // gets the error of a change that can't be read; the certificate before stays in use

	mu      sync.Mutex
	looked  time.Time
	written [2]time.Time // of the files
	current *tls.Certificate
}

// Load reads the files. The first certificate in certFile is the listener's own, those after it lead to an authority; all are PEM.
// failed is called, one at a time, for each look at changed files that can't be used.
func Load(certFile, keyFile string, failed func(error)) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, failed: failed, looked: time.Now()}
	return c, c.read()
}

// Listener returns l with TLS 1.2 or later on its connections.
func (c *Certificate) Listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
}

func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if at, err := c.times(); err != nil || at != c.written {
			if err := c.read(); err != nil {
				c.failed(err)
			}
		}
	}
	return c.current, nil
}

func (c *Certificate) times() (at [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return at, err
		}
		at[i] = info.ModTime()
	}
	return at, nil
}

// read takes the files into use. Times are read first, so that a change in between is noticed at the next look.
func (c *Certificate) read() error {
	at, err := c.times()
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read the certificate %s with its key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current, c.written = &pair, at
	return nil
}

// Authorities returns the system's authorities and those in file, which is PEM.
func Authorities(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(raw) {
		return nil, errors.New(file + " has no certificate in PEM")
	}
	return pool, nil
}
