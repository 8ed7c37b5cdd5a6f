package worker_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"go.temper.dev/temper/worker"
)

// authority signs certificates for one test and keeps them as files.
type authority struct {
	*testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{T: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) sign(name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a, err)
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	require.NoError(a, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a, err)
	for ext, b := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: raw}} {
		require.NoError(a, os.WriteFile(a.file(name+ext), pem.EncodeToMemory(b), 0o600))
	}
	cert, err := x509.ParseCertificate(der)
	require.NoError(a, err)
	return cert, key
}

func TestTemporalIsSpokenToWithCertificatesOfBothSides(t *testing.T) {
	a := newAuthority(t)
	a.sign("server", &x509.Certificate{DNSNames: []string{"temporal.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	a.sign("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	pair, err := tls.LoadX509KeyPair(a.file("server.crt"), a.file("server.key"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	srv := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})))
	workflowservice.RegisterWorkflowServiceServer(srv, workflowservice.UnimplementedWorkflowServiceServer{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)

	good := worker.Temporal{
		Address: l.Addr().String(), Namespace: "temper", TLSCert: a.file("client.crt"), TLSKey: a.file("client.key"),
		TLSCA: a.file("ca.crt"), TLSServerName: "temporal.test",
	}
	dialWithin := func(d time.Duration, edit func(*worker.Temporal)) error {
		conf := good
		edit(&conf)
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		c, err := worker.Dial(ctx, conf, zap.NewNop())
		if err == nil {
			c.Close()
		}
		return err
	}
	require.NoError(t, dialWithin(30*time.Second, func(*worker.Temporal) {}))
	dial := func(edit func(*worker.Temporal)) error { return dialWithin(3*time.Second, edit) }
	require.Error(t, dial(func(c *worker.Temporal) { c.TLSCert, c.TLSKey = "", "" }), "no certificate of ours")
	require.Error(t, dial(func(c *worker.Temporal) { c.TLSServerName = "elsewhere.test" }), "another server's certificate")
	require.Error(t, dial(func(c *worker.Temporal) { c.TLSCA = "" }), "an authority that nobody knows")
	require.ErrorContains(t, dial(func(c *worker.Temporal) { c.TLSCA = a.file("client.key") }), "no certificate in")
}
