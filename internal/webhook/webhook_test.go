package webhook

import (
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
)

const exampleSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The example of Standard Webhooks' libraries.
func TestTheSignatureIsThatOfStandardWebhooks(t *testing.T) {
	key, err := keyOf(exampleSecret)
	require.NoError(t, err)
	got := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", got)
}

func TestWrongWebhooksAreRefused(t *testing.T) {
	for what, w := range map[string]Webhook{
		"no name":           {URL: "https://example.org"},
		"a name with slash": {Name: "a/b", URL: "https://example.org"},
		"another scheme":    {Name: "a", URL: "ftp://example.org"},
		"no host":           {Name: "a", URL: "https:///x"},
		"a password":        {Name: "a", URL: "https://me:hunter2@example.org"},
		"a fragment":        {Name: "a", URL: "https://example.org/#x"},
		"a port too high":   {Name: "a", URL: "https://example.org:99999/"},
		"the port 0":        {Name: "a", URL: "https://example.org:0/"},
		"a long url":        {Name: "a", URL: "https://example.org/" + strings.Repeat("x", maxURL)},
		"this machine":      {Name: "a", URL: "http://localhost/"},
		"a metadata server": {Name: "a", URL: "http://169.254.169.254/"},
	} {
		err := w.Check(dial.Reach{})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%s: %v", what, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
	good := Webhook{Name: "a", URL: "https://example.org/hook?x=1"}
	require.NoError(t, good.Check(dial.Reach{}))
	for _, secret := range []string{"", "x", "whsec_", "whsec_c2hvcnQ=", strings.TrimPrefix(exampleSecret, secretPrefix)} {
		require.Equal(t, fault.Invalid, fault.KindOf(CheckSecret(secret)), secret)
	}
}

func TestRequestsGoOnlyWhereTheyMay(t *testing.T) {
	asked := 0
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(target.Close)
	redirect := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirect.Close)
	untrusted := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	for to, want := range map[string]string{redirect.URL: "redirects are not followed", untrusted.URL: "certificate", "http://127.0.0.1:1/secret-path": "refused"} {
		s := NewSender(dial.Reach{Loopback: true})
		err := s.Test(t.Context(), &Webhook{Name: "h", URL: to}, exampleSecret)
		s.Close()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret-path")
	}
	strict := NewSender(dial.Reach{Setting: "webhook_allow"})
	t.Cleanup(strict.Close)
	named := strings.Replace(target.URL, "127.0.0.1", "localhost", 1)
	require.ErrorContains(t, strict.Test(t.Context(), &Webhook{Name: "h", URL: named}, exampleSecret), "webhook_allow")
	require.Zero(t, asked)
}
