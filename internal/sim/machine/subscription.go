package machine

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Subscription is a subscription to the events of a server's BMC. It does not survive a restart of the process.
type Subscription struct {
	ID, Destination, Context string

	EventTypes []string
	Headers    http.Header // of each event

	cancel context.CancelFunc
}

const (
	maxSubscriptions = 8
	eventTimeout     = 5 * time.Second // to send one event; it is sent once
)

// Subscriptions returns the subscriptions, the oldest first.
func (s *Server) Subscriptions() []Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Subscription(nil), s.subscriptions...)
}

// Subscribe sends an event to the destination of sub after each change of the server, until Unsubscribe or Halt. It returns sub with
// its id; ok is false if there are too many subscriptions.
func (s *Server) Subscribe(sub Subscription) (_ Subscription, ok bool) {
	changes, end := s.Watch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subscriptions) >= maxSubscriptions {
		go end() // it needs the lock
		return sub, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.nextID++
	sub.ID, sub.cancel = strconv.Itoa(s.nextID), cancel
	s.subscriptions = append(s.subscriptions, sub)
	s.agents.Add(1)
	go func() {
		defer s.agents.Done()
		defer end()
		for {
			select {
			case <-ctx.Done():
				return
			case <-changes:
				s.sendEvent(ctx, sub)
			}
		}
	}()
	return sub, true
}

func (s *Server) sendEvent(ctx context.Context, sub Subscription) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	body := strings.NewReader(`{"@odata.type": "#Event.v1_9_0.Event", "Id": "1", "Context": "` + sub.Context + `", "Events": [{"MessageId": "ResourceEvent.1.3.ResourceChanged"}]}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.Destination, body)
	if err != nil {
		return
	}
	if sub.Headers != nil {
		req.Header = sub.Headers.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	if resp, err := s.env.Client.Do(req); err == nil { // an event that nobody takes is lost
		_ = resp.Body.Close()
	}
}

// Unsubscribe deletes a subscription, and reports whether there was one.
func (s *Server) Unsubscribe(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sub := range s.subscriptions {
		if sub.ID == id {
			sub.cancel()
			s.subscriptions = append(s.subscriptions[:i:i], s.subscriptions[i+1:]...)
			return true
		}
	}
	return false
}
