package compute_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/compute"
)

// book is an API with a memory: one epoch, one share, and what services said.
type book struct {
	mu    sync.Mutex
	away  error // what everything answers; nil = it answers
	epoch int64
	lease float64
	quiet bool
	nodes []client.ComputeNode
	said  []client.ComputeHeartbeat
	taken []string // node/instance
	bad   string   // a partition key that is refused
}

func (b *book) do(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what()
}

func (b *book) Compute(_ context.Context, host string, h client.ComputeHeartbeat) (*client.ComputeService, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return nil, b.away
	}
	if h.PartitionKey != nil && *h.PartitionKey == b.bad {
		return nil, &client.Error{Status: http.StatusBadRequest, Words: "no such group"}
	}
	b.said = append(b.said, h)
	return &client.ComputeService{Host: host, Epoch: b.epoch, Lease: b.lease, Quiet: b.quiet}, nil
}

func (b *book) ComputeShare(_ context.Context, _ string, epoch int64) ([]client.ComputeNode, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.away != nil:
		return nil, b.away
	case epoch != b.epoch:
		return nil, &client.Error{Status: http.StatusConflict}
	}
	return b.nodes, nil
}

func (b *book) ClaimNode(_ context.Context, service, node, instance string, _ bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return b.away
	}
	b.taken = append(b.taken, service+" "+node+" "+instance)
	return nil
}

func (b *book) last() client.ComputeHeartbeat {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) == 0 {
		return client.ComputeHeartbeat{}
	}
	return b.said[len(b.said)-1]
}

// run runs a service until the test is over.
func run(t *testing.T, b *book, change ...func(*compute.Service)) (s *compute.Service, ended chan error) {
	t.Helper()
	s = &compute.Service{API: b, Host: "a", Interval: 10 * time.Millisecond, Log: zap.NewNop()}
	for _, f := range change {
		f(s)
	}
	ended = make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	return s, ended
}

func fleet() *book {
	return &book{epoch: 3, lease: 15, nodes: []client.ComputeNode{
		{UUID: "n1", Total: 1, Requires: []string{}}, {UUID: "n2", Total: 1, Requires: []string{"CUSTOM_MAINTENANCE"}},
	}}
}

// free are the nodes that a reader of /inventory could have.
func free(t *testing.T, s *compute.Service, query string) (out []string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/inventory"+query, nil))
	var body struct{ Nodes []client.ComputeNode }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.NotNil(t, body.Nodes)
	for _, n := range body.Nodes {
		if n.Total-n.Used-n.Reserved > 0 {
			out = append(out, n.UUID)
		}
	}
	return out
}

func claim(t *testing.T, s *compute.Service, body string) int {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/claims", strings.NewReader(body)))
	return w.Code
}

const (
	patience = 10 * time.Second
	look     = 5 * time.Millisecond
)

func shows(t *testing.T, s *compute.Service, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Join(free(t, s, ""), ",") == strings.Join(want, ",") }, patience, look)
}

func TestRow20AShareIsShownWithWhatItRequires(t *testing.T) {
	s, _ := run(t, fleet())
	shows(t, s, "n1")
	require.Equal(t, []string{"n1", "n2"}, free(t, s, "?knows=requires"))
}

func TestRow14WithoutALeaseNothingIsShownAndNoClaimTaken(t *testing.T) {
	b := fleet()
	b.lease = 6 // seconds, of which the service uses 4: a busy machine must not end it early
	s, _ := run(t, b)
	shows(t, s, "n1")
	require.Equal(t, http.StatusOK, claim(t, s, `{"node_uuid":"n1","instance_uuid":"i"}`))
	require.Equal(t, http.StatusConflict, claim(t, s, `{"node_uuid":"elsewhere","instance_uuid":"i"}`))
	require.Equal(t, http.StatusBadRequest, claim(t, s, `{}`))
	b.do(func() { b.away = errors.New("no route") })
	began := time.Now()
	shows(t, s)
	require.Less(t, time.Since(began), 5500*time.Millisecond, "before the lease can have ended")
	require.Equal(t, http.StatusServiceUnavailable, claim(t, s, `{"node_uuid":"n1","instance_uuid":"i"}`))
	b.do(func() { b.away = nil })
	shows(t, s, "n1")
	b.do(func() { require.Equal(t, []string{"a n1 i"}, b.taken) })
}

func TestRow14WhileAnEarlierProcessMayPublishNothingIsShown(t *testing.T) {
	b := fleet()
	b.quiet = true
	started := make(chan struct{})
	s, _ := run(t, b, func(s *compute.Service) { s.Started = func() { close(started) } })
	<-started
	require.Empty(t, free(t, s, ""))
	b.do(func() { b.quiet = false })
	shows(t, s, "n1")
}

