package agent_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

const token = "Zx3mP0f8sQw1Vt7yKc5bRj9nHd2gLa6eUoIiXkYzAvM"

// listener is an agent that answers as it is told and remembers what came.
type listener struct {
	*httptest.Server
	ca     string
	answer func(http.ResponseWriter, *http.Request)

	mu       sync.Mutex
	requests []string // "METHOD path?query body"
}

func listen(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *listener {
	t.Helper()
	l := &listener{answer: answer}
	cert, ca := newCertificate(t, net.IPv4(127, 0, 0, 1))
	l.ca = ca
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		l.requests = append(l.requests, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		l.mu.Unlock()
		l.answer(w, r)
	}))
	l.Server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	l.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	l.StartTLS()
	t.Cleanup(l.Close)
	return l
}

func (l *listener) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.requests...)
}

func (l *listener) client(t *testing.T, change ...func(*agent.Target, *agent.Settings)) *agent.Client {
	t.Helper()
	target := agent.Target{Node: "node-1", URL: l.URL + "/", Token: token, VerifyCA: l.ca}
	settings := agent.Settings{Callback: agent.CallbackPolicy{AllowLoopback: true}}
	for _, c := range change {
		c(&target, &settings)
	}
	c, err := agent.NewClient(target, settings)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// says answers with a document of testdata.
func says(t *testing.T, code int, name string) func(http.ResponseWriter, *http.Request) {
	t.Helper()
	document := fixture(t, name)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(document)
	}
}

// Requests go out as the real Ironic sends them (drivers/modules/agent_client.py).
func TestRequestsAreTheRealOnes(t *testing.T) {
	ctx := context.Background()
	about := func(name string) map[string]any { return decode[map[string]any](t, name)["params"].(map[string]any) }
	clean := decode[agent.Command](t, "command_execute_clean_step.json")
	var run agent.RunStep
	require.NoError(t, json.Unmarshal(clean.Params, &run))

	for document, c := range map[string]struct {
		answer string
		wait   string
		call   func(*agent.Client) error
	}{
		"command_get_deploy_steps.json": {"result_deploy_steps.json", "true", func(c *agent.Client) error {
			p := about("command_get_deploy_steps.json")
			lists, err := c.ListSteps(ctx, agent.DeployFamily, agent.ListSteps{
				Node:  p["node"].(map[string]any),
				Ports: []map[string]any{p["ports"].([]any)[0].(map[string]any)},
			})
			require.Len(t, lists.Of(agent.DeployFamily)["GenericHardwareManager"], 3)
			require.Equal(t, json.Number("3"), lists.Versions["VendorManager"])
			return err
		}},
		"command_execute_clean_step.json": {"result_running.json", "false", func(c *agent.Client) error {
			r, err := c.Start(ctx, agent.ExecuteCleanStep, run)
			require.Equal(t, agent.Running, r.Status)
			return err
		}},
		"command_install_bootloader.json": {"result_running.json", "false", func(c *agent.Client) error {
			_, err := c.Start(ctx, agent.InstallBootloader, agent.BootloaderParams{RootUUID: "0x00000000", TargetBootMode: "uefi"})
			return err
		}},
		"command_power_off.json": {"result_running.json", "false", func(c *agent.Client) error {
			_, err := c.Start(ctx, agent.PowerOff, nil)
			return err
		}},
	} {
		t.Run(document, func(t *testing.T) {
			l := listen(t, says(t, 200, c.answer))
			require.NoError(t, c.call(l.client(t)))
			require.Len(t, l.got(), 1)
			parts := strings.SplitN(l.got()[0], " ", 3)
			require.Equal(t, "POST", parts[0])
			require.Equal(t, "/v1/commands/?agent_token="+token+"&wait="+c.wait, parts[1])
			var want, got any
			require.NoError(t, json.Unmarshal(fixture(t, document), &want))
			require.NoError(t, json.Unmarshal([]byte(parts[2]), &got))
			same(t, "", want, got)
		})
	}
}

