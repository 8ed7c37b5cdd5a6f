package main

import (
	"fmt"
	"net"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/origin"
	"go.temper.dev/temper/internal/tlsfile"
)

// listen listens at an address, with TLS if the settings have a certificate.
func (p *process) listen(c config.Process, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if !c.TLS() {
		return l, nil
	}
	certificate, err := tlsfile.Load(c.TLSCert, c.TLSKey, func(err error) {
		p.log.Error("the certificate of the listeners has changed and can't be used; the one before stays in use", zap.Error(err))
	})
	if err != nil {
		_ = l.Close() // it has served nothing
		return nil, err
	}
	return certificate.Listener(l), nil
}

// scheme is that of the URLs of a process's listeners.
func scheme(c config.Process) string {
	if c.TLS() {
		return "https"
	}
	return "http"
}

// warnOfPlainPasswords repeats in the log at the start that passwords or tokens cross the network in the clear.
func (p *process) warnOfPlainPasswords(a config.ListenerAuth, c config.Process, listen string) {
	if a.Strategy != "" && !a.Uses(config.NoAuth) && !c.TLS() && !origin.Loopback(listen) {
		p.log.Warn("auth.plain_http is set: passwords or tokens cross the network without TLS", zap.String("listen", listen))
	}
}
