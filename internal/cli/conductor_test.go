package cli

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAConductorThatIsDeadIsShownWithWhatStartsIt(t *testing.T) {
	api := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"hostname":"c1","state":"dead","drivers":[],"help":[{"command":"temper conductor --name c1","effect":"starts it, on its host"}]}`))
	})
	got := called(t, "temper", "conductor", "show", "c1", "--api", api)
	require.NoError(t, got.failed)
	require.Contains(t, got.out, "\nyou can: temper conductor --name c1  # starts it, on its host\n")
}
