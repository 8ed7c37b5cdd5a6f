package system_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingThatIsAliveIsTakenAwayButByForce(t *testing.T) {
	t.Parallel()
	s := world(t)
	n, id := waitingForItsAgent(t, s)
	at := "/temper/v1/nodes/" + n.uuid
	var r struct {
		Operation *string `json:"operation"`
		Workflow  *string `json:"workflow"`
		Alive     bool    `json:"alive"`
		Done      *string `json:"done"`
		Why       string  `json:"why"`
	}
	require.NoError(t, s.must(t, http.StatusOK, http.MethodPost, at+"/recover", map[string]any{}).decode(&r))
	require.Equal(t, id, text(r.Operation))
	require.True(t, r.Alive)
	require.Nil(t, r.Done)
	require.Equal(t, "wait call-back", n.now().State)
	var why struct {
		Text string `json:"text"`
	}
	require.NoError(t, s.read(at+"/why", &why))
	require.Contains(t, why.Text, "its agent has not called since")
	require.Contains(t, why.Text, "temper operation cancel "+id)

	a := s.must(t, http.StatusBadRequest, http.MethodPost, at+"/recover", map[string]any{"force": true})
	require.Contains(t, a.words(), "A reason is required with force.")
	require.NoError(t, s.must(t, http.StatusOK, http.MethodPost, at+"/recover", map[string]any{"force": true, "reason": "rack 7 burns"}).decode(&r))
	require.NotNil(t, r.Done)
	require.Equal(t, "failed", text(n.over(id).Outcome))
	now := n.undone()
	n.free(now)
	n.leftByDeploy(now)
	require.Contains(t, text(now.LastError), "ended by force")
	require.Contains(t, string(s.must(t, http.StatusOK, http.MethodGet, "/v1/nodes/"+n.uuid+"/history?detail=true", nil).body), "taken from its owner by force: rack 7 burns")
	require.NoError(t, s.must(t, http.StatusOK, http.MethodPost, at+"/recover", map[string]any{}).decode(&r))
	require.Nil(t, r.Operation)

	n.spoil()
	n.deployed(n.provision("active", nil), digest(t, s.rack))
}
