package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"go.temper.dev/temper/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the limit of every wait in these tests. Without errors each takes less than a tenth of it.
const (
	soon = 20 * time.Second
	tick = 5 * time.Millisecond
)

// quick sets delays that a test can observe but that hardly slow it down.
func quick(cfg sim.Config) sim.Config {
	cfg.PowerDelay, cfg.BootDelay, cfg.StepDelay = 20*time.Millisecond, 20*time.Millisecond, 5*time.Millisecond
	cfg.TimeScale = 0.002
	cfg.ImageBytes = 256 << 10
	return cfg
}

// stage is a running rack and its client.
type stage struct {
	t    *testing.T
	rack *sim.Rack
	http *http.Client
	stop func()
	base string // the rack's URL, for a stage that has no Rack
}

func (s *stage) url() string {
	if s.rack == nil {
		return s.base
	}
	return s.rack.URL()
}

func start(t *testing.T, cfg sim.Config) *stage {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	r, err := sim.New(cfg)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	transport := &http.Transport{}
	s := &stage{t: t, rack: r, http: &http.Client{Transport: transport, Timeout: soon}}
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-ended)
	}
	t.Cleanup(s.stop)
	select {
	case <-r.Ready():
	case err := <-ended:
		t.Fatalf("rack ended: %v", err)
	}
	return s
}

// server is a server's row of the listing.
func (s *stage) server(name string) sim.Server {
	s.t.Helper()
	var out sim.Server
	status, body := s.call(http.MethodGet, s.url()+"/servers/"+name, nil)
	require.Equal(s.t, http.StatusOK, status)
	require.NoError(s.t, json.Unmarshal(body, &out))
	return out
}

func (s *stage) faults(name, faults string) {
	s.t.Helper()
	status, body := s.call(http.MethodPut, s.rack.URL()+"/servers/"+name+"/faults", []byte(`{"faults":[`+faults+`]}`))
	require.Equal(s.t, http.StatusOK, status, "%s", body)
}

func (s *stage) call(method, url string, body []byte) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	require.NoError(s.t, err)
	res, err := s.http.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, b
}

// eventually waits until the server's row fulfils the condition.
func (s *stage) eventually(name, what string, is func(sim.Server) bool) sim.Server {
	s.t.Helper()
	var last sim.Server
	require.Eventually(s.t, func() bool {
		last = s.server(name)
		return is(last)
	}, soon, tick, "%s", what)
	return last
}

// bmc is a client of one BMC, with basic authentication unless a token is set.
type bmc struct {
	s     *stage
	base  string
	user  string
	pass  string
	token string
}

func (s *stage) bmc(name string) *bmc {
	row := s.server(name)
	return &bmc{s: s, base: row.RedfishAddress, user: row.RedfishUsername, pass: row.RedfishPassword}
}

type answer struct {
	status int
	header http.Header
	raw    []byte
	json   map[string]any
}

// at returns a value in the answer, by a path of member names and list indices.
func (a answer) at(path ...any) any {
	var v any = a.json
	for _, p := range path {
		switch in := v.(type) {
		case map[string]any:
			name, _ := p.(string)
			v = in[name]
		case []any:
			i, isPlace := p.(int)
			if !isPlace || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func (b *bmc) try(method, path string, body any, header ...string) (answer, error) {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(b.s.t, err)
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, b.base+path, in)
	require.NoError(b.s.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	switch {
	case b.token != "":
		req.Header.Set("X-Auth-Token", b.token)
	case b.user != "":
		req.SetBasicAuth(b.user, b.pass)
	}
	res, err := b.s.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	out := answer{status: res.StatusCode, header: res.Header}
	if out.raw, err = io.ReadAll(res.Body); err != nil {
		return answer{}, err
	}
	_ = json.Unmarshal(out.raw, &out.json) // some answers are no JSON on purpose
	return out, nil
}

func (b *bmc) do(method, path string, body any, header ...string) answer {
	b.s.t.Helper()
	a, err := b.try(method, path, body, header...)
	require.NoError(b.s.t, err)
	return a
}

type obj = map[string]any

const (
	system = "/redfish/v1/Systems/1"
	cd     = "/redfish/v1/Managers/BMC/VirtualMedia/Cd"
)

func (b *bmc) reset(t string) answer {
	b.s.t.Helper()
	return b.do(http.MethodPost, system+"/Actions/ComputerSystem.Reset", obj{"ResetType": t})
}

func (b *bmc) power() string {
	b.s.t.Helper()
	v, _ := b.do(http.MethodGet, system, nil).at("PowerState").(string)
	return v
}

func (b *bmc) become(power string) {
	b.s.t.Helper()
	require.Eventually(b.s.t, func() bool { return b.power() == power }, soon, tick, "power state %s", power)
}

func (b *bmc) setBoot(target, enabled string) {
	b.s.t.Helper()
	a := b.do(http.MethodPatch, system, obj{"Boot": obj{"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": enabled}})
	require.Equal(b.s.t, http.StatusOK, a.status, "%s", a.raw)
}

func (b *bmc) insert(url string) answer {
	b.s.t.Helper()
	return b.do(http.MethodPost, cd+"/Actions/VirtualMedia.InsertMedia", obj{"Image": url})
}