func TestRow14TheOlderProcessEnds(t *testing.T) {
	b := fleet()
	s, ended := run(t, b)
	shows(t, s, "n1")
	b.do(func() { b.away = &client.Error{Status: http.StatusConflict, Words: "started again"} })
	require.Error(t, <-ended)
	require.Empty(t, free(t, s, ""))
}

func TestRow22AnEpochIsAcknowledgedOnceItIsShown(t *testing.T) {
	b := fleet()
	s, _ := run(t, b)
	shows(t, s, "n1")
	require.Eventually(t, func() bool { return b.last().AcknowledgedEpoch == 3 }, patience, look)
	b.do(func() { b.epoch, b.nodes = 4, nil })
	require.Eventually(t, func() bool { return b.last().AcknowledgedEpoch == 4 }, patience, look)
	require.Empty(t, free(t, s, ""))
}

func TestRow21SettingsAreReadAgain(t *testing.T) {
	b := fleet()
	b.bad = "bad"
	changed := make(chan struct{})
	next := make(chan func() (compute.Settings, error), 1)
	_, _ = run(t, b, func(s *compute.Service) {
		s.Changed, s.Reread = changed, func() (compute.Settings, error) { return (<-next)() }
	})
	reread := func(key string, err error) {
		next <- func() (compute.Settings, error) { return compute.Settings{Key: &key, Peers: []string{"a", "b"}}, err }
		changed <- struct{}{}
	}
	said := func(key, refused string) func() bool {
		return func() bool {
			h := b.last()
			return h.PartitionKey != nil && *h.PartitionKey == key && strings.Contains(h.SettingsError, refused) && (refused != "" || h.SettingsError == "")
		}
	}
	reread("g", nil)
	require.Eventually(t, said("g", ""), patience, look)
	require.Equal(t, "a,b", *b.last().PeerList)
	reread("x", errors.New("the file is broken"))
	require.Eventually(t, said("g", "the file is broken"), patience, look, "the old ones stay")
	reread("bad", nil)
	require.Eventually(t, said("g", "no such group"), patience, look, "also where the API refuses them")
	reread("h", nil)
	require.Eventually(t, said("h", ""), patience, look)
}

func TestWhatIsPublishedAndHowItGoesIsMeasured(t *testing.T) {
	b := fleet()
	b.lease = 6 // seconds, of which the service uses 4: a busy machine must not end it early
	b.nodes = append(b.nodes, client.ComputeNode{UUID: "n3", Total: 1, Used: 1}, client.ComputeNode{UUID: "n4", Total: 1, Reserved: 1})
	r := prometheus.NewRegistry()
	s, _ := run(t, b, func(s *compute.Service) { s.Metrics = compute.NewMetrics(r, s) })
	shows(t, s, "n1")
	is := func(name string) float64 { return metric(t, r, name) }
	require.InDelta(t, 4, is("temper_compute_nodes"), 0)
	require.InDelta(t, 2, is("temper_compute_free_nodes"), 0)
	require.InDelta(t, 3, is("temper_compute_epoch"), 0)
	require.Greater(t, is("temper_compute_lease_seconds"), 0.0)
	require.Positive(t, is("temper_compute_cycle_duration_seconds published"))
	require.Zero(t, is("temper_compute_cycle_duration_seconds unrenewed"))
	b.do(func() { b.away = errors.New("no route") })
	shows(t, s)
	require.Positive(t, is("temper_compute_cycle_duration_seconds unrenewed"))
	for _, name := range []string{"nodes", "free_nodes", "epoch", "lease_seconds"} {
		require.Zero(t, is("temper_compute_"+name), name)
	}
}

// metric is the value of a gauge, or how often something of an outcome was measured.
func metric(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	name, outcome, _ := strings.Cut(name, " ")
	all, err := r.Gather()
	require.NoError(t, err)
	for _, f := range all {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (outcome == "" || m.GetLabel()[0].GetValue() == outcome) {
				return m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	require.Fail(t, "it is not measured", "%s %s", name, outcome)
	return 0
}

func TestAnInstanceThatIsGoneIsConfirmed(t *testing.T) {
	b := fleet()
	instance := "i"
	b.nodes = []client.ComputeNode{{UUID: "n1", Total: 1, Used: 1, InstanceUUID: &instance, InstanceGone: true}}
	_, _ = run(t, b)
	require.Eventually(t, func() bool { return len(b.last().GoneInstances) == 1 }, patience, look)
}
