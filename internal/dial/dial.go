// Package dial connects to BMCs, agents and image servers.
package dial

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"time"
)

// WithoutLinger returns a DialContext that dials with d and discards undelivered data when the
// connection is closed. Otherwise the kernel would try to deliver it for minutes. A request that was
// given up long ago, and that another conductor has sent since, would then take effect when the
// network comes back.
func WithoutLinger(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			if err := tcp.SetLinger(0); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
		return c, nil
	}
}

// NotAfterDeadline returns a context for a request that changes something. If the deadline has passed
// when the connection is established, the request is not sent. Otherwise a process that was frozen
// while it dialed would send it, although its claim was checked long ago.
func NotAfterDeadline(ctx context.Context) context.Context {
	until, bounded := ctx.Deadline()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if ctx.Err() != nil || bounded && !time.Now().Before(until) {
			_ = i.Conn.Close() // so that nothing can be written
		}
	}})
}
