package cli

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// called runs a command as Execute does for the program that the user has called as program.
func called(t *testing.T, program string, args ...string) output {
	t.Helper()
	var out, errs bytes.Buffer
	root := newTestRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&errs)
	err := Execute(t.Context(), root, program)
	return output{out.String(), errs.String(), err}
}

// suggesting is an API whose answers name commands.
func suggesting(t *testing.T) string {
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/why") {
			_, _ = w.Write([]byte(`{"brief":["Node n1 is held.","Next: it fails.","You can: temper operation retry 7"],"text":"Node n1 is held. You can: temper operation retry 7; temper conductor list; temper conductor --name c1; temper bmc probe B"}`))
			return
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"error_message":"{\"faultstring\":\"is locked\"}","code":"node_locked","help":[{"command":"temper node why n1","effect":"says what happens to it"}]}`))
	})
}

// A command that is shown runs when it is pasted into the shell where the first one ran.
func TestCommandsAreShownAsTheUserCanPasteThem(t *testing.T) {
	api := suggesting(t)
	got := called(t, "./bin/temper", "node", "why", "n1", "--long", "--api", api, "--user", "o'neil")
	require.NoError(t, got.failed)
	with := " --api " + api + ` --user 'o'\''neil'`
	require.Equal(t, "Node n1 is held. You can: ./bin/temper operation"+with+" retry 7; ./bin/temper conductor list"+with+"; ./bin/temper conductor --name c1; temper bmc probe B\n", got.out,
		"this test's program has no bmc")

	got = called(t, "./bin/temper", "node", "power", "on", "n1", "--api", strings.Replace(api, "http://", "http://me:secret@", 1))
	require.ErrorContains(t, got.failed, "./bin/temper node --api "+strings.Replace(api, "http://", "http://me@", 1)+" why n1 says what happens to it")
	require.NotContains(t, got.failed.Error(), "secret")

	t.Setenv("TEMPER_API_URL", api)
	got = called(t, "temper", "node", "why", "n1", "--long")
	require.Contains(t, got.out, "temper operation retry 7; temper conductor list; ", "the environment says where the API is")
	got = called(t, "/opt/my tools/temper", "node", "why", "n1")
	require.Contains(t, got.out, "'/opt/my tools/temper' operation retry 7")
	got = called(t, "/opt/temper", "node", "why", "n1", "-o", "json")
	require.Contains(t, got.out, `temper operation retry 7; temper conductor list`, "as the API has answered")
}

// What is shown is accepted by the command line itself.
func TestAPastedCommandReachesTheSameAPI(t *testing.T) {
	asked := make(chan string, 10)
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		_, _ = w.Write([]byte(`{"text":"You can: temper node why n2","conductors":[]}`))
	})
	for command, path := range map[string]string{"temper node why n2": "/temper/v1/nodes/n2/why", "temper conductor list": "/temper/v1/conductors", "temper status": "/temper/v1/status"} {
		c, _, err := newTestRoot().Find([]string{"node", "why"})
		require.NoError(t, err)
		require.NoError(t, c.ParseFlags([]string{"--api", api}))
		pasted := strings.Fields(invocationOf(c).fit(command))
		require.Equal(t, "temper", pasted[0])
		called(t, "temper", pasted[1:]...)
		require.Equal(t, path, <-asked, "%v", pasted)
	}
}

// The text of help is for every shell, and what is no command stays as it is.
func TestOnlyCommandsAreFitted(t *testing.T) {
	c := newTestRoot()
	i := invocationOf(c)
	i.program = "bin/temper"
	for in, want := range map[string]string{
		"temper: lost sight":                  "temper: lost sight",
		"it joins a temper dev":               "it joins a temper dev",
		`"temper why" tells`:                  `"bin/temper why" tells`,
		"bin/temper why":                      "bin/temper why",
		"(temper node list)":                  "(bin/temper node list)",
		"its temper nodes":                    "its temper nodes",
		"temper node why a; temper ring show": "bin/temper node why a; bin/temper ring show",
	} {
		require.Equal(t, want, i.fit(in))
	}
}
