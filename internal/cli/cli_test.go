package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

var update = flag.Bool("update", false, "write the golden files anew")

// answers is where the answers of an API are that the client is tested with, too.
const answers = "../client/testdata"

func answer(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(answers, name+".json"))
	require.NoError(t, err)
	return raw
}

// output is what a command left behind.
type output struct {
	out, err string
	failed   error
}

// ask runs a command against an API, with in on standard input.
func ask(t *testing.T, api, in string, args ...string) output {
	t.Helper()
	return askIn(t, t.Context(), api, in, args...)
}

func askIn(t *testing.T, ctx context.Context, api, in string, args ...string) output {
	t.Helper()
	t.Setenv("TEMPER_API_URL", api)
	var out, errs bytes.Buffer
	err := execute(ctx, args, strings.NewReader(in), &out, &errs)
	return output{out.String(), errs.String(), err}
}

func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) error {
	root := newTestRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	return root.ExecuteContext(ctx)
}

// newTestRoot is the program's command line without its roles.
func newTestRoot() *cobra.Command {
	conductor, compute := newParent("conductor", "x", ""), newParent("compute", "x", "")
	conductor.AddCommand(ConductorCommands()...)
	compute.AddCommand(ComputeCommands()...)
	return New(nil, Group{ID: "role", Title: "Roles:", Commands: []*cobra.Command{conductor, compute}})
}

// goldenAPI answers with what an API answered once.
func goldenAPI(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"/v1/nodes": "nodes", "/temper/v1/nodes/power": "node_powers", "/v1/nodes/sim-0001": "node", "/v1/nodes/sim-0001/validate": "validate",
		"/v1/nodes/sim-0001/history": "history", "/v1/ports": "ports", "/v1/ports/p1": "port", "/v1/drivers": "drivers",
		"/v1/drivers/redfish": "driver", "/v1/drivers/redfish/properties": "properties", "/v1/conductors": "conductors", "/temper/v1/conductors": "fleet",
		"/temper/v1/conductors/conductor-1": "fleet_conductor", "/temper/v1/operations": "operations", "/temper/v1/operations/44": "operation_done",
		"/temper/v1/operations/22": "operation_failed", "/temper/v1/operations/87": "operation_cancelled",
		"/temper/v1/operations/44/timeline": "timeline", "/temper/v1/operations/22/timeline": "timeline", "/temper/v1/operations/87/timeline": "timeline",
	}
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		name, ok := files[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			name = "notfound"
		}
		if r.URL.Query().Has("marker") { // there is one page of each
			_, _ = io.WriteString(w, `{"nodes":[],"operations":[],"ports":[],"conductors":[],"history":[]}`)
			return
		}
		_, _ = w.Write(answer(t, name))
	})
}

func serving(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestTables(t *testing.T) {
	clock = func() time.Time { return time.Date(2026, 11, 20, 20, 30, 0, 0, time.UTC) }
	t.Cleanup(func() { clock = time.Now })
	api := goldenAPI(t)
	for file, args := range map[string]string{
		"node_list":           "node list",
		"node_list_long":      "node list --long",
		"node_list_fields":    "node list --fields name,maintenance,conductor_group",
		"node_show":           "node show sim-0001",
		"node_show_all":       "node show sim-0001 --all",
		"node_validate":       "node validate sim-0001",
		"node_history":        "node history sim-0001",
		"port_list":           "port list",
		"port_show":           "port show p1",
		"driver_list":         "driver list",
		"driver_show":         "driver show redfish",
		"conductor_list":      "conductor list",
		"conductor_show":      "conductor show conductor-1",
		"operation_list":      "operation list",
		"operation_list_wide": "operation list --wide",
		"operation_done":      "operation show 44",
		"operation_failed":    "operation show 22",
		"operation_cancelled": "operation show 87",
		"operation_yaml":      "operation show 44 -o yaml",
		"node_list_yaml":      "node list -o yaml",
	} {
		t.Run(args, func(t *testing.T) {
			got := ask(t, api, "", strings.Fields(args)...)
			require.NoError(t, got.failed)
			require.Empty(t, got.err)
			for line := range strings.Lines(got.out) {
				require.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), "spaces at the end")
			}
			path := filepath.Join("testdata", file+".golden")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got.out), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.out)
		})
	}
}

