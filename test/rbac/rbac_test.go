package rbac

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestIronicsTableOfTheSystem(t *testing.T) {
	t.Parallel()
	runTable(t, "test_rbac_system_scoped.yaml", ofSystem)
}

func TestIronicsTableOfProjects(t *testing.T) {
	t.Parallel()
	runTable(t, "test_rbac_project_scoped.yaml", ofProjects)
}

// whole reports whether also those cases run that change something and are allowed to. Each needs a world of its own.
func whole() bool { return os.Getenv("TEMPER_TEST_RBAC_ALL") != "" || testenv.All() }

func runTable(t *testing.T, name string, make func(*testing.T, testCase) *world) {
	var mu sync.Mutex
	worlds := map[string]*world{} // for cases that change nothing, by their settings
	cases := readTable(t, name)
	require.Greater(t, len(cases), 300)
	for _, c := range cases {
		changes := c.Method != "get" && (verdictOf(c.Status) == allowed || differs[c.name].what == allowed)
		if changes {
			if whole() {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					make(t, c).run(t, c)
				})
			}
			continue
		}
		settings, err := json.Marshal([]any{c.Elevated, c.ServiceProject, c.SelfManage})
		require.NoError(t, err)
		mu.Lock()
		w := worlds[string(settings)]
		if w == nil {
			w = make(t, c)
			worlds[string(settings)] = w
		}
		mu.Unlock()
		t.Run(c.name, func(t *testing.T) { w.run(t, c) })
	}
}

// given reads Temper's answer. There are conductors, so that nothing is answered with 503; nobody does the work.
func given(t *testing.T, a *apitest.Answer) verdict {
	t.Helper()
	var body struct{ Code fault.Code }
	if a.Status >= http.StatusBadRequest {
		require.NoError(t, json.Unmarshal(a.Body, &body))
	}
	switch body.Code { //nolint:exhaustive // the others have statuses that tell it
	case fault.NotSupported, fault.OperationNotEnded:
		return allowed
	case fault.NodeNotFound:
		return hidden // also where the body names the node
	}
	require.Less(t, a.Status, http.StatusInternalServerError, "%s", a.Body)
	return verdictOf(a.Status)
}

func (w *world) run(t *testing.T, c testCase) {
	t.Helper()
	var body []byte
	if c.Body != nil {
		text, err := json.Marshal(c.Body)
		require.NoError(t, err)
		body = []byte(w.formatted(string(text)))
	}
	r := httptest.NewRequestWithContext(t.Context(), strings.ToUpper(c.Method), w.formatted(c.Path), bytes.NewReader(body))
	r.Header.Set(apitest.VersionHeader, "1.82") // the newest of Debian's Ironic
	for k, v := range c.Headers {
		r.Header.Set(k, w.formatted(v))
	}
	a := w.Serve(r)
	want, why := verdictOf(c.Status), ""
	if d, other := differs[c.name]; other {
		require.NotEqual(t, want, d.what, "it does not differ any more")
		want, why = d.what, d.why
	}
	if c.Status == http.StatusBadRequest && a.Status == c.Status {
		return
	}
	require.Equal(t, want, given(t, a), "%s %s: Ironic %d, Temper %d %s %s", c.Method, r.URL, c.Status, a.Status, a.Body, why)
	if want != allowed || c.Method != "get" {
		return
	}
	var shown map[string]any
	require.NoError(t, json.Unmarshal(a.Body, &shown))
	for root, n := range c.Lengths {
		if root != "history" { // Temper's has more events
			require.Len(t, shown[root], n, root)
		}
	}
	for name, v := range c.Contains {
		if name == "reservation" && v == "lolcats" || name == "driver" {
			continue // nothing holds the node in Temper; the driver is another
		}
		if name == "driver_internal_info" && c.Status == http.StatusOK && v.(map[string]any)["private_state"] != nil {
			require.Contains(t, shown[name], "private_state")
			continue
		}
		if text, ok := v.(string); ok {
			v = w.formatted(text)
		}
		require.Equal(t, v, shown[name], name)
	}
}
