package sim_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

const (
	nodeUUID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	token    = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
)

// ironic is the part of the API that an agent uses. Its answers are written by
// hand from the API's reference, not from shared types.
type ironic struct {
	*httptest.Server
	mu          sync.Mutex
	given       bool             // the token was sent
	refuse      map[string][]int // by path: the statuses of the first answers
	log         []string         // "METHOD path version" of every request
	beats       []map[string]any
	inventories []map[string]any
	query       url.Values // of the last lookup
	md5         bool
	formats     []string // of images that may be written; nil = the API does not send them
	timeout     int      // heartbeat_timeout
	properties  string   // of the node, JSON
	instance    string   // its instance_info, JSON
}

func newIronic(t *testing.T) *ironic {
	t.Helper()
	i := &ironic{refuse: map[string][]int{}, timeout: 300, properties: "{}", instance: "{}"}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	return i
}

func (i *ironic) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.log = append(i.log, r.Method+" "+r.URL.Path+" "+r.Header.Get("X-OpenStack-Ironic-API-Version"))
	if first := i.refuse[r.URL.Path]; len(first) > 0 {
		i.refuse[r.URL.Path] = first[1:]
		w.WriteHeader(first[0])
		return
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has no body
	switch r.URL.Path {
	case "/":
		fmt.Fprint(w, `{"default_version":{"id":"v1","min_version":"1.1","version":"1.114","status":"CURRENT"}}`)
	case "/v1/continue_inspection":
		i.inventories = append(i.inventories, body)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"node":{"uuid":%q},"config":{"heartbeat_timeout":300}}`, nodeUUID)
	case "/v1/lookup":
		i.query = r.URL.Query()
		show := "******"
		if !i.given {
			show, i.given = token, true
		}
		formats, _ := json.Marshal(i.formats)
		fmt.Fprintf(w, `{"node":{"uuid":%q,"properties":%s,"instance_info":%s,"driver_internal_info":{}},
			"config":{"heartbeat_timeout":%d,"agent_token":%q,"agent_token_required":true,"agent_md5_checksum_enable":%t,"permitted_image_formats":%s,"metrics":{"backend":"noop"}}}`,
			nodeUUID, i.properties, i.instance, i.timeout, show, i.md5, formats)
	case "/v1/heartbeat/" + nodeUUID:
		i.beats = append(i.beats, body)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (i *ironic) seen() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.log...)
}

func (i *ironic) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.beats)
}

// ramdisk is a client of the agent of sim-0001, at the URL of its heartbeat.
type ramdisk struct {
	t    *testing.T
	base string
	http *http.Client
}

// boot brings an agent up on sim-0001 and waits for its first heartbeat.
func (s *stage) boot(i *ironic) *ramdisk {
	s.t.Helper()
	b := s.bmc("sim-0001")
	if s.server("sim-0001").Media == nil {
		require.Equal(s.t, http.StatusNoContent, b.insert(s.url()+"/images/deploy.iso").status)
	}
	b.setBoot("Cd", "Once")
	b.reset("ForceOff")
	b.become("Off")
	before := i.count() // heartbeats until here may be of the agent before
	b.reset("On")
	require.Eventually(s.t, func() bool { return i.count() > before }, soon, tick, "heartbeat")
	return i.ramdisk(s.t)
}

// ramdisk trusts only the certificate of the last heartbeat.
func (i *ironic) ramdisk(t *testing.T) *ramdisk {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	beat := i.beats[len(i.beats)-1]
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(beat["agent_verify_ca"].(string))))
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	return &ramdisk{t: t, base: beat["callback_url"].(string), http: &http.Client{Transport: tr, Timeout: soon}}
}

func (r *ramdisk) request(method, path, body string) (int, map[string]any, error) {
	req, err := http.NewRequest(method, r.base+path, bytes.NewReader([]byte(body)))
	require.NoError(r.t, err)
	res, err := r.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, err
	}
	var out map[string]any
	require.NoError(r.t, json.Unmarshal(b, &out), "%s", b)
	return res.StatusCode, out, nil
}

// run posts a command; wait is "true" to wait for its end.
func (r *ramdisk) run(name, params, wait string) (int, map[string]any) {
	r.t.Helper()
	status, out, err := r.request(http.MethodPost, "/v1/commands/?wait="+wait+"&agent_token="+token,
		fmt.Sprintf(`{"name":%q,"params":%s}`, name, params))
	require.NoError(r.t, err)
	return status, out
}

// step runs a step to its end and returns the command.
func (r *ramdisk) step(family, step, args string) map[string]any {
	r.t.Helper()
	status, out := r.run(family+".execute_"+family+"_step",
		fmt.Sprintf(`{"step":{"step":%q,"interface":"deploy","priority":0,"args":%s},"node":{"uuid":%q},"ports":[]}`, step, args, nodeUUID), "true")
	require.Equal(r.t, http.StatusOK, status, "%v", out)
	return out
}

func (r *ramdisk) commands() []any {
	r.t.Helper()
	status, out, err := r.request(http.MethodGet, "/v1/commands/?agent_token="+token, "")
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, status)
	return out["commands"].([]any)
}

func TestAnAgentReportsLooksUpAndHeartbeats(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 2, Seed: 3, APIURL: i.URL}))
	i.refuse["/v1/lookup"] = []int{404, 409}
	i.refuse["/v1/heartbeat/"+nodeUUID] = []int{409, 500}
	s.boot(i)
	require.Equal(t, []string{
		"POST /v1/continue_inspection 1.84",
		"GET / ", "GET /v1/lookup 1.62", "GET / ", "GET /v1/lookup 1.62", "GET / ", "GET /v1/lookup 1.62",
		"POST /v1/heartbeat/" + nodeUUID + " 1.68", "POST /v1/heartbeat/" + nodeUUID + " 1.68", "POST /v1/heartbeat/" + nodeUUID + " 1.68",
	}, i.seen()[:10])
	row := s.server("sim-0001")
	require.EqualValues(t, 3, row.Lookups)
	require.EqualValues(t, 1, row.AgentBoots)
	require.Equal(t, "up", row.AgentPhase)
	require.Equal(t, strings.Join(row.MACs, ","), i.query.Get("addresses"))
	require.Equal(t, nodeUUID, i.query.Get("node_uuid"), "continue_inspection told it")

	beat := i.beats[0]
	require.Equal(t, token, beat["agent_token"])
	require.NotEmpty(t, beat["agent_version"])
	require.True(t, strings.HasPrefix(beat["callback_url"].(string), "https://127.0.0.1:"), beat["callback_url"])

	inventory := i.inventories[0]["inventory"].(map[string]any)
	require.Len(t, inventory["interfaces"], 2)
	require.Equal(t, row.MACs[0], inventory["interfaces"].([]any)[0].(map[string]any)["mac_address"])
	require.Equal(t, "x86_64", inventory["cpu"].(map[string]any)["architecture"])
	require.Len(t, inventory["disks"], 2)
	require.Contains(t, i.inventories[0], "error")
	require.Nil(t, s.server("sim-0002").BootedFrom)
}

func TestAnAgentWithoutInspectionGoesStraightToLookup(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, NoInspection: true}))
	s.rack.SetAPIURL(i.URL + "/")
	s.boot(i)
	require.Equal(t, "GET / ", i.seen()[0])
	require.Empty(t, i.query.Get("node_uuid"))
}

func TestAnAgentThatGetsNoTokenLocksItselfDown(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	i.given = true
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	b := s.bmc("sim-0001")
	require.Equal(t, http.StatusNoContent, b.insert(s.rack.URL()+"/images/deploy.iso").status)
	b.setBoot("Cd", "Once")
	b.reset("On")
	row := s.eventually("sim-0001", "locked", func(v sim.Server) bool { return v.AgentPhase == "locked down" })
	require.Zero(t, row.Heartbeats)
	require.Equal(t, "On", string(row.PowerState))
}

func TestAFinishedCommandForcesAHeartbeat(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	i.timeout = 1_000_000 // so the agent sends no heartbeat by itself
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	before := i.count()
	r.step("clean", "erase_devices_metadata", `{}`)
	require.Eventually(t, func() bool { return i.count() > before }, soon, tick)
}

func TestCommandsNeedTheTokenAndComeOneAtATime(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	status, out, err := r.request(http.MethodPost, "/v1/commands/?agent_token=wrong", `{"name":"standby.sync","params":{}}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "401 Unauthorized: Token invalid.", out["faultstring"])
	require.Empty(t, s.server("sim-0001").AgentCommands, "it never was a command")

	status, _ = r.run("clean.execute_clean_step", `{"step":{"step":"burnin_cpu","interface":"deploy"},"node":{"uuid":"x"},"ports":[]}`, "false")
	require.Equal(t, http.StatusOK, status)
	status, out = r.run("standby.sync", `{}`, "true")
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "Agent is busy: executing command execute_clean_step", out["faultstring"])
	list := r.commands()
	require.Len(t, list, 1)
	require.Equal(t, "RUNNING", list[0].(map[string]any)["command_status"])

	row := s.server("sim-0001")
	require.Len(t, row.AgentCommands, 2)
	require.Equal(t, []any{"clean.execute_clean_step", "burnin_cpu", 1, 200}, []any{
		row.AgentCommands[0].Name, row.AgentCommands[0].Step, row.AgentCommands[0].Boot, row.AgentCommands[0].Answer,
	})
	require.Equal(t, 409, row.AgentCommands[1].Answer)
}