func TestJSONIsTheAPIsOwn(t *testing.T) {
	api := goldenAPI(t)
	for args, file := range map[string]string{
		"node show sim-0001": "node", "node list": "nodes", "node validate sim-0001": "validate", "node history sim-0001": "history",
		"port list": "ports", "port show p1": "port", "driver list": "drivers", "conductor list": "fleet",
		"conductor show conductor-1": "fleet_conductor", "operation list": "operations", "operation show 22": "operation_failed",
	} {
		t.Run(args, func(t *testing.T) {
			got := ask(t, api, "", append(strings.Fields(args), "-o", "json")...)
			require.NoError(t, got.failed)
			var want, have map[string]any
			require.NoError(t, json.Unmarshal(answer(t, file), &want))
			require.NoError(t, json.Unmarshal([]byte(got.out), &have))
			delete(want, "next") // it was followed
			require.Equal(t, want, have)
		})
	}
}

// clients are all commands over the API.
func clients(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	for _, c := range root.Commands() {
		switch {
		case c.GroupID == groupClient:
			walk(c)
		case c.Name() == "conductor":
			all = append(all, c.Commands()...)
		}
	}
	return all
}

func TestEveryCommandHelps(t *testing.T) {
	all := clients(newTestRoot())
	require.Greater(t, len(all), 40)
	for _, c := range all {
		t.Run(c.CommandPath(), func(t *testing.T) {
			require.NotEmpty(t, c.Short)
			require.LessOrEqual(t, len(c.Short), 90)
			require.False(t, strings.HasSuffix(c.Short, "."))
			require.NotEmpty(t, c.Example)
			c.Flags().VisitAll(func(f *pflag.Flag) { require.NotEmpty(t, f.Usage, f.Name) })
			got := ask(t, "", "", append(strings.Fields(c.CommandPath())[1:], "--help")...)
			require.NoError(t, got.failed)
			require.Contains(t, got.out, c.Short)
		})
	}
}

func TestEveryExampleIsRight(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("secret.json", []byte(`{"redfish_password":"x"}`), 0o600))
	require.NoError(t, os.WriteFile("subscription.yaml", []byte("Destination: https://events.example.org\n"), 0o600))
	for _, c := range clients(newTestRoot()) {
		example := strings.ReplaceAll(c.Example, "\\\n", " ")
		for line := range strings.Lines(example) {
			t.Run(strings.TrimSpace(line), func(t *testing.T) {
				split, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+line).Output()
				require.NoError(t, err)
				words := strings.Split(strings.TrimSpace(string(split)), "\n")
				require.Equal(t, "temper", words[0])
				found, args, err := newTestRoot().Find(words[1:])
				require.NoError(t, err)
				err = found.ParseFlags(args)
				if errors.Is(err, pflag.ErrHelp) {
					return
				}
				require.NoError(t, err)
				require.NoError(t, found.ValidateArgs(found.Flags().Args()))
				require.NoError(t, found.ValidateRequiredFlags())
			})
		}
	}
}

