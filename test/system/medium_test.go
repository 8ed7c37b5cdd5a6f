package system_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// withoutISO makes a node boot its agent from Temper's own media.
func (n *node) withoutISO() *node {
	n.t.Helper()
	n.s.must(n.t, http.StatusOK, http.MethodPatch, "/v1/nodes/"+n.uuid, []map[string]any{{"op": "remove", "path": "/driver_info/deploy_iso"}})
	return n
}

// strangers look up the node from so many addresses, again and again, until stop is called, which returns how often they got an
// answer, and what else than a masked token was in one.
func (n *node) strangers(count int) (stop func() (answers int64, tokens []string)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var answers atomic.Int64
	found := make(chan string, 10*count)
	path := n.s.APIURL + "/v1/lookup?node_uuid=" + n.uuid + "&addresses=" + url.QueryEscape(strings.Join(n.hardware().MACs, ","))
	for i := range count {
		wg.Go(func() {
			from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, byte(i>>8), byte(1+i))}}
			transport := &http.Transport{DialContext: from.DialContext}
			defer transport.CloseIdleConnections()
			for ctx.Err() == nil {
				token, ok := lookedUp(ctx, transport, path)
				if ok {
					answers.Add(1)
				}
				if token != "" && token != "******" {
					found <- fmt.Sprintf("stranger %d got %q", i, token)
				}
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	return func() (int64, []string) {
		cancel()
		wg.Wait()
		close(found)
		var tokens []string
		for f := range found {
			tokens = append(tokens, f)
		}
		return answers.Load(), tokens
	}
}

// lookedUp is one lookup.
func lookedUp(ctx context.Context, through http.RoundTripper, path string) (token string, ok bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", false
	}
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.62")
	res, err := through.RoundTrip(r)
	if err != nil {
		return "", false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return "", false
	}
	_, token, _ = strings.Cut(string(body), `"agent_token":"`)
	token, _, _ = strings.Cut(token, `"`)
	return token, true
}

// A server that boots Temper's own medium has its token from there. Whoever else knows its MAC address gets none, and does not
// disturb it.
func TestStrangersGetNoTokenOfAServerThatBootsTempersMedium(t *testing.T) {
	t.Parallel()
	n := available(t, world(t), world(t).rack).withoutISO()
	stop := n.strangers(100)
	n.deployed(n.provision("active", nil), digest(t, n.r))
	answers, tokens := stop()
	require.NotZero(t, answers, "they have asked in the boot's time")
	require.Empty(t, tokens)
	require.Equal(t, 1, n.hardware().AgentBoots)
}

// A conductor that takes a boot over boots from the medium of the one that died.
func TestABootFromTempersMediumOutlivesItsConductor(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "medium")
	m.withoutISO()
	id := m.provision("active", nil)
	m.kill(t, id, func(st step) bool { return st.Step == "deploy" })
	m.done(id, "active")
	require.Equal(t, 1, m.hardware().AgentBoots)
}
