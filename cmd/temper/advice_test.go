package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// faultOf is an error of the API in Ironic's shape.
func faultOf(words string) []byte {
	inner, _ := json.Marshal(map[string]any{"faultcode": "Client", "faultstring": words, "debuginfo": nil})
	outer, _ := json.Marshal(map[string]string{"error_message": string(inner)})
	return outer
}

func TestErrorsSayWhatToDo(t *testing.T) {
	const u = "5f1d0b0c-6b0f-4d3a-9d0c-0a9b8c7d6e5f"
	for name, c := range map[string]struct {
		status int
		words  string
		event  node.Event
		want   string
	}{
		"a node that is not there":          {404, "Node n1 could not be found.", node.EventManage, "temper node list shows which there are"},
		"an operation that is not there":    {404, "Operation 7 could not be found.", "", "temper operation list shows which there are"},
		"a node that is held":               {409, "Node " + u + " is locked by host c1, please retry after the current operation is completed.", node.EventDeploy, "temper operation watch --node n1 shows what goes on"},
		"a node that moves":                 {409, "Node " + u + " can not be updated while a state transition is in progress.", "", "temper operation watch --node n1 shows what goes on; once it holds for a decision, driver_info, instance_info and properties can be set"},
		"a node that is protected":          {403, "Node " + u + " is protected and cannot be undeployed, rebuilt or deleted", node.EventDelete, "temper node set n1 --protected=false lifts that"},
		"no image":                          {400, "Failed to validate deploy or power info for node: Missing are: ['image_source']", node.EventDeploy, "say which image with --image and --checksum"},
		"no address":                        {400, "Failed to validate power info for node: Missing redfish_address", node.EventManage, "temper node validate n1 shows what is missing"},
		"no conductor":                      {404, "No valid host was found. Reason: x", node.EventManage, "temper conductor list shows which conductors there are, and for what"},
		"nobody at all":                     {503, "Resource temporarily unavailable, please retry.", node.EventManage, "see temper conductor list, and ask again"},
		"the database away":                 {503, "Resource temporarily unavailable, please retry. (the database is away or busy)", "", "ask again when it is back"},
		"an older API":                      {406, "Version 1.95 was requested", "", "the API is older than this program, which asks for version 1.95"},
		"not let in":                        {401, "Authorization required", "", "say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD"},
		"deploy of what was just enrolled":  {400, refused(u, "active", "enroll"), node.EventDeploy, "first: temper node manage n1, then temper node provide n1"},
		"deploy of what is manageable":      {400, refused(u, "active", "manageable"), node.EventDeploy, "first: temper node provide n1"},
		"deploy of what is active":          {400, refused(u, "active", "active"), node.EventDeploy, "it is active already"},
		"clean of what is available":        {400, refused(u, "clean", "available"), node.EventClean, "first: temper node manage n1"},
		"inspect of what is active":         {400, refused(u, "inspect", "active"), node.EventInspect, "that is possible in: manageable, inspect failed"},
		"provide of what is being deployed": {400, refused(u, "provide", "deploying"), node.EventProvide, "temper operation watch --node n1 shows when it is done"},
		"abort of what rests":               {400, refused(u, "abort", "available"), node.EventAbort, "that is possible in: wait call-back, deploy hold, clean wait, clean hold, inspect wait, rescue wait, service wait, service hold, service failed"},
		"abort of what is at work":          {400, refused(u, "abort", "verifying"), node.EventAbort, "that is possible in: wait call-back, deploy hold, clean wait, clean hold, inspect wait, rescue wait, service wait, service hold, service failed"},
		"unhold of what is not held":        {400, refused(u, "unhold", "active"), node.EventUnhold, "that is possible in: deploy hold, clean hold, service hold"},
		"undeploy of what was never used":   {400, refused(u, "deleted", "enroll"), node.EventDelete, "that is possible in: wait call-back, deploy failed, active, error, rescue wait, rescue, rescue failed, unrescue failed, service wait, service failed"},
		"clean of what is in use":           {400, refused(u, "clean", "active"), node.EventClean, "that is possible in: manageable"},
		"provide of what waits":             {400, refused(u, "provide", "wait call-back"), node.EventProvide, "temper operation watch --node n1 shows when it is done, temper node abort n1 ends it"},
		"rebuild of what is held":           {400, refused(u, "rebuild", "deploy hold"), node.EventRebuild, "temper operation watch --node n1 shows when it is done, temper node unhold n1 lets it go on, temper node abort n1 ends it"},
		"something nobody can help with":    {400, "No.", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := &client.Error{Status: c.status, Words: strings.TrimSuffix(c.words, ".")}
			got := advisedOn(err, "n1", c.event)
			want := err.Error()
			if c.want != "" {
				want += "; " + c.want
			}
			require.EqualError(t, got, want)
			require.Equal(t, got, advised(got), "advised twice")
			require.Equal(t, c.status, client.StatusOf(got))
		})
	}
	require.NoError(t, advised(nil))
}

