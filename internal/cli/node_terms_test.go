package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatNobodyCanDoNowWaitsWhereItIsToldTo(t *testing.T) {
	s := newSteering(t)
	s.does("node create n1 --driver fake-hardware")
	s.does("node create n2 --driver fake-hardware")
	s.does("node manage n2 --wait 1m --every 5ms")
	s.does("conductor drain c1 --force --reason moving")
	for _, command := range []string{"node manage n1", "node power on n2"} {
		require.Contains(t, s.fails(command), "the API answered 503: No conductor is alive and takes work")
		require.NotEmpty(t, s.started(command+" --wait-for-conductor -o json"))
	}
}
