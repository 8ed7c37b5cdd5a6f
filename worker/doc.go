// Package worker runs workflows and activities as Temporal workers, and keeps conductors
// registered. It decides nothing about nodes.
package worker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
)

// Temporal has the address of Temporal and the credentials for it.
type Temporal struct {
	Address, Namespace string
	TLSCert, TLSKey    string // files; both or neither
	TLSCA              string // file
	TLSServerName      string
	Identity           string // shown in Temporal's UI
	Interceptors       []interceptor.ClientInterceptor
}

// Dial connects to Temporal. It returns when Temporal has answered, or ctx ends.
func Dial(ctx context.Context, t Temporal, log *zap.Logger) (client.Client, error) {
	o, err := t.options(log)
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("connect to temporal at %s: %w", t.Address, err)
	}
	return c, nil
}

// NewLazyClient returns a client that connects to Temporal when it is used.
func NewLazyClient(t Temporal, log *zap.Logger) (client.Client, error) {
	o, err := t.options(log)
	if err != nil {
		return nil, err
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		return nil, fmt.Errorf("client of temporal at %s: %w", t.Address, err)
	}
	return c, nil
}

func (t Temporal) options(log *zap.Logger) (client.Options, error) {
	o := options(t.Namespace, t.Identity, log)
	o.HostPort, o.Interceptors = t.Address, t.Interceptors
	var err error
	o.ConnectionOptions.TLS, err = t.tls()
	if local(t.Address) {
		// Between processes of one machine compressing costs more than it saves.
		o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	return o, err
}

// options are those of every client, of whichever namespace.
func options(namespace, identity string, log *zap.Logger) client.Options {
	return client.Options{
		Namespace: namespace, Identity: identity, Logger: temporalLog{log.Named("temporal").Sugar()},
		FailureConverter: maskedFailures{temporal.GetDefaultFailureConverter()},
	}
}

// InNamespace returns a client of another namespace that shares the connection of c.
func InNamespace(ctx context.Context, c client.Client, namespace, identity string, log *zap.Logger) (client.Client, error) {
	other, err := client.NewClientFromExistingWithContext(ctx, c, options(namespace, identity, log))
	if err != nil {
		return nil, fmt.Errorf("connect to namespace %s of temporal: %w", namespace, err)
	}
	return other, nil
}

// local reports whether an address is on this machine.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (t Temporal) tls() (*tls.Config, error) {
	if t.TLSCert == "" && t.TLSCA == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.TLSServerName}
	if t.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(t.TLSCert, t.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("temporal client certificate: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if t.TLSCA != "" {
		pem, err := os.ReadFile(t.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("temporal ca: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("temporal ca: no certificate in %s", t.TLSCA)
		}
	}
	return conf, nil
}

// temporalLog writes the SDK's log lines to zap. Its Info is written as Debug.
type temporalLog struct{ *zap.SugaredLogger }

func (l temporalLog) Debug(msg string, kv ...any) { l.Debugw(msg, kv...) }
func (l temporalLog) Info(msg string, kv ...any)  { l.Debugw(msg, kv...) }
func (l temporalLog) Warn(msg string, kv ...any)  { l.Warnw(msg, kv...) }
func (l temporalLog) Error(msg string, kv ...any) { l.Errorw(msg, kv...) }