func TestARebootLosesTheCommands(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	status, out := r.run("deploy.get_deploy_steps", `{"node":{},"ports":[]}`, "true")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "get_deploy_steps", out["command_name"])
	require.Equal(t, "SUCCEEDED", out["command_status"])
	require.Len(t, r.commands(), 1)

	s.bmc("sim-0001").reset("ForceOff")
	_, _, err := r.request(http.MethodGet, "/v1/commands/", "")
	require.Error(t, err, "a server that is off does not answer")
	i.mu.Lock()
	i.given = false
	i.mu.Unlock()
	require.Empty(t, s.boot(i).commands())
	require.EqualValues(t, 2, s.server("sim-0001").AgentBoots)
}

func TestCommandsThatAreNone(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	for name, c := range map[string]struct {
		body, fault string
		status      int
	}{
		"an extension that is not there": {`{"name":"juggle.balls","params":{}}`, "Not found: Extension with id juggle not found.", 404},
		"a command that is not there":    {`{"name":"standby.dance","params":{}}`, "Invalid command: Unknown command: dance", 400},
		"no extension":                   {`{"name":"sync","params":{}}`, "Invalid command: Command name must be of the form <extension>.<name>", 400},
		"no parameters":                  {`{"name":"standby.sync"}`, "400 Bad Request: Missing or invalid name or params", 400},
		"no JSON":                        {`sync`, "400 Bad Request: Missing or invalid name or params", 400},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := r.request(http.MethodPost, "/v1/commands/?agent_token="+token, c.body)
			require.NoError(t, err)
			require.Equal(t, c.status, status)
			require.Equal(t, c.fault, out["faultstring"])
		})
	}
	status, out, err := r.request(http.MethodGet, "/v1/commands/nothing?agent_token="+token, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "Not found: Command Result with id nothing not found.", out["faultstring"])
	status, out, err = r.request(http.MethodGet, "/v1/status", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.NotEmpty(t, out["version"])

	failed := r.step("clean", "levitate", `{}`)
	require.Equal(t, "FAILED", failed["command_status"])
	require.Equal(t, "Could not find method: levitate", failed["command_error"].(map[string]any)["details"])
	_, mismatch := r.run("clean.execute_clean_step",
		`{"step":{"step":"erase_pstore","interface":"deploy"},"node":{},"ports":[],"clean_version":{"generic_hardware_manager":"0.1"}}`, "true")
	require.Equal(t, "CLEAN_VERSION_MISMATCH", mismatch["command_status"])
}