func TestAnswersAreRead(t *testing.T) {
	ctx := context.Background()
	t.Run("the list", func(t *testing.T) {
		l := listen(t, says(t, 200, "commands.json"))
		list, err := l.client(t).Commands(ctx)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []string{"GET /v1/commands/?agent_token=" + token + " "}, l.got())
	})
	t.Run("one command", func(t *testing.T) {
		l := listen(t, says(t, 200, "result_failed.json"))
		r, err := l.client(t).Command(ctx, "0b2f")
		require.NoError(t, err, "to read a failure is no failure")
		require.Equal(t, agent.Failed, r.Status)
		require.Contains(t, l.got()[0], "/v1/commands/0b2f?")
	})
	t.Run("the status", func(t *testing.T) {
		s, err := listen(t, says(t, 200, "status.json")).client(t).Status(ctx)
		require.NoError(t, err)
		require.Equal(t, agent.Text("11.5.0"), s.Version)
	})
	t.Run("partitions of a whole-disk image", func(t *testing.T) {
		p, err := listen(t, says(t, 200, "result_partition_uuids_whole_disk.json")).client(t).GetPartitionUUIDs(ctx)
		require.NoError(t, err)
		require.Zero(t, p)
	})
	t.Run("a wait that did not wait", func(t *testing.T) {
		_, err := listen(t, says(t, 200, "result_running.json")).client(t).GetPartitionUUIDs(ctx)
		require.Equal(t, fault.Busy, fault.KindOf(err))
	})
}

func raw(code int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func hijack(w http.ResponseWriter, send string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, send)
	_ = conn.Close()
}

func TestErrorsHaveTheirKind(t *testing.T) {
	long := `{"id":"1","command_name":"sync","command_status":"FAILED","command_error":"` + token + ` ` + strings.Repeat("é ", 4000) + token + `"}`
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   fault.Kind
		text   string
	}{
		"busy":                         {says(t, 409, "fault_busy.json"), fault.Busy, "executing command execute_deploy_step"},
		"busy as older agents say it":  {says(t, 500, "fault_error.json"), fault.Busy, "agent is busy"},
		"overloaded":                   {raw(503, ""), fault.Busy, "Service Unavailable"},
		"wrong token":                  {says(t, 401, "fault_token.json"), fault.Denied, "Token invalid"},
		"an unknown command":           {raw(400, `{"faultcode":"Client","faultstring":"Invalid command: Unknown command: x"}`), fault.Refused, "Unknown command"},
		"an unknown extension":         {raw(404, `{"faultstring":"Not found: Extension with id x not found."}`), fault.Refused, "Extension"},
		"an error inside":              {raw(500, `{"faultcode":"Server","faultstring":"oops"}`), fault.Unreachable, "oops"},
		"a proxy's page":               {raw(502, "<html>"), fault.Unreachable, "Bad Gateway"},
		"no JSON":                      {raw(200, "<html>"), fault.Unreachable, "can't be read"},
		"JSON of another type":         {raw(200, `["a"]`), fault.Unreachable, "can't be read"},
		"JSON that says nothing":       {raw(200, `{}`), fault.Unreachable, "no command_status"},
		"a failure":                    {says(t, 200, "result_failed.json"), fault.Refused, "failed to verify against checksum"},
		"a failure in a bare string":   {says(t, 200, "result_failed_text.json"), fault.Refused, "Flushing"},
		"other versions":               {says(t, 200, "result_version_mismatch.json"), fault.Refused, "CLEAN_VERSION_MISMATCH"},
		"a failure with endless words": {raw(200, long), fault.Refused, " ..."},
		"a body larger than allowed":   {raw(200, strings.Repeat(" ", 5000)), fault.Refused, "larger than"},
		"a redirect is not followed": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, fault.Refused, "307"},
		"a truncated body": {func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"id\":")
		}, fault.Unreachable, "the connection was closed in the middle of the answer"},
		"a connection that is closed":        {func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, fault.Unreachable, "the connection was closed without an answer"},
		"an agent that answers in its sleep": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, fault.Unreachable, "no answer in time (standby.power_off on the agent at 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, c.answer)
			client := l.client(t, func(_ *agent.Target, s *agent.Settings) {
				s.MaxBody, s.RequestTimeout = 4096, 300*time.Millisecond
				if name == "a failure with endless words" {
					s.MaxBody = 1 << 20
				}
			})
			_, err := client.Start(context.Background(), agent.PowerOff, nil)
			require.Error(t, err)
			require.Equal(t, c.want, fault.KindOf(err), "%v", err)
			require.Contains(t, err.Error(), c.text)
			require.NotContains(t, err.Error(), token)
			require.NotContains(t, err.Error(), "agent_token=", "the query is no part of an error")
			require.Less(t, len(err.Error()), 1200)
			require.Len(t, l.got(), 1, "a POST is never repeated")
		})
	}
}

func TestAnAgentThatIsGone(t *testing.T) {
	l := listen(t, raw(200, "{}"))
	client := l.client(t)
	l.Close()
	_, err := client.Commands(context.Background())
	require.Equal(t, fault.Unreachable, fault.KindOf(err))
	require.NotContains(t, err.Error(), token)
}