func TestEveryCommandRefusesWhatItDoesNotKnow(t *testing.T) {
	api := serving(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("asked ", r.URL) })
	for _, c := range clients(newTestRoot()) {
		path := strings.Fields(c.CommandPath())[1:]
		t.Run(c.CommandPath()+" --frob", func(t *testing.T) {
			require.ErrorContains(t, ask(t, api, "", append(path, "--frob")...).failed, "unknown flag: --frob")
		})
		if strings.Contains(c.Use, "...") {
			continue
		}
		t.Run(c.CommandPath()+" with too many words", func(t *testing.T) {
			require.Error(t, ask(t, api, "", append(path, "one", "two", "three")...).failed)
		})
	}
	for name, args := range map[string][]string{
		"no node":                   {"node", "manage"},
		"nodes and a state":         {"node", "manage", "n1", "--all-in-state", "enroll"},
		"a state that is none":      {"node", "manage", "--all-in-state", "asleep"},
		"too many at a time":        {"node", "manage", "n1", "--parallel", "1000"},
		"no clean steps":            {"node", "clean", "n1"},
		"a port of nobody":          {"port", "create", "52:54:00:00:00:01"},
		"no operation":              {"operation", "watch"},
		"an operation and a node":   {"operation", "watch", "1", "--node", "n1"},
		"a format that is none":     {"node", "list", "-o", "xml"},
		"a limit that is none":      {"node", "list", "--limit", "0"},
		"a driver info without =":   {"node", "create", "--driver", "d", "--driver-info", "address"},
		"soft power on":             {"node", "power", "on", "n1", "--soft"},
		"a time limit for hard off": {"node", "power", "off", "n1", "--timeout", "1m"},
		"half a second":             {"node", "power", "off", "n1", "--soft", "--timeout", "500ms"},
		"nothing to set":            {"node", "set", "n1"},
		"one name for two":          {"node", "set", "n1", "n2", "--name", "x"},
		"an interface that is none": {"node", "set", "n1", "--interface", "frob=x"},
		"a key that PATCH refuses":  {"node", "set", "n1", "--extra", "a.b=1"},
		"traits and all":            {"node", "trait", "remove", "n1", "CUSTOM_A", "--all"},
	} {
		t.Run(name, func(t *testing.T) { require.Error(t, ask(t, api, "", args...).failed) })
	}
}

func TestWhatIsEmptyIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	api := serving(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("asked ", r.Method, " ", r.URL) })
	for _, c := range clients(newTestRoot()) {
		if !c.Runnable() || len(strings.Fields(c.Use)) < 2 {
			continue
		}
		t.Run(c.CommandPath(), func(t *testing.T) {
			args := append(strings.Fields(c.CommandPath())[1:], "", "x")
			if c.ValidateArgs([]string{"", "x"}) != nil {
				args = args[:len(args)-1]
			}
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 {
					args = append(args, "--"+f.Name, "x")
				}
				if group := f.Annotations["cobra_annotation_one_required"]; len(group) > 0 && strings.HasPrefix(group[0], f.Name+" ") {
					args = append(args, "--"+f.Name, "[]")
				}
			})
			require.ErrorContains(t, ask(t, api, "", args...).failed, "a name or uuid is missing: "+strings.Trim(strings.Fields(c.Use)[1], "[].")+" is empty")
		})
	}
	for want, all := range map[string][]string{
		"a name or uuid is missing: NODE is empty":   {"node show|", "node delete|n1|", "node validate| "},
		"a name or uuid is missing: TRAIT is empty":  {"node trait add|n1|CUSTOM_A|"},
		"a name or uuid is missing: --node is empty": {"port list|--node|", "operation list|--node|"},
		"--wait is -5s: it must be above 0":          {"node manage|n1|--wait|-5s", "operation cancel|1|--wait|-5s", "operation watch|1|--wait|-5s"},
		"--wait is 0s: it must be above 0":           {"node manage|n1|--wait|0s"},
		"--timeout is 0s: it must be above 0":        {"node list|--timeout|0", "node power off|n1|--soft|--timeout|0"},
		"--timeout is -1m0s: it must be above 0":     {"conductor list|--timeout|-1m", "node power off|n1|--soft|--timeout|-1m"},
	} {
		for _, one := range all {
			command, rest, _ := strings.Cut(one, "|")
			require.ErrorContains(t, ask(t, api, "", append(strings.Fields(command), strings.Split(rest, "|")...)...).failed, want, one)
		}
	}
}

func TestWhereTheAPIIs(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TEMPER_API_URL", "")
	require.Equal(t, "http://127.0.0.1:6385", newSession().apiURL())
	require.NoError(t, os.MkdirAll(".temper/dev", 0o755))
	require.NoError(t, os.WriteFile(".temper/dev/dev.json", []byte(`{"api_url":"http://dev:1"}`), 0o600))
	require.Equal(t, "http://dev:1", newSession().apiURL())
	t.Setenv("TEMPER_API_URL", "http://environment:1")
	require.Equal(t, "http://environment:1", newSession().apiURL())
	s := newSession()
	s.api = "http://flag:1"
	require.Equal(t, "http://flag:1", s.apiURL())
}