func TestAnAgentSwitchesItsMachineOff(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	status, _ := r.run("standby.power_off", `{}`, "false")
	require.Equal(t, http.StatusOK, status)
	row := s.eventually("sim-0001", "off", func(v sim.Server) bool { return v.PowerState == "Off" })
	last := row.PowerActions[len(row.PowerActions)-1]
	require.Equal(t, []any{"agent", "On", "Off"}, []any{string(last.ResetType), string(last.From), string(last.To)})
	require.Nil(t, row.BootedFrom)
}

func TestOtherCommandsOfAnAgent(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	_, out := r.run("poll.get_hardware_info", `{}`, "true")
	require.Len(t, out["command_result"].(map[string]any)["disks"], 2)
	_, out = r.run("log.collect_system_logs", `{}`, "true")
	require.NotEmpty(t, out["command_result"].(map[string]any)["system_logs"])
	_, out = r.run("clean.get_clean_steps", `{"node":{},"ports":[]}`, "true")
	steps := out["command_result"].(map[string]any)["clean_steps"].(map[string]any)["GenericHardwareManager"].([]any)
	first := steps[0].(map[string]any)
	require.Equal(t, []any{"erase_devices", 10.0, true, false}, []any{first["step"], first["priority"], first["abortable"], first["reboot_requested"]})
	_, out = r.run("standby.sync", `{}`, "true")
	require.Equal(t, "SUCCEEDED", out["command_status"])
	_, out = r.run("image.install_bootloader", `{"root_uuid":"x"}`, "true")
	require.Equal(t, "FAILED", out["command_status"], "there is nothing on the disk")

	_, out = r.run("system.lockdown", `{}`, "true")
	require.Equal(t, "SUCCEEDED", out["command_status"])
	_, _, err := r.request(http.MethodGet, "/v1/status", "")
	require.Error(t, err)
	beats := i.count()
	s.eventually("sim-0001", "locked", func(v sim.Server) bool { return v.AgentPhase == "locked down" })
	require.LessOrEqual(t, i.count(), beats+1)
}