func TestCommandThatTheAgentForgot(t *testing.T) {
	l := listen(t, raw(404, `{"faultstring":"Not found: Command Result with id 1 not found."}`))
	_, err := l.client(t).Command(context.Background(), "1")
	require.Equal(t, fault.NotFound, fault.KindOf(err))
}

func TestOnlyTheReceivedCertificateIsTrusted(t *testing.T) {
	_, other := newCertificate(t, net.IPv4(127, 0, 0, 1))
	for name, ca := range map[string]string{"another certificate": other, "no certificate": ""} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, says(t, 200, "commands.json"))
			_, err := l.client(t, func(target *agent.Target, _ *agent.Settings) { target.VerifyCA = ca }).Commands(context.Background())
			require.Equal(t, fault.Untrusted, fault.KindOf(err), "%v", err)
			require.Empty(t, l.got(), "nothing may be sent, the token least of all")
		})
	}
	t.Run("the right one for another address", func(t *testing.T) {
		cert, ca := newCertificate(t, net.IPv4(192, 0, 2, 1))
		l := listen(t, says(t, 200, "commands.json"))
		l.Server.TLS.Certificates[0] = cert
		_, err := l.client(t, func(target *agent.Target, _ *agent.Settings) { target.VerifyCA = ca }).Commands(context.Background())
		require.Equal(t, fault.Untrusted, fault.KindOf(err), "%v", err)
	})
}

func TestGuardIsAskedBeforeEveryPost(t *testing.T) {
	l := listen(t, says(t, 200, "result_running.json"))
	lost := fault.New(fault.Lost, "the claim is not ours any more")
	asked, verdict := 0, error(nil)
	client := l.client(t, func(target *agent.Target, _ *agent.Settings) {
		target.Guard = func(context.Context) error { asked++; return verdict }
	})
	ctx := context.Background()
	_, err := client.Start(ctx, agent.PowerOff, nil)
	require.NoError(t, err)
	require.Equal(t, 1, asked)

	verdict = lost
	_, err = client.Start(ctx, agent.PowerOff, nil)
	require.ErrorIs(t, err, lost)
	require.Len(t, l.got(), 1, "what the guard refuses is not sent")

	_, err = client.Status(ctx)
	require.NoError(t, err, "reading is not guarded")
	require.Equal(t, 2, asked)
}

func TestCancelIsNotTheAgentsFault(t *testing.T) {
	arrived := make(chan struct{})
	l := listen(t, func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-arrived; cancel() }()
	_, err := l.client(t).Commands(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NotEqual(t, fault.Unreachable, fault.KindOf(err))
	require.NotContains(t, err.Error(), token)
}

// Hardware managers may take their time to list steps; what changes something
// keeps the short deadline.
func TestOnlyLookingMayBeSlow(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(agent.PowerOff)) {
			<-r.Context().Done() // never answered
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(400 * time.Millisecond): // longer than RequestTimeout
			says(t, 200, "result_deploy_steps.json")(w, r)
		}
	}
	client := listen(t, slow).client(t, func(_ *agent.Target, s *agent.Settings) { s.RequestTimeout = 100 * time.Millisecond })
	_, err := client.ListSteps(context.Background(), agent.DeployFamily, agent.ListSteps{})
	require.NoError(t, err)
	_, err = client.Start(context.Background(), agent.PowerOff, nil)
	require.Equal(t, fault.Unreachable, fault.KindOf(err))
}

func TestClientsThatAreNotMade(t *testing.T) {
	for name, c := range map[string]struct {
		target agent.Target
		text   string
	}{
		"plain HTTP":          {agent.Target{URL: "http://192.0.2.1:9999", Token: token}, "TLS is required"},
		"this machine":        {agent.Target{URL: "https://127.0.0.1:9999", Token: token}, "this machine"},
		"no token":            {agent.Target{URL: "https://192.0.2.1:9999"}, "no token"},
		"a certificate of no": {agent.Target{URL: "https://192.0.2.1:9999", Token: token, VerifyCA: "x"}, "no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			c.target.Node = "node-1"
			_, err := agent.NewClient(c.target, agent.Settings{})
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, "node-1")
		})
	}
}

func TestWords(t *testing.T) {
	require.Equal(t, "a b", agent.OneLine("a\n\t b\x00"[:5]))
	require.True(t, strings.HasSuffix(agent.OneLine(strings.Repeat("é", 5000)), "é ..."))
	require.Equal(t, "\uFFFD", agent.OneLine("\xff"))
}

