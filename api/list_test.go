package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

// listed is a real server with a thousand nodes, each with so many bytes in extra.
func listed(t *testing.T, extra int) (b *apitest.Bench, list func() *http.Response) {
	t.Helper()
	b = apitest.New(t).WithConductors()
	b.SQL(`INSERT INTO nodes (uuid, name, driver, provision_state, extra)
		SELECT gen_random_uuid(), 'n' || i, 'fake-hardware', 'available', jsonb_build_object('note', repeat('x', $1)) FROM generate_series(1, 1000) AS i`, extra)
	web := httptest.NewServer(b.Handler)
	t.Cleanup(web.Close)
	return b, func() *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/v1/nodes/detail", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		require.Equal(t, http.StatusOK, answer.StatusCode)
		return answer
	}
}

// More clients than the API has connections to the database wait with reading their lists.
func TestClientsThatReadSlowlyHoldNoConnectionOfTheDatabase(t *testing.T) {
	t.Parallel()
	b, list := listed(t, 100)
	var slow []*http.Response
	for range 8 {
		slow = append(slow, list())
	}
	b.Get("/v1/nodes/n1").Is(200)
	for _, answer := range slow {
		var whole struct{ Nodes []json.RawMessage }
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&whole))
		require.Len(t, whole.Nodes, 1000)
	}
}

// The list is longer than what the API, the database and the network hold for a client that has not read on.
func TestAListThatTheDatabaseEndsIsNotShorter(t *testing.T) {
	t.Parallel()
	b, list := listed(t, 20_000)
	answer := list()
	require.Equal(t, "1", b.Text(`SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'`))
	_, err := io.Copy(io.Discard, answer.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	b.Get("/v1/nodes/n1").Is(200)
}

func TestAClientThatHangsUpDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	_, list := listed(t, 20_000)
	for range 8 {
		require.NoError(t, list().Body.Close())
	}
	read, err := io.Copy(io.Discard, list().Body)
	require.NoError(t, err)
	require.Greater(t, read, int64(1000*20_000))
}
