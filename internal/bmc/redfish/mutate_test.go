package redfish_test

import (
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// mutant answers as a BMC does, but spoils some of the answers. The seed determines which
// and how, so that a failure can be repeated.
type mutant struct {
	bmc http.Handler

	mu       sync.Mutex
	rng      *rand.Rand
	writes   []written
	requests int
}

// written is a request that may change something.
type written struct {
	method, path string
	body         map[string]any
}

func newMutant(bmc http.Handler, seed uint64) *mutant {
	return &mutant{bmc: bmc, rng: rand.New(rand.NewPCG(seed, 1))}
}

// take returns what was asked since the last call.
func (m *mutant) take() (requests int, writes []written) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests, writes = m.requests, m.writes
	m.requests, m.writes = 0, nil
	return requests, writes
}

func (m *mutant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	var in map[string]any
	_ = json.Unmarshal(body, &in) // what is no JSON is seen as no body
	login := in["UserName"] != nil && in["Image"] == nil
	logout := r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/Sessions/")
	if r.Method != http.MethodGet && !login && !logout {
		m.writes = append(m.writes, written{r.Method, r.URL.Path, in})
	}
	if m.rng.IntN(12) == 0 && m.refuse(w, r) {
		return
	}
	kept := httptest.NewRecorder()
	m.bmc.ServeHTTP(kept, r)
	answer := kept.Body.Bytes()
	var doc any
	if m.rng.IntN(3) == 0 && json.Unmarshal(answer, &doc) == nil {
		answer, _ = json.Marshal(m.spoil(doc, 0)) // maps of plain values encode
	}
	if m.rng.IntN(40) == 0 {
		answer = answer[:m.rng.IntN(len(answer)+1)]
	}
	maps.Copy(w.Header(), kept.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(kept.Code)
	_, _ = w.Write(answer)
}

// refuse answers without the BMC: errors of all kinds, tasks that are not there, redirects.
func (m *mutant) refuse(w http.ResponseWriter, r *http.Request) bool {
	info := any(map[string]any{"MessageId": "Base.1.8." + m.pick("GeneralError", "PropertyMissing", "ActionParameterMissing", "ResourceInUse", "PropertyNotWritable"), "Message": m.pick("", "no TransferProtocolType", "UserName", "Inserted", "maximum sessions")})
	if m.rng.IntN(2) == 0 {
		info = []any{info}
	}
	no, _ := json.Marshal(map[string]any{"error": map[string]any{"code": "x", "@Message.ExtendedInfo": info}})
	switch m.rng.IntN(5) {
	case 0:
		w.Header().Set("Location", "/redfish/v1/TaskService/Tasks/gone")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(m.pick(`{}`, `null`, `{"TaskState":7}`, `{"TaskState":"Exception","Messages":{"Message":"x"}}`)))
		return true
	case 1:
		w.Header().Set("Location", m.pick(r.URL.Path, "/redfish/v1", "http://192.0.2.1/x", "", "//"))
		w.WriteHeader([]int{301, 302, 303, 307, 308}[m.rng.IntN(5)])
		return true
	case 2:
		w.WriteHeader([]int{400, 404, 405, 409, 412, 413, 415, 500, 501, 502}[m.rng.IntN(10)])
		_, _ = w.Write(no)
		return true
	case 3:
		w.Header().Set("Retry-After", m.pick("0", "-1", "99999999999", "soon"))
		w.WriteHeader(m.pickStatus(503, 429))
		_, _ = w.Write(no)
		return true
	}
	return false
}

func (m *mutant) pick(of ...string) string { return of[m.rng.IntN(len(of))] }

func (m *mutant) pickStatus(of ...int) int { return of[m.rng.IntN(len(of))] }

// spoil changes some of a document's values.
func (m *mutant) spoil(v any, depth int) any {
	if depth > 0 && m.rng.IntN(8) == 0 {
		return m.odd(v)
	}
	switch v := v.(type) {
	case map[string]any:
		// In one order, so that the seed alone determines the result.
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if m.rng.IntN(20) == 0 {
				delete(v, k)
				continue
			}
			v[k] = m.spoil(v[k], depth+1)
		}
	case []any:
		for i := range v {
			v[i] = m.spoil(v[i], depth+1)
		}
	}
	return v
}

// odd returns a value instead of v: missing, of another type, huge, or leading elsewhere.
func (m *mutant) odd(v any) any {
	switch m.rng.IntN(13) {
	case 0:
		return nil
	case 1:
		return ""
	case 2:
		return strings.Repeat("w", 64<<10)
	case 3:
		return -1e300
	case 4:
		return true
	case 5:
		return []any{v}
	case 6:
		return map[string]any{"@odata.id": "/redfish/v1"}
	case 7:
		return map[string]any{"x": v}
	case 8:
		return slices.Repeat([]any{v}, 500)
	case 9:
		return "00:00:10:29:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:a1:5c:7e"
	case 10:
		return m.pick("/redfish/v1/Systems", "/redfish/v1/Systems/1/", "http://192.0.2.1/redfish/v1", "/redfish/v1/../../etc", "#", "\x00\r\n")
	case 11:
		return 99999999999999999999.0
	}
	return []any{nil, 1, "x", []any{}, map[string]any{}}
}
