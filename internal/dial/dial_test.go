package dial_test

import (
	"context"
	"io"
	"net"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dial"
)

func TestARequestWhoseTimeIsOverWhenItsConnectionIsThereIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		left time.Duration
		sent bool
	}{"in time": {time.Minute, true}, "too late": {-time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.left)
			defer cancel()
			near, far := net.Pipe()
			defer func() { _ = near.Close() }()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			httptrace.ContextClientTrace(dial.NotAfterDeadline(ctx)).GotConn(httptrace.GotConnInfo{Conn: near})
			_, err := near.Write([]byte("POST"))
			require.Equal(t, c.sent, err == nil)
		})
	}
}