func TestWhoAsks(t *testing.T) {
	var mu sync.Mutex
	var user, password string
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		user, password, _ = r.BasicAuth()
		_, _ = w.Write(answer(t, "nodes"))
	})
	t.Setenv("TEMPER_API_USER", "ada")
	t.Setenv("TEMPER_API_PASSWORD", "one")
	require.NoError(t, ask(t, api, "", "node", "list").failed)
	require.Equal(t, []string{"ada", "one"}, []string{user, password})
	require.NoError(t, ask(t, api, "", "node", "list", "--user", "bob", "--password", "two").failed)
	require.Equal(t, []string{"bob", "two"}, []string{user, password})
}

func TestAnAPIThatIsAwayIsNamed(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	got := ask(t, s.URL, "", "node", "list", "--timeout", (600 * time.Millisecond).String())
	require.EqualError(t, got.failed, "the API at "+s.URL+" can not be reached: connection refused; if it is elsewhere, say so with --api or TEMPER_API_URL")
	require.Regexp(t, `^temper: the API at \S+ can not be reached: connection refused; trying again until `+timeOfDay+` \(--timeout\)\n$`, got.err)
}

// timeOfDay matches a time as sentences contain it: shortly before midnight it has a date.
const timeOfDay = `(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\dZ`

// Somebody who waits for an answer is told after some seconds what is away, and until when the answer is awaited.
func TestAnAnswerThatDoesNotComeIsExplainedMeanwhile(t *testing.T) {
	broken := `{"ok":false,"parts":[{"name":"postgresql","ok":false,"since":"2026-01-02T03:04:05+00:00","message":"PostgreSQL does not answer"}]}`
	limit := timeOfDay + ` \(--timeout\)`
	for name, c := range map[string]struct{ status, want string }{
		"a part is broken": {broken, `PostgreSQL does not answer, since 2026-01-02 03:04:05Z; asking again until ` + timeOfDay + `, or until the end of --timeout if that is given`},
		"another part is":  {strings.ReplaceAll(broken, "postgresql", "conductors"), `the API at \S+ works on this request; the answer is awaited until ` + limit},
		"none is":          {`{"ok":true,"parts":[]}`, `the API at \S+ works on this request; the answer is awaited until ` + limit},
		"nothing is known": {`no JSON`, `no answer from the API at \S+ yet; it is awaited until ` + limit},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan struct{})
			api := serving(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/temper/v1/status" {
					_, _ = io.WriteString(w, c.status)
					return
				}
				<-told
				_, _ = w.Write(answer(t, "nodes"))
			})
			errs := &signalling{written: told}
			t.Setenv("TEMPER_API_URL", api)
			require.NoError(t, execute(t.Context(), []string{"node", "list"}, strings.NewReader(""), io.Discard, errs))
			require.Regexp(t, "^temper: "+c.want+`\n$`, errs.String())
		})
	}
}

// An error that one part has caused does not come with what to check of another one.
func TestAnErrorIsToldWithThePartThatCausedIt(t *testing.T) {
	for code, want := range map[fault.Code][]string{
		fault.DatabaseUnavailable: {"postgresql"}, fault.TemporalUnavailable: {"temporal"}, fault.ServiceUnavailable: {"postgresql", "temporal", "clocks"},
	} {
		api := serving(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/temper/v1/status" {
				_, _ = io.WriteString(w, `{"ok":false,"parts":[{"name":"postgresql","ok":false,"message":"P"},{"name":"temporal","ok":false,"message":"T"},{"name":"clocks","ok":false,"message":"C"}]}`)
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write(faultOf("no", code))
		})
		got := ask(t, api, "", "node", "maintenance", "set", "n1")
		require.Error(t, got.failed)
		for _, part := range []string{"postgresql", "temporal", "clocks"} {
			require.Equal(t, slices.Contains(want, part), strings.Contains(got.failed.Error(), "\n  "+part+": "), "%s: %s", code, got.failed)
		}
	}
}

