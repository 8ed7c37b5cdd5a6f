//go:build linux

package daemon_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/daemon"
	"go.temper.dev/temper/internal/agent/hardware"
	"go.temper.dev/temper/internal/fault"
)

const nodeUUID = "5ca3360b-0000-4000-8000-000000000001"

// ironic is an API with one node. A lookup fails as often as refuse says, and every answer is of the time date.
type ironic struct {
	*httptest.Server
	token string
	beats chan agent.Heartbeat

	mu      sync.Mutex
	refuse  []int
	shown   int
	lookups []string
	named   []string // nodes of lookups
	hints   map[string]any
	skew    time.Duration
}

func newIronic(t *testing.T) *ironic {
	t.Helper()
	i := &ironic{token: agent.NewToken(), beats: make(chan agent.Heartbeat, 100)}
	i.Server = httptest.NewServer(http.HandlerFunc(i.answer))
	t.Cleanup(i.Close)
	return i
}

func (i *ironic) answer(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Date", time.Now().Add(i.skew).UTC().Format(http.TimeFormat))
	switch r.URL.Path {
	case "/v1/lookup":
		i.lookups = append(i.lookups, r.URL.Query().Get("addresses"))
		i.named = append(i.named, r.URL.Query().Get("node_uuid"))
		if len(i.refuse) > 0 {
			w.WriteHeader(i.refuse[0])
			i.refuse = i.refuse[1:]
			return
		}
		l := agent.Lookup{Node: agent.LookupNode{UUID: nodeUUID, Properties: map[string]any{"root_device": i.hints}}}
		l.Config = agent.LookupConfig{HeartbeatTimeout: 300, AgentToken: agent.Masked, AgentTokenRequired: true}
		if i.shown++; i.shown == 1 {
			l.Config.AgentToken = i.token
		}
		_ = json.NewEncoder(w).Encode(l) // the agent has hung up
	case "/v1/heartbeat/" + nodeUUID:
		var h agent.Heartbeat
		if json.NewDecoder(r.Body).Decode(&h) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		i.beats <- h
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// running is an agent that runs, and a conductor's client of it.
type running struct {
	*agent.Client
	heard agent.Heartbeat
	disk  string
	ended chan daemon.Ending
}

func start(t *testing.T, i *ironic, change func(*daemon.Config)) *running {
	t.Helper()
	r := &running{disk: filepath.Join(t.TempDir(), "disk"), ended: make(chan daemon.Ending, 1)}
	require.NoError(t, os.WriteFile(r.disk, []byte("an earlier tenant"), 0o600))
	require.NoError(t, os.Truncate(r.disk, 5<<30))
	cfg := daemon.Config{
		APIURLs: []string{i.URL}, MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02"}, Listen: "127.0.0.1:0", Disks: []string{r.disk},
		Scratch: t.TempDir(), Version: "1.0", Machine: hardware.Machine{Root: t.TempDir()}, API: http.DefaultClient, Images: http.DefaultClient,
		Log: zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel)), End: func(with daemon.Ending) { r.ended <- with },
	}
	if change != nil {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- daemon.New(cfg).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		err := <-over
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	})
	select {
	case r.heard = <-i.beats:
	case err := <-over:
		over <- err
		require.NoError(t, err)
	}
	var err error
	r.Client, err = agent.NewClient(agent.Target{Node: nodeUUID, URL: r.heard.CallbackURL, Token: r.heard.AgentToken, VerifyCA: r.heard.AgentVerifyCA},
		agent.Settings{RequestTimeout: 20 * time.Second, Callback: agent.CallbackPolicy{AllowLoopback: true}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func TestTheCallbackURLHasTheAdvertisedHostAndPort(t *testing.T) {
	for advertised, want := range map[string]string{
		"127.0.0.1:4711": `^https://127\.0\.0\.1:4711$`,
		"[::1]:4711":     `^https://\[::1\]:4711$`,
		"::1":            `^https://\[::1\]:\d+$`,
		"localhost":      `^https://localhost:\d+$`,
	} {
		r := start(t, newIronic(t), func(c *daemon.Config) { c.Advertise = advertised })
		require.Regexp(t, want, r.heard.CallbackURL)
	}
}

// finish waits until a command has ended.
func (r *running) finish(t *testing.T, id string) agent.Result {
	t.Helper()
	var out agent.Result
	require.Eventually(t, func() bool {
		var err error
		out, err = r.Command(t.Context(), id)
		return err == nil && out.Status != agent.Running
	}, time.Minute, 20*time.Millisecond)
	return out
}

func TestAnAgentIsFoundAndHeardOf(t *testing.T) {
	i := newIronic(t)
	i.refuse = []int{http.StatusNotFound}
	i.skew = 24 * 365 * time.Hour
	r := start(t, i, nil)
	require.Equal(t, []string{"52:54:00:00:00:01,52:54:00:00:00:02", "52:54:00:00:00:01,52:54:00:00:00:02"}, i.lookups)
	require.Equal(t, i.token, r.heard.AgentToken)
	require.NoError(t, agent.CallbackPolicy{AllowLoopback: true}.CheckHeartbeat(r.heard, agent.KnownAgent{Token: i.token}), "as the API checks it")
	status, err := r.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, agent.Text("1.0"), status.Version)

	wrong, err := agent.NewClient(agent.Target{Node: nodeUUID, URL: r.heard.CallbackURL, Token: agent.NewToken(), VerifyCA: r.heard.AgentVerifyCA},
		agent.Settings{Callback: agent.CallbackPolicy{AllowLoopback: true}})
	require.NoError(t, err)
	defer wrong.Close()
	_, err = wrong.Call(t.Context(), agent.GetHardwareInfo, nil)
	require.True(t, fault.Is(err, fault.Denied), "%v", err)
	_, err = r.Call(t.Context(), "standby.dance", nil)
	require.ErrorContains(t, err, "Unknown command")

	logs, err := r.Call(t.Context(), "log.collect_system_logs", nil)
	require.NoError(t, err)
	var archive struct {
		Logs string `json:"system_logs"`
	}
	require.NoError(t, logs.Decode(&archive))
	packed, err := base64.StdEncoding.DecodeString(archive.Logs)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	var text bytes.Buffer
	_, err = text.ReadFrom(z)
	require.NoError(t, err)
	require.Contains(t, text.String(), "the clock of this machine is wrong")
	require.NotContains(t, text.String(), i.token)
}

// A second process of the same boot is the same agent: the API tells the token once only, and takes no other certificate.
func TestASecondProcessGoesOn(t *testing.T) {
	i := newIronic(t)
	state := filepath.Join(t.TempDir(), "agent.json")
	first := ""
	t.Run("first", func(t *testing.T) {
		first = start(t, i, func(c *daemon.Config) { c.StateFile = state }).heard.AgentVerifyCA
	})
	info, err := os.Stat(state)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	r := start(t, i, func(c *daemon.Config) { c.StateFile = state })
	require.Equal(t, i.token, r.heard.AgentToken)
	require.Equal(t, first, r.heard.AgentVerifyCA)
	list, err := r.Commands(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

// An agent whose medium has the token takes none from a lookup, and asks for its node by name.
func TestAnAgentHasItsTokenFromItsMedium(t *testing.T) {
	i := newIronic(t)
	token := agent.NewToken()
	r := start(t, i, func(c *daemon.Config) { c.Token, c.Node = token, nodeUUID })
	require.Equal(t, token, r.heard.AgentToken)
	require.Equal(t, []string{nodeUUID}, i.named)
	_, err := r.Call(t.Context(), agent.GetHardwareInfo, nil)
	require.NoError(t, err, "a conductor's command with this token")
}

func TestADeployByAConductorsClient(t *testing.T) {
	i := newIronic(t)
	r := start(t, i, nil)
	steps, err := r.ListSteps(t.Context(), agent.DeployFamily, agent.ListSteps{})
	require.NoError(t, err)
	require.Len(t, steps.DeploySteps["TemperHardwareManager"], 4)

	image := bytes.Repeat([]byte("image"), 1<<18)
	gate := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(image[:1<<20])
		_ = http.NewResponseController(w).Flush()
		<-gate
		_, _ = w.Write(image[1<<20:])
	}))
	defer server.Close()
	sum := sha256.Sum256(image)
	info := agent.ImageInfo{ID: "disk.raw", URLs: []string{server.URL}, DiskFormat: "raw", HashAlgo: "sha256", HashValue: hex.EncodeToString(sum[:])}
	run := agent.RunStep{Step: agent.Step{Step: "write_image", Interface: "deploy", Args: map[string]any{"image_info": info}}, DeployVersion: steps.Versions}
	begun, err := r.Start(t.Context(), agent.ExecuteDeployStep, run)
	require.NoError(t, err)
	require.Equal(t, agent.Running, begun.Status)
	_, err = r.Start(t.Context(), agent.PowerOff, nil)
	require.True(t, fault.Is(err, fault.Busy), "one command at a time: %v", err)
	close(gate)
	done := r.finish(t, begun.ID)
	require.Equal(t, agent.Succeeded, done.Status, "%+v", done.Error)
	var out struct {
		Step   agent.Step        `json:"deploy_step"`
		Result map[string]string `json:"deploy_result"`
	}
	require.NoError(t, done.Decode(&out))
	require.Equal(t, "write_image", out.Step.Step)
	require.Contains(t, out.Result["result"], "image (disk.raw) written to device "+r.disk)
	got := make([]byte, len(image))
	f, err := os.Open(r.disk)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))

	run.DeployVersion = map[string]any{"temper_hardware_manager": "0"}
	other, err := r.Start(t.Context(), agent.ExecuteDeployStep, run)
	require.NoError(t, err)
	require.True(t, r.finish(t, other.ID).Status.VersionsDiffer())

	_, err = r.Start(t.Context(), agent.PowerOff, nil)
	require.NoError(t, err)
	require.Equal(t, daemon.PowerOff, <-r.ended)
}

