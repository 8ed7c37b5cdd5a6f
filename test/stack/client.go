package stack

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Refused is the error for an answer that is not 2xx.
type Refused struct {
	Status int
	words  string
}

func (r *Refused) Error() string { return r.words }

// Call sends a request and decodes the answer into out, unless that is nil.
func (s *Stack) Call(ctx context.Context, method, path string, body, out any) error {
	_, err := s.Ask(ctx, method, path, body, out)
	return err
}

// Ask is Call, and returns the header of the answer.
func (s *Stack) Ask(ctx context.Context, method, path string, body, out any) (http.Header, error) {
	a, err := s.Send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if a.Status >= http.StatusMultipleChoices {
		return nil, &Refused{Status: a.Status, words: fmt.Sprintf("%s %s: %d %s: %.1000s", method, path, a.Status, http.StatusText(a.Status), a.Body)}
	}
	if out == nil || len(a.Body) == 0 {
		return a.Header, nil
	}
	return a.Header, a.Decode(out)
}

// Node is a node as the API shows it.
type Node struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	State string `json:"provision_state"`

	Driver      string         `json:"driver"`
	Power       string         `json:"power_state"`
	TargetPower string         `json:"target_power_state"`
	Reservation string         `json:"reservation"` // "" = nothing holds it
	LastError   string         `json:"last_error"`
	Maintenance bool           `json:"maintenance"`
	Reason      string         `json:"maintenance_reason"`
	NeverOff    bool           `json:"disable_power_off"`
	Internal    map[string]any `json:"driver_internal_info"`
}

// Nodes returns all nodes with their states, and with nothing else.
func (s *Stack) Nodes(ctx context.Context) ([]Node, error) {
	return s.NodesWith(ctx, "uuid,name,provision_state")
}

// NodesWith returns all nodes with these fields, of which uuid must be one.
func (s *Stack) NodesWith(ctx context.Context, fields string) ([]Node, error) {
	var all []Node
	marker := ""
	for {
		var page struct {
			Nodes []Node `json:"nodes"`
			Next  string `json:"next"`
		}
		path := "/v1/nodes?limit=1000&fields=" + fields
		if marker != "" {
			path += "&marker=" + marker
		}
		if err := s.Call(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Nodes...)
		if page.Next == "" || len(page.Nodes) == 0 {
			return all, nil
		}
		marker = page.Nodes[len(page.Nodes)-1].UUID
	}
}

// Each calls f for all of them, so many at a time, and returns the first error.
func Each[T any](all []T, atOnce int, f func(T) error) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	var once sync.Once
	var first error
	for _, one := range all {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			if err := f(one); err != nil {
				once.Do(func() { first = err })
			}
		}()
	}
	wg.Wait()
	return first
}

// Create enrols n fake nodes.
func (s *Stack) Create(ctx context.Context, n int) error {
	rows := make([]Node, n)
	return Each(rows, 8, func(Node) error {
		return s.Call(ctx, http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware", "resource_class": "baremetal"}, nil)
	})
}

// Move sends a verb to count nodes that are in a state, all at once, and returns how long it
// took until all of them were in the other state. It reads the list every 250 ms, as the
// measurement of Ironic did.
func (s *Stack) Move(ctx context.Context, count int, from, verb, to string) (time.Duration, error) {
	all, err := s.Nodes(ctx)
	if err != nil {
		return 0, err
	}
	var mine []Node
	for _, n := range all {
		if n.State == from && len(mine) < count {
			mine = append(mine, n)
		}
	}
	if len(mine) < count {
		return 0, fmt.Errorf("%d nodes are %s, not %d", len(mine), from, count)
	}
	began := time.Now()
	if err = Each(mine, 100, func(n Node) error { return s.Provision(ctx, n.UUID, verb) }); err != nil {
		return 0, err
	}
	return s.AwaitState(ctx, mine, to, began)
}

// AwaitState waits until all of mine are in a state, and returns the time since began. It
// returns an error if a node has failed.
func (s *Stack) AwaitState(ctx context.Context, mine []Node, to string, began time.Time) (time.Duration, error) {
	want := map[string]bool{}
	for _, n := range mine {
		want[n.UUID] = true
	}
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); {
		all, err := s.Nodes(ctx)
		if err != nil {
			return 0, err
		}
		states := map[string]int{}
		there := 0
		for _, n := range all {
			if want[n.UUID] {
				states[n.State]++
				if n.State == to {
					there++
				}
			}
		}
		if there == len(mine) {
			return time.Since(began), nil
		}
		for _, failed := range []string{"deploy failed", "clean failed", "error", "inspect failed"} {
			if states[failed] > 0 {
				return 0, fmt.Errorf("while waiting for %s: %v", to, states)
			}
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(nextLook(time.Since(began), there, len(mine))):
		}
	}
	return 0, fmt.Errorf("not all %s within 10 minutes", to)
}

// nextLook returns when to look again: after a quarter of the time that the rest takes at the pace so far. A list of 1,000
// nodes four times a second takes a fifth of what the processes use that are measured.
func nextLook(since time.Duration, there, of int) time.Duration {
	left := since
	if there > 0 {
		left = since * time.Duration(of-there) / time.Duration(there)
	}
	return min(max(left/4, 250*time.Millisecond), 10*time.Second)
}

// Prepare enrols, verifies and cleans n fake nodes.
func (s *Stack) Prepare(ctx context.Context, n int) error {
	if err := s.Create(ctx, n); err != nil {
		return err
	}
	if _, err := s.Move(ctx, n, "enroll", "manage", "manageable"); err != nil {
		return err
	}
	_, err := s.Move(ctx, n, "manageable", "provide", "available")
	return err
}
