package main

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// silent is the address of a BMC that takes connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

func TestAProbeOfASilentBMCSaysWhomItAsksAndWhenItGivesUp(t *testing.T) {
	address := silent(t)
	var out, notes bytes.Buffer
	err := run(t.Context(), "temper", []string{"bmc", "probe", address, "--json", "--timeout", "300ms"}, stdio{strings.NewReader(""), &out, &notes})
	require.ErrorContains(t, err, "no answer in time (at most 300ms)")
	require.Regexp(t, `^temper: asking `+address+` over Redfish; without an answer it gives up at \d\d:\d\d:\d\dZ \(--timeout 300ms\)\n`, notes.String())
	require.Empty(t, out.String(), "the report is all that is on standard output")
}

func TestWhoAsksASilentBMCSaysSoAgainAndAgain(t *testing.T) {
	var said shown
	a := newAsking(&said, "10.0.0.7 over Redfish", time.Minute, time.Millisecond)
	require.Eventually(t, said.has("no answer from 10.0.0.7 over Redfish for "), 20*time.Second, time.Millisecond)
	a.answered("GET", "ok", time.Second)
	require.Eventually(t, said.has("1 answer so far, and none for "), 20*time.Second, time.Millisecond)
	a.end()
	a.end()

	quick := &asking{every: time.Minute, heard: time.Now()}
	quick.answered("GET", "ok", 2*time.Second)
	quick.answered("GET", "ok", 3*time.Second)
	require.Equal(t, "2 answers so far; the last one took 3s", quick.words(time.Now()))
}
