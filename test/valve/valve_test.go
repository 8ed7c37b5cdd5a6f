package valve_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/valve"
)

// echo is a service that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

func newValve(t *testing.T, to string) *valve.Valve {
	t.Helper()
	v, err := valve.New(to)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	return v
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// say sends a word and waits for it to come back, at most so long.
func say(t *testing.T, c net.Conn, word string, within time.Duration) error {
	t.Helper()
	if _, err := io.WriteString(c, word); err != nil {
		return err
	}
	return hear(t, c, word, within)
}

func hear(t *testing.T, c net.Conn, word string, within time.Duration) error {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(within)))
	buf := make([]byte, len(word))
	_, err := io.ReadFull(c, buf)
	if err == nil {
		require.Equal(t, word, string(buf))
	}
	return err
}

func TestAnOpenValvePasses(t *testing.T) {
	v := newValve(t, echo(t))
	c := dial(t, v.Address())
	require.NoError(t, say(t, c, "hello", 5*time.Second))
	n, at := v.Passed()
	require.EqualValues(t, 5, n)
	require.WithinDuration(t, time.Now(), at, 5*time.Second)
}

func TestAValveThatHoldsIsSilentAndKeepsWhatWasSent(t *testing.T) {
	v := newValve(t, echo(t))
	old := dial(t, v.Address())
	require.NoError(t, say(t, old, "hello", 5*time.Second))
	v.Hold()
	var timeout net.Error
	require.ErrorAs(t, say(t, old, "is anybody there", 200*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout(), "no word, and no end either")
	fresh := dial(t, v.Address())
	require.ErrorAs(t, say(t, fresh, "and here", 200*time.Millisecond), &timeout)
	require.True(t, timeout.Timeout())
	v.Open()
	require.NoError(t, hear(t, old, "is anybody there", 5*time.Second))
	require.NoError(t, hear(t, fresh, "and here", 5*time.Second))
}

func TestAValveThatResetsBreaksWhatIsThereAndWhatComes(t *testing.T) {
	v := newValve(t, echo(t))
	old := dial(t, v.Address())
	require.NoError(t, say(t, old, "hello", 5*time.Second))
	v.Reset()
	require.Error(t, hear(t, old, "x", 5*time.Second))
	fresh, err := net.DialTimeout("tcp", v.Address(), 5*time.Second)
	if err == nil {
		require.Error(t, say(t, fresh, "x", 5*time.Second))
		_ = fresh.Close()
	}
	v.Open()
	require.NoError(t, say(t, dial(t, v.Address()), "again", 5*time.Second))
}

func TestAProxyIsCutOffFromEverything(t *testing.T) {
	p, err := valve.NewProxy()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	at, err := url.Parse(p.URL())
	require.NoError(t, err)
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	for name, srv := range map[string]*httptest.Server{"http": httptest.NewServer(answer), "https": httptest.NewTLSServer(answer)} {
		t.Run(name, func(t *testing.T) {
			defer srv.Close()
			client := srv.Client()
			client.Timeout = 5 * time.Second
			client.Transport.(*http.Transport).Proxy = http.ProxyURL(at)
			res, err := client.Get(srv.URL + "/redfish/v1")
			require.NoError(t, err)
			b, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Equal(t, "/redfish/v1", string(b))
			require.Equal(t, name == "http", !p.Asked(srv.URL).IsZero())

			p.Hold()
			client.Timeout = 200 * time.Millisecond
			res, err = client.Get(srv.URL)
			if err == nil {
				_ = res.Body.Close()
			}
			require.Error(t, err)
			p.Open()
		})
	}
}
