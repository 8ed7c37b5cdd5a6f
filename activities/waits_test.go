package activities_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/sim"
	servers "go.temper.dev/temper/internal/sim/machine"
)

// rig is a bench whose machine is a server of the simulated rack, reached over Redfish.
type rig struct {
	*bench
	rack   *sim.Rack
	server *servers.Server
}

const rigServer = "sim-0001"

// newRig runs a rack of one server, and plans an operation of kind k with these steps on its node. apiURL is the API that its
// agents call.
func newRig(t *testing.T, c sim.Config, k node.OperationKind, s node.State, apiURL string, steps ...node.Step) *rig {
	t.Helper()
	c.Servers, c.DataDir, c.APIURL = 1, t.TempDir(), apiURL
	c.PowerDelay, c.BootDelay, c.StepDelay, c.TimeScale = 10*time.Millisecond, 10*time.Millisecond, 5*time.Millisecond, 0.002
	rack, err := sim.New(c)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rack.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	<-rack.Ready()
	res, err := http.Get(rack.URL() + "/servers/" + rigServer)
	require.NoError(t, err)
	defer res.Body.Close()
	var about map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&about))

	b := newBench(t, k, s, bmc.PowerOff, direct, plan.Options{})
	driver := redfish.New(redfish.Config{Settings: bmc.Settings{RequestTimeout: 20 * time.Second, Reach: dial.Reach{Loopback: true}}})
	t.Cleanup(func() { driver.Close(context.Background()) })
	b.steps.Drivers = map[string]bmc.Driver{"redfish": driver}
	b.steps.Settings.PowerTimeout, b.steps.Settings.MediaTimeout, b.steps.Settings.TellEvery = time.Hour, time.Minute, 20*time.Millisecond
	b.steps.Settings.Agent = agent.Settings{RequestTimeout: 20 * time.Second, Callback: agent.CallbackPolicy{AllowLoopback: true}}
	info := map[string]any{"deploy_iso": rack.URL() + "/images/deploy.iso?secret=1"}
	for _, key := range []string{"redfish_address", "redfish_system_id", "redfish_username", "redfish_password", "redfish_verify_ca"} {
		info[key] = about[key]
	}
	b.change(func(n *node.Node) { n.DriverInfo, n.Operation.Steps = info, steps })
	return &rig{bench: b, rack: rack, server: rack.Server(rigServer)}
}