func TestWhatAnAgentRefusesHasACause(t *testing.T) {
	i := newIronic(t)
	r := start(t, i, nil)
	good := agent.ImageInfo{ID: "disk.raw", URLs: []string{i.URL + "/none"}, HashAlgo: "sha256", HashValue: strings.Repeat("0", 64)}
	for name, c := range map[string]struct {
		change func(*agent.ImageInfo)
		hints  map[string]any
		cause  fault.Code
		words  string
	}{
		"no such image":        {func(*agent.ImageInfo) {}, nil, fault.ImageUnreachable, "404"},
		"hints that fit none":  {func(*agent.ImageInfo) {}, map[string]any{"serial": "X"}, fault.NoDiskFits, "serial: X"},
		"hints that are wrong": {func(*agent.ImageInfo) {}, map[string]any{"colour": "red"}, fault.NoDiskFits, "colour"},
		"MD5":                  {func(i *agent.ImageInfo) { i.HashAlgo, i.HashValue = "md5", strings.Repeat("0", 32) }, nil, fault.ImageInvalid, "MD5"},
		"a partition image":    {func(i *agent.ImageInfo) { i.ImageType = "partition" }, nil, fault.AgentCommandFailed, "'root_mb' does not say"},
		"no checksum":          {func(i *agent.ImageInfo) { i.HashValue = "" }, nil, fault.AgentCommandFailed, "checksum"},
	} {
		i.mu.Lock()
		i.hints = c.hints
		i.mu.Unlock()
		info := good
		c.change(&info)
		begun, err := r.Start(t.Context(), "standby.prepare_image", map[string]any{"image_info": info})
		require.NoError(t, err)
		done := r.finish(t, begun.ID)
		require.Equal(t, agent.Failed, done.Status, name)
		require.Contains(t, done.Error.Text(), c.words, name)
		require.Equal(t, c.cause, agent.CauseOf(done.Error), name)
	}
}

