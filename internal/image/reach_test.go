package image_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

// onThisMachine lets the test's servers be asked.
var onThisMachine = image.Policy{Reach: dial.Reach{Loopback: true}}

// on serves at an address of this machine; its URL is by that address.
func on(t *testing.T, address string, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	require.NoError(t, err)
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}} //nolint:gosec // closed with the test
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// Whoever can name a file of checksums must not learn what listens on this machine:
// neither directly, nor by a name, nor by a redirect.
func TestNobodyLearnsWhatListensHere(t *testing.T) {
	asked := 0
	secret := on(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) { asked++; _, _ = io.WriteString(w, sha256sum) })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(secret, "http://"))
	require.NoError(t, err)
	outside := on(t, "127.0.0.2", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	policy := image.Policy{Reach: dial.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Setting: "image_allow"}}
	r := image.NewResolver(policy, 30*time.Second)
	t.Cleanup(r.Close)
	told := map[string]bool{}
	for _, from := range []string{
		secret + "/SUMS", "http://localhost:" + port + "/SUMS", "http://[::ffff:127.0.0.1]:" + port + "/SUMS", "http://127.0.0.1:1/SUMS",
		outside + "/SUMS?to=" + secret + "/SUMS", outside + "/SUMS?to=http://localhost:" + port + "/",
		outside + "/SUMS?to=http://127.0.0.1:1/", outside + "/SUMS?to=http://169.254.169.254/latest/meta-data/",
	} {
		i, err := image.Parse(node, plain(from), nil, onThisMachine)
		require.NoError(t, err)
		_, err = r.Resolve(context.Background(), i)
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%s: %v", from, err)
		require.ErrorContains(t, err, "image_allow")
		words, _, _ := strings.Cut(err.Error(), "; fetch the checksum file ")
		told[words[strings.LastIndex(words, " is "):]] = true
	}
	require.Zero(t, asked)
	require.Len(t, told, 2, "the same words whether anything listens or not: loopback, and link-local")

	_, err = image.Parse(node, plain(secret+"/SUMS"), nil, policy)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "an address is refused before anything is begun")

	i, err := image.Parse(node, with("image_source", secret+"/disk.img"), nil, policy)
	require.NoError(t, err, "the agent fetches the image, from where it stands")
	i, err = r.Detect(context.Background(), i)
	require.NoError(t, err)
	require.Empty(t, i.Format)
	_, err = r.Probe(context.Background(), i)
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "it is not refused: %v", err)
	require.ErrorContains(t, err, "image_allow")
	require.Zero(t, asked)
}
