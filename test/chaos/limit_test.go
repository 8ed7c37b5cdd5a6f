package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

func TestACaseThatOnlyMissedALimitOfTimeIsCountedApart(t *testing.T) {
	late := &missed{errors.New("it took 11s")}
	for name, c := range map[string]struct {
		err   error
		wrong bool
	}{
		"nothing":           {nil, false},
		"late":              {late, false},
		"late, in words":    {fmt.Errorf("deploy: %w", late), false},
		"all of them late":  {errors.Join(late, fmt.Errorf("deploy: %w", errors.Join(late))), false},
		"wrong":             {errors.New("the server is on"), true},
		"one of them wrong": {fmt.Errorf("deploy: %w", errors.Join(late, fmt.Errorf("deploy: %w", errors.New("the server is on")))), true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.wrong, wrong(c.err)) })
	}

	deploy, _ := kindOf("deploy")
	trials := []*trial{{k: deploy}, {k: deploy, err: late}, {k: deploy, err: errors.New("the server is on")}, {k: deploy}}
	got := resultOf(row{name: "conductor killed"}, trials, time.Second)
	require.Equal(t, cell{Cases: 4, Right: 2, Late: 1}, got.Columns[deploy.column])
	all := results{Rows: []result{got}}
	require.Contains(t, string(all.page()), "| 2 of 4, 1 late |")
	require.Contains(t, string(all.page()), "2 of 4 cases right, 1 late.")
}

// The operation ends while the judge waits: the server must be read after that.
func TestAServerIsJudgedByWhatItIsAfterItsOperation(t *testing.T) {
	k, ok := kindOf("power on")
	require.True(t, ok)
	var looks atomic.Int32
	var over atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out any
		switch {
		case strings.Contains(r.URL.Path, "/operations/"):
			over.Store(looks.Add(1) > 2)
			o := stack.Operation{ID: "1", State: "running"}
			if over.Load() {
				o.State, o.Outcome = "ended", string(node.Succeeded)
			}
			out = o
		case strings.HasPrefix(r.URL.Path, "/servers/"):
			out = map[string]any{"powered": over.Load()}
		default:
			power := map[bool]string{true: "power on", false: "power off"}[over.Load()]
			out = stack.Node{State: string(k.to), Power: power}
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	defer server.Close()
	l := &lab{Stack: &stack.Stack{APIURL: server.URL, RackURL: server.URL}, calm: map[string]calm{k.name: {left: `on true, media "", override "", 0 volumes, 0 made`}}}
	one := &trial{k: k, s: &subject{uuid: "u", server: "sim-0001"}, id: "1"}
	require.NoError(t, l.verdict(t.Context(), row{}, one))
	require.True(t, over.Load())

	one.took = 11 * time.Second
	err := l.verdict(t.Context(), row{within: 10 * time.Second}, one)
	require.ErrorContains(t, err, "it took 11s")
	require.False(t, wrong(err), "what it did is as it must be")
}