func TestErasing(t *testing.T) {
	i := newIronic(t)
	r := start(t, i, nil)
	steps, err := r.ListSteps(t.Context(), agent.CleanFamily, agent.ListSteps{})
	require.NoError(t, err)
	require.Equal(t, "erase_devices_metadata", steps.CleanSteps["TemperHardwareManager"][0].Step)
	for _, name := range []string{"erase_devices_metadata", "erase_devices"} {
		const size = 70<<20 + 512
		require.NoError(t, os.WriteFile(r.disk, bytes.Repeat([]byte{0xff}, size), 0o600))
		begun, err := r.Start(t.Context(), agent.ExecuteCleanStep, agent.RunStep{Step: agent.Step{Step: name, Interface: "deploy"}})
		require.NoError(t, err)
		done := r.finish(t, begun.ID)
		require.Equal(t, agent.Succeeded, done.Status)
		content, err := os.ReadFile(r.disk)
		require.NoError(t, err)
		require.Len(t, content, size)
		require.Zero(t, bytes.Count(content[:1<<20], []byte{0xff}), name)
		if name == "erase_devices_metadata" {
			require.Equal(t, byte(0xff), content[size/2])
			require.Empty(t, done.Erasures(), "signatures that were wiped are no erasure")
			continue
		}
		require.Zero(t, bytes.Count(content, []byte{0xff}))
		require.Len(t, done.Erasures(), 1)
		require.Regexp(t, `disk was overwritten with zeros: 73.4 MB in .*, verified at 64 places, begun 20..-.*Z$`, done.Erasures()[0].Words())
	}
	disks, err := r.Disks(t.Context())
	require.NoError(t, err)
	require.Len(t, disks["disks"], 1)
}

func TestARescueLeavesThePasswordToTheRamdisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rescue")
	r := start(t, newIronic(t), func(c *daemon.Config) { c.RescueDir = dir })
	for _, bad := range []agent.RescueParams{{Password: "plain"}, {Password: "plain", Hashed: true}, {Password: "$6$a:b", Hashed: true}} {
		_, err := r.Call(t.Context(), agent.FinalizeRescue, bad)
		require.ErrorContains(t, err, "rescue_password")
		require.NoDirExists(t, dir)
	}
	_, err := r.Call(t.Context(), agent.FinalizeRescue, agent.RescueParams{Password: "$6$salt$hash", Hashed: true, Keys: "ssh-ed25519 AAAA a"})
	require.NoError(t, err)
	require.Equal(t, daemon.Rescue, <-r.ended)
	for name, content := range map[string]string{daemon.RescuePasswordFile: "$6$salt$hash\n", daemon.RescueKeysFile: "ssh-ed25519 AAAA a\n"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, content, string(b))
	}
	_, err = r.Status(t.Context())
	require.Error(t, err, "the machine is the person's")

	nobody := start(t, newIronic(t), nil)
	_, err = nobody.Call(t.Context(), agent.FinalizeRescue, agent.RescueParams{Password: "$6$salt$hash", Hashed: true})
	require.ErrorContains(t, err, "no SSH server")
}
