// Package dial makes connections to hardware.
package dial

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"time"
)

// Forgetting dials with d. What was not delivered when such a connection is closed
// is forgotten: the kernel would go on trying to deliver it for minutes, and when
// the network comes back a request that was given up long ago, and has been made
// by another conductor since, would take effect.
func Forgetting(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
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

// InTime keeps a request that changes something from being sent late: one whose
// deadline is over when its connection is there. A process that stood still while
// it dialed would send it, however long ago it was allowed to.
func InTime(ctx context.Context) context.Context {
	until, bounded := ctx.Deadline()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if ctx.Err() != nil || bounded && !time.Now().Before(until) {
			_ = i.Conn.Close() // and so nothing can be written
		}
	}})
}
