package agent

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// A name may resolve to another address than it had when its heartbeat was
// checked, so the address is looked at again right before the connection.
func TestTheAddressIsLookedAtWhenDialing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for _, allowed := range []bool{true, false} {
		c, err := NewClient(Target{Node: "node-1", URL: "https://agent.example.org:9999", Token: "t"},
			Settings{Callback: CallbackPolicy{AllowLoopback: allowed}})
		require.NoError(t, err)
		conn, err := c.http.Transport.(*http.Transport).DialContext(context.Background(), "tcp", listener.Addr().String())
		if allowed {
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			continue
		}
		require.Equal(t, fault.Invalid, fault.KindOf(err))
		require.Equal(t, fault.Invalid, fault.KindOf(c.requestError(context.Background(), "list commands", err)))
	}
}