func refused(uuid, action, state string) string {
	return fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.", action, uuid, state)
}

func TestManyFailuresAreOneError(t *testing.T) {
	boom := errors.New("boom")
	all := each(t.Context(), []string{"a", "b", "c", "d"}, 2, "", func(_ context.Context, name string) (int, error) {
		switch name {
		case "a", "d":
			return 0, boom
		case "c":
			return 0, errors.New("bang")
		}
		return 1, nil
	})
	require.Equal(t, []int{1}, values(all))
	err := failed(all)
	require.EqualError(t, err, "3 of 4 failed:\n  a, d: boom\n  c: bang")
	require.ErrorIs(t, err, boom)
	require.NoError(t, failed(all[1:2]))
	require.EqualError(t, failed(all[:1]), "a: boom")
}

func TestSoManyAtATimeAndNoMore(t *testing.T) {
	var now, most atomic.Int32
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	release := make(chan struct{})
	go func() {
		for range names {
			release <- struct{}{}
		}
	}()
	all := each(t.Context(), names, 3, "", func(context.Context, string) (int, error) {
		n := now.Add(1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		<-release
		now.Add(-1)
		return 0, nil
	})
	require.LessOrEqual(t, most.Load(), int32(3))
	for i, d := range all {
		require.Equal(t, names[i], d.name, "the order is lost")
	}
}

func TestOneBadNodeDoesNotStopTheOthers(t *testing.T) {
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/nodes/bad":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(faultOf("Node bad could not be found."))
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	got := ask(t, api, "", "node", "delete", "n1", "bad", "n2", "n1")
	require.Equal(t, "n1: deleted\nn2: deleted\n", got.out)
	require.EqualError(t, got.failed, "1 of 3 failed:\n  bad: Node bad could not be found; temper node list shows which there are")
}

func TestAllInAStateAreAskedForFirst(t *testing.T) {
	var deleted atomic.Int32
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted.Add(1)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if state := r.URL.Query().Get("provision_state"); state != "enroll" {
			_, _ = w.Write([]byte(`{"nodes":[]}`))
			return
		}
		_, _ = w.Write([]byte(`{"nodes":[{"name":"n1","uuid":"u1"},{"name":null,"uuid":"u2"}]}`))
	})
	args := []string{"node", "delete", "--all-in-state", "enroll"}
	for in, want := range map[string]string{"": "say --yes", "n\n": "nothing was done", "what\n": "nothing was done"} {
		got := ask(t, api, in, args...)
		require.ErrorContains(t, got.failed, want)
		require.Contains(t, got.err, "delete 2 nodes (n1, u2)? [y/N]")
		require.Zero(t, deleted.Load())
	}
	require.NoError(t, ask(t, api, "y\n", args...).failed)
	require.EqualValues(t, 2, deleted.Load())
	got := ask(t, api, "", append(args, "--yes")...)
	require.NoError(t, got.failed)
	require.Equal(t, "n1: deleted\nu2: deleted\n", got.out)
	require.Empty(t, got.err)
	got = ask(t, api, "", "node", "delete", "--all-in-state", "active", "--yes")
	require.NoError(t, got.failed)
	require.Equal(t, "temper: no node is in state active\n", got.err)
}
