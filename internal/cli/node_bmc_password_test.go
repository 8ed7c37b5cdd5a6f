package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// The first node of each model is alone, a model whose first node fails is left alone, and of the others at most --at-once are at work.
func TestPasswordsAreRotatedModelByModel(t *testing.T) {
	models := map[string]string{"a1": "A", "a2": "A", "a3": "A", "a4": "A", "b1": "B", "b2": "B", "c1": "", "c2": ""}
	var mu sync.Mutex
	var begun []string
	open, most := map[string]bool{}, 0
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		parts := strings.Split(r.URL.Path, "/")
		switch {
		case strings.HasSuffix(r.URL.Path, "/inventory") && models[parts[4]] == "":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(faultOf("Node has no inventory.", fault.ResourceNotFound))
		case strings.HasSuffix(r.URL.Path, "/inventory"):
			fmt.Fprintf(w, `{"facts": [{"name": "model", "value": %q}]}`, models[parts[4]])
		case r.Method == http.MethodPost:
			begun = append(begun, parts[4])
			open[parts[4]] = true
			most = max(most, len(open))
			w.Header().Set("Temper-Operation", parts[4])
			w.WriteHeader(http.StatusAccepted)
		case strings.HasPrefix(r.URL.Path, "/temper/v1/operations/"):
			delete(open, parts[4])
			outcome := "succeeded"
			if strings.HasPrefix(parts[4], "b") {
				outcome = "failed"
			}
			fmt.Fprintf(w, `{"id": "1", "kind": "bmc_password", "state": "ended", "node_name": %q, "outcome": %q, "ended_at": "2026-11-22T14:02:11Z", "steps": []}`, parts[4], outcome)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	got := ask(t, api, "", "node", "bmc-password", "rotate", "a1", "a2", "a3", "a4", "b1", "b2", "c1", "c2", "--at-once", "2")
	require.ErrorContains(t, got.failed, "of 8: 6 done; 1 failed; 1 not asked for")
	require.ErrorContains(t, got.failed, "b2: it keeps its password, because b1, which is of the same model, did not get a new one")
	require.ElementsMatch(t, []string{"a1", "b1", "c1"}, begun[:3], "one of each model comes first")
	require.ElementsMatch(t, []string{"a2", "a3", "a4", "c2"}, begun[3:])
	require.LessOrEqual(t, most, 2)
}
