package hostile_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// stranger sends the API all requests that need no login, and all that listen for HTTP what it likes.
type stranger struct {
	url     string
	others  []string // addresses of compute services and of metrics
	targets []string // MACs and uuids of nodes that wait for something
	answers [600]atomic.Int64
	web     *http.Client
}

func newStranger(url string, others, targets []string) *stranger {
	return &stranger{url: url, others: others, targets: targets, web: &http.Client{
		Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4},
	}}
}

// inventory returns an inventory that is as expensive as possible for its size.
func (s *stranger) inventory(r *rand.Rand, size int) (query string, body io.Reader) {
	target := s.targets[r.IntN(len(s.targets))]
	if !strings.Contains(target, ":") {
		query = "?node_uuid=" + target
		target = someMAC(r)
	}
	switch r.IntN(4) {
	case 0:
		return query, document(r, size, "inventory", "interfaces")
	case 1:
		return query, io.MultiReader(strings.NewReader(fmt.Sprintf(`{"inventory":{"interfaces":[{"mac_address":%q}],"disks":`, target)), hard(r, size), strings.NewReader(`}}`))
	case 2:
		return query, io.MultiReader(strings.NewReader(fmt.Sprintf(`{"inventory":{"interfaces":[{"mac_address":%q}]},"root_disk":`, target)), hard(r, size), strings.NewReader(`}`))
	}
	return query, document(r, size, "logs")
}

func (s *stranger) once(ctx context.Context, r *rand.Rand) {
	size := []int{100, 8 << 10, 256 << 10, mib, 4 * mib, 16*mib - 1000}[r.IntN(6)]
	switch r.IntN(5) {
	case 4:
		paths := []string{"/inventory", "/inventory?epoch=", "/claims", "/claims/" + s.targets[0], "/metrics", "/healthz", "/"}
		methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}
		at := s.others[r.IntN(len(s.others))] + paths[r.IntN(len(paths))] + strings.Repeat("x", r.IntN(2000))
		s.sendTo(ctx, methods[r.IntN(len(methods))], at, document(r, size, "node"))
	case 0:
		s.send(ctx, http.MethodGet, "/v1/lookup?addresses="+strings.Repeat(someMAC(r)+",", r.IntN(1500))+someMAC(r), nil)
	case 1:
		target := s.targets[r.IntN(len(s.targets))]
		s.send(ctx, http.MethodPost, "/v1/heartbeat/"+target, document(r, size, "callback_url"))
	default:
		query, body := s.inventory(r, size)
		s.send(ctx, http.MethodPost, "/v1/continue_inspection"+query, body)
	}
}

func (s *stranger) send(ctx context.Context, method, path string, body io.Reader) {
	s.sendTo(ctx, method, s.url+path, body)
}

func (s *stranger) sendTo(ctx context.Context, method, url string, body io.Reader) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.84")
	resp, err := s.web.Do(req)
	if err != nil {
		return // the API may close the connection
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	s.answers[resp.StatusCode].Add(1)
}