// An answer takes no more memory than is kept of it, whatever it is made of.
func TestAnswersAreBounded(t *testing.T) {
	list := func(body string) ([]agent.Result, error) {
		l := listen(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		c := l.client(t, func(_ *agent.Target, s *agent.Settings) { s.RequestTimeout = time.Minute })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		commands, err := c.Commands(context.Background())
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "in all, not at once")
		return commands, err
	}
	drive := strings.Repeat("H4sI", 16<<20)
	commands, err := list(`{"commands":[{"id":"1","command_name":"execute_deploy_step","command_status":"SUCCEEDED",
		"command_params":{"step":{"args":{"configdrive":"` + drive + `"},"interface":"deploy","step":"write_image"}},"command_result":{"deploy_result":"done"}}]}`)
	require.NoError(t, err)
	require.Equal(t, agent.ActDone, agent.Next(agent.Order{Command: agent.ExecuteDeployStep, Interface: "deploy", Step: "write_image"},
		&agent.Issued{Order: agent.Order{Command: agent.ExecuteDeployStep, Interface: "deploy", Step: "write_image"}}, commands).Action)
	for words, body := range map[string]string{
		"more than 100000 elements":     `{"commands":[{}` + strings.Repeat(`,{}`, 4<<20) + `]}`,
		"the agent lists 1001 commands": `{"commands":[{}` + strings.Repeat(`,{}`, 1000) + `]}`,
		"larger than 4194304 bytes":     `{"commands":[{"command_params":["` + strings.Repeat(strings.Repeat("x", 60<<10)+`","`, 80) + `"]}]}`,
		"larger than 75497472 bytes":    `{"commands":["` + drive + drive[:12<<20] + `"]}`,
		"nested deeper than":            `{"commands":[` + strings.Repeat(`{"command_error":`, 100) + `1` + strings.Repeat(`}`, 100) + `]}`,
		"the answer can't be read: u":   `{"commands":[`,
	} {
		_, err := list(body)
		require.ErrorContains(t, err, words)
		require.Less(t, len(err.Error()), 2000)
	}
}

func TestOfferedStepsAreBounded(t *testing.T) {
	for words, steps := range map[string]string{
		"offers 513 deploy steps":   `{}` + strings.Repeat(`,{}`, 512),
		"more than 131072":          `{"step":"` + strings.Repeat("x", 60<<10) + `","interface":"` + strings.Repeat("x", 60<<10) + `"},{"step":"` + strings.Repeat("x", 60<<10) + `"}`,
		"more than 100000 elements": `{}` + strings.Repeat(`,{}`, 200_000),
	} {
		l := listen(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"command_status":"SUCCEEDED","command_result":{"deploy_steps":{"a":[`+steps+`]}}}`)
		})
		_, err := l.client(t).ListSteps(context.Background(), agent.DeployFamily, agent.ListSteps{})
		require.ErrorContains(t, err, words)
		require.True(t, fault.Is(err, fault.Refused), err.Error())
	}
}

func TestLogsAreUnpackedBoundedAndWithoutTheToken(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	files := tar.NewWriter(z)
	long := strings.Repeat("an older line\n", 40_000) + "the last line " + token + "\n"
	for name, content := range map[string]string{"journal": long, "../etc/lsblk": "vda\x00 \xff"} {
		require.NoError(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}))
		_, err := files.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(files.Close(), z.Close()))
	l := listen(t, raw(200, `{"id":"1","command_status":"SUCCEEDED","command_result":{"system_logs":"`+base64.StdEncoding.EncodeToString(packed.Bytes())+`"}}`))
	text, err := l.client(t).Logs(t.Context())
	require.NoError(t, err)
	require.Contains(t, l.got()[0], "log.collect_system_logs")
	require.Contains(t, text, "==> journal <==\n")
	require.Contains(t, text, "the last line ******\n")
	require.Contains(t, text, "==> ../etc/lsblk <==\nvda \uFFFD\n")
	require.Less(t, len(text), 300<<10, "of a long file its end is kept")
	require.NotContains(t, text, token)

	for _, answer := range []string{`{}`, `{"system_logs": "!"}`, `{"system_logs": "aGVsbG8="}`} {
		_, err := listen(t, raw(200, `{"id":"1","command_status":"SUCCEEDED","command_result":`+answer+`}`)).client(t).Logs(t.Context())
		require.Error(t, err, answer)
	}
}
