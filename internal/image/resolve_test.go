package image_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

func resolve(t *testing.T, from, algo string, p image.Policy) (image.Info, error) {
	t.Helper()
	p.Reach.Loopback = true // the test's servers
	info := plain(from)
	if algo != "" {
		info = with("image_os_hash_algo", algo, "image_os_hash_value", from)
	}
	i, err := image.Parse(node, info, nil, p)
	require.NoError(t, err)
	r := image.NewResolver(p, 30*time.Second) // longer than any answer takes on a busy machine
	t.Cleanup(r.Close)
	return r.Resolve(context.Background(), i)
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/SUMS?sig=secret"
}

func TestChecksumFiles(t *testing.T) {
	other := strings.Repeat("cd", 32)
	const name = "cirros-0.6.3.qcow2"
	for what, c := range map[string]struct {
		file       string
		asked      string // image_os_hash_algo
		algo, want string
	}{
		"a digest alone":                    {sha256sum + "\n", "", "sha256", sha256sum},
		"a digest alone in upper case":      {strings.ToUpper(sha512sum), "", "sha512", sha512sum},
		"a digest alone below a comment":    {"# made today\n\n" + sha256sum, "", "sha256", sha256sum},
		"GNU lines":                         {other + "  other.img\n" + sha256sum + "  " + name + "\n", "", "sha256", sha256sum},
		"GNU lines of binary files":         {other + " *other.img\r\n" + sha256sum + " *" + name + "\r\n", "", "sha256", sha256sum},
		"GNU lines with a folder":           {sha256sum + "  ./" + name, "", "sha256", sha256sum},
		"BSD lines":                         {"SHA256 (other) = " + other + "\nSHA256 (" + name + ") = " + sha256sum, "", "sha256", sha256sum},
		"BSD lines with sizes in comments":  {"# " + name + ": 123 bytes\nSHA512 (" + name + ") = " + sha512sum, "", "sha512", sha512sum},
		"BSD lines with a dash":             {"SHA-256 (" + name + ") = " + sha256sum, "", "sha256", sha256sum},
		"several algorithms: the strongest": {md5sum + "  " + name + "\n" + sha512sum + "  " + name + "\n" + sha256sum + "  " + name, "", "sha512", sha512sum},
		"several algorithms: the asked one": {sha512sum + "  " + name + "\n" + sha256sum + "  " + name, "sha256", "sha256", sha256sum},
		"a signed file":                     {"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n" + sha256sum + "  " + name + "\n-----BEGIN PGP SIGNATURE-----\nabc\n", "", "sha256", sha256sum},
	} {
		t.Run(what, func(t *testing.T) {
			i, err := resolve(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.file) }), c.asked, image.Policy{})
			require.NoError(t, err)
			require.Equal(t, c.want, i.Checksum)
			require.Equal(t, c.algo, i.Algo)
			out := i.ForAgent()
			require.Equal(t, c.want, out.HashValue)
		})
	}
}

func TestChecksumFilesThatDoNotHelp(t *testing.T) {
	const name = "cirros-0.6.3.qcow2"
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	code := func(n int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) } }
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		asked  string
		want   fault.Kind
		text   string
	}{
		"an empty file":                 {text(""), "", fault.Invalid, "no usable digest for " + name},
		"another image only":            {text(sha256sum + "  cirros-0.6.3.qcow2.old\n"), "", fault.Invalid, "no usable digest"},
		"a name that ends alike":        {text(sha256sum + "  old-" + name), "", fault.Invalid, "no usable digest"},
		"two digests without names":     {text(sha256sum + "\n" + sha512sum), "", fault.Invalid, "no usable digest"},
		"another algorithm":             {text(sha256sum + "  " + name), "sha512", fault.Invalid, "no usable digest"},
		"a lone one of another":         {text(sha256sum), "sha512", fault.Invalid, "length of a sha256"},
		"another hash as long":          {text("SHA3-256 (" + name + ") = " + sha256sum), "", fault.Invalid, "no usable digest"},
		"md5 only":                      {text(md5sum + "  " + name), "", fault.Invalid, "is MD5"},
		"a page":                        {text("<html>" + sha256sum), "", fault.Invalid, "no usable digest"},
		"a file without end":            {text(strings.Repeat("#", 65<<10)), "", fault.Invalid, "larger than 65536"},
		"a file that is missing":        {code(404), "", fault.Invalid, "404"},
		"a server that has its trouble": {code(503), "", fault.Unreachable, "503"},
		"a redirect without end":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }, "", fault.Unreachable, "too many redirects"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := resolve(t, serve(t, c.answer), c.asked, image.Policy{})
			require.Equal(t, c.want, fault.KindOf(err), "%v", err)
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), node)
			require.Regexp(t, `^[^;/]*; .*checksum file http://`, err.Error(), "what was wrong comes first")
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestAChecksumServerThatNeverAnswers(t *testing.T) {
	info := plain(serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	policy := image.Policy{Reach: dial.Reach{Loopback: true}}
	i, err := image.Parse(node, info, nil, policy)
	require.NoError(t, err)
	r := image.NewResolver(policy, 300*time.Millisecond)
	t.Cleanup(r.Close)
	_, err = r.Resolve(context.Background(), i)
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "%v", err)
	// The client's and the transport's timer end at the same time, with different texts.
	require.ErrorContains(t, err, "no answer in time")
	require.NotContains(t, err.Error(), "secret")
}

func TestMD5FileWhereItIsAllowed(t *testing.T) {
	from := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, md5sum) })
	i, err := resolve(t, from, "", image.Policy{AllowMD5: true})
	require.NoError(t, err)
	require.Equal(t, "md5", i.Algo)
}

func TestChecksumServersAreVerified(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := resolve(t, s.URL+"/SUMS", "", image.Policy{})
	require.Equal(t, fault.Untrusted, fault.KindOf(err), "%v", err)
}

func TestDigestsNeedNoNetwork(t *testing.T) {
	i, err := image.Parse(node, with(), nil, image.Policy{})
	require.NoError(t, err)
	r := image.NewResolver(image.Policy{}, 0)
	t.Cleanup(r.Close)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := r.Resolve(ctx, i)
	require.NoError(t, err)
	require.Equal(t, i, got)

	i, err = image.Parse(node, plain("http://192.0.2.1/SUMS"), nil, image.Policy{})
	require.NoError(t, err)
	_, err = r.Resolve(ctx, i)
	require.ErrorIs(t, err, context.Canceled)
}