// What was told while an answer was awaited is not told again, and not asked for again, when that answer is an error.
func TestWhatWasToldMeanwhileIsNotToldAgain(t *testing.T) {
	told, asked := make(chan struct{}), 0
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/temper/v1/status" {
			asked++
			_, _ = io.WriteString(w, `{"ok":false,"parts":[{"name":"postgresql","ok":false,"message":"PostgreSQL does not answer","works":"what runs","check":"its log"}]}`)
			return
		}
		<-told
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(faultOf("Resource temporarily unavailable, please retry.", fault.DatabaseUnavailable))
	})
	errs := &signalling{written: told}
	t.Setenv("TEMPER_API_URL", api)
	err := execute(t.Context(), []string{"node", "maintenance", "set", "n1"}, strings.NewReader(""), io.Discard, errs)
	require.Regexp(t, `^temper: PostgreSQL does not answer; the answer is awaited until \S+ at the latest \(--timeout\); the request is sent only once\n$`, errs.String())
	require.ErrorContains(t, err, "\n  postgresql: still works: what runs; check: its log")
	require.NotContains(t, err.Error(), "does not answer")
	require.Equal(t, 1, asked)
}

// Nodes do not say that nothing goes on, so that the command does.
func TestWhyNamesThePartsWithoutWhichNothingGoesOn(t *testing.T) {
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/temper/v1/status" {
			_, _ = io.WriteString(w, `{"ok":false,"parts":[{"name":"temporal","ok":false,"since":"2026-01-02T03:04:05+00:00","message":"Temporal does not answer","works":"operations wait"},
				{"name":"clocks","ok":false,"message":"clocks differ"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"groups":[],"nodes":[],"next":null}`)
	})
	for _, command := range []string{"why", "why --nodes", "why --reason late", "node why n1 n2"} {
		got := ask(t, api, "", strings.Fields(command)...)
		require.NoError(t, got.failed)
		require.True(t, strings.HasPrefix(got.out, "Temporal does not answer, since 2026-01-02 03:04:05Z: operations wait\n"), "%s: %s", command, got.out)
		require.NotContains(t, got.out, "clocks")
		got = ask(t, api, "", append(strings.Fields(command), "-o", "json")...)
		require.NoError(t, got.failed)
		var doc struct{ Broken []client.Part }
		require.NoError(t, json.Unmarshal([]byte(got.out), &doc))
		require.Len(t, doc.Broken, 2, got.out)
		require.Equal(t, []string{"temporal", "clocks"}, []string{doc.Broken[0].Name, doc.Broken[1].Name})
	}
}

// signalling is a buffer that closes written when something is written to it.
type signalling struct {
	bytes.Buffer
	written chan struct{}
}

func (s *signalling) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	close(s.written)
	return n, err
}

func TestCompletionsOfferNames(t *testing.T) {
	api := goldenAPI(t)
	for args, want := range map[string]string{
		"node show":              "sim-0003\tavailable",
		"node deploy":            "sim-0003\tavailable",
		"operation show":         "99\tdeploy fake-0002 ended",
		"conductor show":         "conductor-1",
		"driver show":            "redfish",
		"node list --state":      "wait call-back",
		"node manage -o":         "yaml",
		"operation list --kind":  "undeploy",
		"node set --interface":   "deploy=",
		"node create n --driver": "fake-hardware",
	} {
		t.Run(args, func(t *testing.T) {
			got := ask(t, api, "", append(append([]string{"__complete"}, strings.Fields(args)...), "")...)
			require.NoError(t, got.failed)
			require.Contains(t, strings.Split(got.out, "\n"), want)
		})
	}
	got := ask(t, api, "", "__complete", "node", "clean", "")
	require.NotContains(t, got.out, "sim-0003", "it can't be cleaned in its state")
	got = ask(t, "http://127.0.0.1:1", "", "__complete", "node", "show", "")
	require.NoError(t, got.failed)
	require.NotContains(t, got.out, "refused")
}
