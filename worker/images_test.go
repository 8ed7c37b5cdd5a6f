package worker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/worker"
)

// What the agent gets of an image that Temper serves: Temper's address and digest, and no secret of the image's server.
func TestAnImageThatTemperServes(t *testing.T) {
	t.Parallel()
	const uuid, digest = "6f9d9f3a-50a1-4f62-8f3a-1f6b2a4b7c11", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	status, refusal, asked := 0, "", ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		if status != 0 {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(refusal))
			return
		}
		w.Header().Set(image.Digest(digest))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("disk", 1000)))
	}))
	t.Cleanup(s.Close)
	ask := worker.Images(image.Policy{Reach: dial.Reach{Loopback: true}})
	r := conductor.ImageRequest{
		NodeUUID: uuid, AgentURL: s.URL + "/", Token: func(context.Context) (string, error) { return "token", nil },
		InstanceInfo: map[string]any{"image_source": "file:///images/a b.raw", "image_checksum": strings.Repeat("ab", 32), "image_request_authorization_secret": "hidden"},
	}
	info, size, err := ask(t.Context(), r)
	require.NoError(t, err)
	require.EqualValues(t, 4000, size)
	require.Equal(t, []string{s.URL + "/images/" + image.ServedKey("token") + "/" + uuid + "/a%20b.raw"}, info.URLs)
	require.Equal(t, "/images/"+image.ServedKey("token")+"/"+uuid+"/a b.raw", asked)
	require.Equal(t, []string{"sha256", digest, "raw", ""}, []string{info.HashAlgo, info.HashValue, string(info.DiskFormat), info.Authorization})

	words := func(code string) string {
		return `{"error_message":"{\"faultstring\":\"the image is being fetched: 1 kB of 2 kB\"}","code":"` + code + `"}`
	}
	status, refusal = http.StatusServiceUnavailable, words("busy")
	_, _, err = ask(t.Context(), r)
	require.True(t, fault.Is(err, fault.Unavailable))
	require.ErrorContains(t, err, "1 kB of 2 kB")
	status, refusal = http.StatusBadGateway, words("image_cache_full")
	_, _, err = ask(t.Context(), r)
	require.True(t, fault.Is(err, fault.Invalid))
	require.Equal(t, fault.ImageCacheFull, fault.CodeOf(err))

	r.AgentURL = ""
	_, _, err = ask(t.Context(), r)
	require.ErrorContains(t, err, "agent_url")
	r.AgentURL = s.URL
	s.Close()
	_, _, err = ask(t.Context(), r)
	require.Equal(t, fault.ImageUnreachable, fault.CodeOf(err))
	require.NotContains(t, err.Error(), image.ServedKey("token"))
}