func (r *rig) faults(list string) {
	r.Helper()
	req, err := http.NewRequest(http.MethodPut, r.rack.URL()+"/servers/"+rigServer+"/faults", strings.NewReader(`{"faults":[`+list+`]}`))
	require.NoError(r, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(r, err)
	defer res.Body.Close()
	require.Equal(r, http.StatusOK, res.StatusCode)
}

// wait returns what the row says the operation waits for.
func (r *rig) wait() *node.Wait {
	return r.op().StepWait
}

// paced requires that writes were at least TellEvery apart.
func (r *rig) paced() {
	r.Helper()
	for i := 1; i < len(r.book.toldAt); i++ {
		require.GreaterOrEqual(r, r.book.toldAt[i].Sub(r.book.toldAt[i-1]), r.steps.Settings.TellEvery-time.Millisecond)
	}
}

func powerStep(name string) node.Step {
	return node.Step{Interface: "power", Step: name, Source: node.SourceCore, State: node.StepPending}
}

// on has the server switched on by a step of its own, which writes nothing beside what every step writes.
func (r *rig) on() {
	r.Helper()
	steps, every := r.op().Steps, r.steps.Settings.TellEvery
	r.changeOp(func(o *node.Operation) { o.Steps, r.steps.Settings.TellEvery = []node.Step{powerStep("on")}, time.Hour })
	_, err := r.run()
	require.NoError(r, err)
	require.Empty(r, r.book.told, "a step that is over soon tells nothing")
	require.Nil(r, r.wait())
	r.changeOp(func(o *node.Operation) { o.Steps, r.steps.Settings.TellEvery = steps, every })
}

func TestASlowPowerChangeTellsWhatTheBMCSays(t *testing.T) {
	t.Parallel()
	r := newRig(t, sim.Config{}, node.KindPower, node.Active, "", powerStep("off"))
	r.on()
	r.faults(`{"kind":"slow_power","delay":"1h"}`)
	before := time.Now().UTC()
	lose := func(n int, _ node.Wait) error {
		if n%3 == 0 { // another conductor has taken the claim
			return fault.New(fault.Lost, "claim is not the newest")
		}
		return nil
	}
	r.book.onTell = lose
	_, err := r.run()
	require.Error(t, err)
	require.Len(t, r.book.told, 2, "who has lost the claim writes nothing, and ends")
	r.paced()
	first := r.wait()
	require.Equal(t, node.WaitPower, first.For)
	require.Equal(t, "power off", first.Subject)
	require.WithinRange(t, first.Since, before, time.Now())
	require.Equal(t, "PoweringOff", first.Seen)
	require.Equal(t, node.PowerOn, first.Power, "unknown or on the way is not off")
	require.True(t, first.SeenAt.After(first.Since))
	require.WithinDuration(t, first.Since.Add(time.Hour), *first.Until, time.Minute)
	clock := func(at time.Time) string { return at.UTC().Format("15:04:05") }
	require.Equal(t, "power off asked at "+clock(first.Since)+"; the BMC still says PoweringOff; looked at again every "+
		r.steps.Settings.PowerPoll.String()+"; attempt 1 of 5 ends at "+clock(*first.Until)+", then it is tried again", waitWords(first, clock))

	// The next conductor goes on telling of the same request.
	r.steps.Settings.Conductor = "c2"
	_, err = r.run()
	require.Error(t, err)
	second := r.wait()
	require.True(t, first.Since.Equal(second.Since), "asked at %s, and not %s", first.Since, second.Since)
	require.True(t, second.SeenAt.After(*first.SeenAt))
	require.Equal(t, "c2", r.op().Conductor)
}

func TestALostPowerRequestTellsUntilItHasTakenEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t, sim.Config{}, node.KindPower, node.Active, "", powerStep("off"))
	r.on()
	r.faults(`{"kind":"lost_power"}`)
	r.book.onTell = func(n int, w node.Wait) error {
		if n <= 3 { // later looks may show the server on its way
			require.Equal(t, "On", w.Seen)
		}
		if n == 3 {
			r.faults("")
			require.NoError(t, r.server.Reset(servers.ResetForceOff))
		}
		return nil
	}
	_, err := r.run()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(r.book.told), 3)
	r.paced()
	require.Nil(t, r.wait(), "nothing is waited for any more")
	require.Equal(t, node.PowerOff, r.node().PowerState)
}

func TestABMCThatStopsAnsweringIsToldWithTheLastThatItSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, sim.Config{}, node.KindPower, node.Active, "", powerStep("off"))
	r.on()
	r.faults(`{"kind":"lost_power"}`)
	r.book.onTell = func(n int, w node.Wait) error {
		switch {
		case n == 1:
			require.Empty(t, w.Unread)
			r.faults(`{"kind":"reset"}`)
		case w.Unread != "":
			require.Equal(t, "On", w.Seen)
			require.NotNil(t, w.UnreadSince)
			words := waitWords(&w, func(time.Time) string { return "T" })
			require.Contains(t, words, "at T the BMC said On; the BMC has not answered since T (")
			return fault.New(fault.Lost, "enough")
		}
		return nil
	}
	_, err := r.run()
	require.Error(t, err)
	require.GreaterOrEqual(t, len(r.book.told), 1)
}

func TestAnAgentThatDoesNotCallIsToldWithTheBoot(t *testing.T) {
	t.Parallel()
	r := newRig(t, sim.Config{}, node.KindDeploy, node.Deploying, "", node.Step{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending})
	r.faults(`{"kind":"no_agent"}`)
	before := time.Now().UTC()
	res, err := r.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, res.Next)
	w := r.wait()
	require.Equal(t, node.WaitCall, w.For)
	require.Equal(t, "deploy.iso", w.Subject, "the query may be a secret")
	require.WithinRange(t, w.Since, before, time.Now())
	require.WithinDuration(t, w.Since.Add(30*time.Minute), *w.Until, time.Minute)
	require.Equal(t, w.Since, res.StepWait.Since, "the workflow shows it, too")
	format := func(at time.Time) string { return at.Format("15:04:05") }
	require.Equal(t, "medium deploy.iso inserted, power on at "+format(w.Since)+"; its agent has not called since; gives up at "+format(*w.Until),
		waitWords(w, format))

	// A later look at the same boot does not begin it anew.
	_, err = r.run()
	require.NoError(t, err)
	require.True(t, w.Since.Equal(r.wait().Since))
}

// agentAPI answers the rack's agent as the API does, and records its call.
func agentAPI(t *testing.T, b func() *book) (url string, calls chan struct{}) {
	calls = make(chan struct{}, 1000)
	token := strings.Repeat("t", 40)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the agent may be gone
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"default_version": map[string]any{"version": "1.114"}})
	})
	mux.HandleFunc("GET /v1/lookup", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"node": map[string]any{"uuid": uuid}, "config": map[string]any{"heartbeat_timeout": 300, "agent_token": token}})
	})
	mux.HandleFunc("POST /v1/heartbeat/{node}", func(w http.ResponseWriter, r *http.Request) {
		var h agent.Heartbeat
		if json.NewDecoder(r.Body).Decode(&h) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if err := b().agentCalls(r.Context(), node.Agent{URL: h.CallbackURL, VerifyCA: string(h.AgentVerifyCA)}, token); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		calls <- struct{}{}
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL, calls
}

// The agent calls once, then takes connections and never answers. That is told while it is asked, while another try is waited for, and
// by another conductor.
func TestAnAgentThatHangsIsTold(t *testing.T) {
	t.Parallel()
	var r *rig
	api, calls := agentAPI(t, func() *book { return r.book })
	r = newRig(t, sim.Config{NoInspection: true}, node.KindDeploy, node.Deploying, api,
		node.Step{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending})
	r.faults(`{"kind":"hang","command":"get_deploy_steps"}`)
	res, err := r.run()
	require.NoError(t, err)
	if res.Next == conductor.NextAgent {
		<-calls
	}
	r.steps.Settings.Agent.SlowTimeout = 10 * r.steps.Settings.TellEvery
	words := func(w *node.Wait) string { return waitWords(w, func(time.Time) string { return "T" }) }
	var told []string
	r.book.onTell = func(_ int, w node.Wait) error {
		told = append(told, words(&w))
		return nil
	}
	_, err = r.run()
	require.ErrorContains(t, err, "no answer in time (deploy.get_deploy_steps on the agent at 127.0.0.1:")
	require.NotEmpty(t, told)
	require.Regexp(t, `^the agent at 127\.0\.0\.1:\d+ called at T and was asked at T, and has not answered yet; gives up at T at the latest$`, told[0])
	const silent = `^the agent at 127\.0\.0\.1:\d+ called at T and has not answered since T \(no answer in time \(.*\)\); gives up at T at the latest$`
	w := r.wait()
	require.Regexp(t, silent, words(w))
	require.Equal(t, fault.AgentSilent, r.op().LateCause(time.Now()))
	since := *w.UnreadSince
	_, err = r.run()
	require.Error(t, err)
	require.Regexp(t, silent, words(r.wait()))
	require.True(t, since.Equal(*r.wait().UnreadSince), "it has been silent since the first try")
	r.faults("")
	_, err = r.run()
	require.NoError(t, err)
	require.Nil(t, r.wait())
}

// An agent that answers, but not the request that sends its command, is not lost: the step does not promise to begin anew.
func TestACommandThatIsNotTakenIsToldAsSuch(t *testing.T) {
	t.Parallel()
	var r *rig
	api, calls := agentAPI(t, func() *book { return r.book })
	r = newRig(t, sim.Config{NoInspection: true}, node.KindDeploy, node.Deploying, api,
		node.Step{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending},
		node.Step{Index: 1, Interface: "deploy", Step: "write_image", Source: node.SourceDriver, State: node.StepPending})
	r.steps.Image = func(context.Context, conductor.ImageRequest) (agent.ImageInfo, int64, error) {
		return agent.ImageInfo{ID: "disk.raw", URLs: []string{"http://127.0.0.1:1/disk.raw"}, DiskFormat: "raw"}, 0, nil
	}
	r.faults(`{"kind":"hang","command":"write_image"}`)
	res, err := r.run()
	require.NoError(t, err)
	if res.Next == conductor.NextAgent {
		<-calls
	}
	r.steps.Settings.Agent.RequestTimeout = 100 * time.Millisecond
	var told *node.Wait
	r.book.onTell = func(_ int, w node.Wait) error {
		if w.For == node.WaitCommand && w.Unread != "" {
			told = &w
			return fault.New(fault.Lost, "enough")
		}
		return nil
	}
	_, err = r.run()
	require.ErrorContains(t, err, "enough")
	require.NotNil(t, told)
	require.True(t, told.Unanswered)
}

func TestTheWritingOfAnImageTellsHowMuchIsDone(t *testing.T) {
	t.Parallel()
	image := make([]byte, 1<<20)
	sum := sha256.Sum256(image)
	for name, c := range map[string]struct {
		config sim.Config
		check  func(t *testing.T, w node.Wait, words string)
	}{
		"an agent that tells": {sim.Config{NoInspection: true}, func(t *testing.T, w node.Wait, words string) {
			require.InDelta(t, 0.5, *w.Fraction, 0.01)
			require.Positive(t, w.Rate)
			require.True(t, w.EndsAt().After(*w.SeenAt))
			require.Contains(t, words, "; the agent has done 50 %, ")
			require.Contains(t, words, "B/s; ends about T; looked at again every ")
		}},
		"an agent that tells as little as ironic-python-agent": {sim.Config{NoInspection: true, NoProgress: true}, func(t *testing.T, w node.Wait, words string) {
			require.Nil(t, w.Fraction)
			require.Nil(t, w.EndsAt())
			require.Contains(t, words, "; the agent says RUNNING, and not how much is done; it has no time limit as long as the agent answers; looked at again every ")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			half := make(chan struct{})
			images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(image)))
				_, _ = w.Write(image[:len(image)/2]) // the agent shows what it got
				_ = http.NewResponseController(w).Flush()
				<-half
				_, _ = w.Write(image[len(image)/2:])
			}))
			t.Cleanup(images.Close)
			var r *rig
			api, calls := agentAPI(t, func() *book { return r.book })
			r = newRig(t, c.config, node.KindDeploy, node.Deploying, api,
				node.Step{Interface: "deploy", Step: "deploy", Source: node.SourceDriver, State: node.StepPending},
				node.Step{Index: 1, Interface: "deploy", Step: "write_image", Source: node.SourceDriver, State: node.StepPending})
			r.steps.Image = func(context.Context, conductor.ImageRequest) (agent.ImageInfo, int64, error) {
				return agent.ImageInfo{ID: "disk.raw", URLs: []string{images.URL}, DiskFormat: "raw", HashAlgo: "sha256", HashValue: hex.EncodeToString(sum[:])}, 0, nil
			}
			res, err := r.run()
			require.NoError(t, err)
			if res.Next == conductor.NextAgent {
				<-calls
			}
			told := false
			r.book.onTell = func(_ int, w node.Wait) error {
				halfDone := w.Fraction != nil && *w.Fraction > 0.49 || c.config.NoProgress
				if w.For == node.WaitCommand && w.Seen == "RUNNING" && halfDone && !told {
					told = true
					require.Equal(t, "deploy.write_image", w.Subject)
					require.Nil(t, w.Until)
					words := waitWords(&w, func(time.Time) string { return "T" })
					require.Contains(t, words, "deploy.write_image was sent to the agent at T")
					c.check(t, w, words)
					close(half)
				}
				return nil
			}
			res, err = r.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, res.Next)
			require.True(t, told)
			require.Nil(t, r.wait())
			r.paced()
		})
	}
}
