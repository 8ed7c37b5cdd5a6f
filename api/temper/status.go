package temper

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/webhook"
)

// partTimeout bounds each question about the parts of Temper. They are asked at the same time, so
// that an answer is there in less than five seconds although one of them is frozen.
const partTimeout = 3 * time.Second

// shownPart is a part of Temper as clients see it.
type shownPart struct {
	Name     string      `json:"name"`
	OK       *bool       `json:"ok"`    // null = it is not known
	Since    any         `json:"since"` // when it began to be so; null = not known
	Message  string      `json:"message"`
	Works    string      `json:"works"` // what still works; "" if it is OK or not known
	Check    string      `json:"check"` // what an operator looks at; "" if it is OK or not known
	Versions []string    `json:"versions"`
	Help     []help.Item `json:"help"` // what somebody can do about it
}

// shownProcess is a process of Temper as clients see it.
type shownProcess struct {
	Role      coverage.Role `json:"role"`
	Name      string        `json:"name"`
	Version   string        `json:"version"`
	Alive     bool          `json:"alive"`
	StartedAt any           `json:"started_at"`
	Silent    float64       `json:"silent_seconds"`
	Ahead     *float64      `json:"clock_ahead_seconds"` // null = not known
	Error     *float64      `json:"clock_error_seconds"`
}

// shownWebhookTrouble is a webhook whose deliveries fail.
type shownWebhookTrouble struct {
	Name        string      `json:"name"`
	Since       any         `json:"since"`
	Attempts    int         `json:"attempts"` // of the newest delivery, that failed
	DeadLetters int         `json:"dead_letters"`
	Sentence    string      `json:"sentence"`
	Help        []help.Item `json:"help"`
}

func shownWebhookTroubles(all []webhook.Webhook) []shownWebhookTrouble {
	out := []shownWebhookTrouble{}
	for i := range all {
		w := &all[i]
		t := status.WebhookFails(status.Deliveries{
			Webhook: w.Name, Enabled: w.Enabled, FailingSince: w.FailingSince, Attempts: w.Attempts, LastError: w.LastError,
			DeadLetters: w.DeadLetters, DeadSince: w.DeadSince,
		})
		if t == nil {
			continue
		}
		one := shownWebhookTrouble{
			Name: w.Name, Since: format.Timestamp(t.Since), Attempts: w.Attempts, DeadLetters: w.DeadLetters, Sentence: t.Sentence, Help: []help.Item{},
		}
		for _, a := range t.Actions {
			one.Help = append(one.Help, help.Of(nil, a))
		}
		out = append(out, one)
	}
	return out
}

func showPart(p status.Part) shownPart {
	out := shownPart{Name: p.Name, OK: p.OK, Since: format.Timestamp(p.Since), Message: p.Message, Works: p.Works, Check: p.Check, Versions: p.Versions, Help: []help.Item{}}
	for _, a := range p.Actions {
		out.Help = append(out.Help, help.Of(nil, a))
	}
	for _, d := range p.Mends {
		out.Help = append(out.Help, help.Mend(d))
	}
	return out
}

// getStatus answers GET /temper/v1/status: how each part of Temper does, which is broken, and what
// still works, and the webhooks whose deliveries fail, which breaks no part. The status code is always 200; /readyz has one for load balancers.
func (s *Server) getStatus(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	var hooks []webhook.Webhook // none if PostgreSQL does not tell
	var read sync.WaitGroup
	read.Go(func() {
		ctx, cancel := context.WithTimeout(c.Request.Context(), partTimeout)
		defer cancel()
		hooks, _ = s.Store.Webhooks(ctx)
	})
	system := s.system(c.Request.Context(), true)
	read.Wait()
	parts, broken := status.Parts(system), []string{}
	shown := make([]shownPart, len(parts))
	fine := true
	for i, p := range parts {
		shown[i] = showPart(p)
		fine = fine && p.OK != nil && *p.OK
		if p.Broken() {
			broken = append(broken, p.Name)
		}
	}
	for _, a := range []status.Answer{system.PostgreSQL, system.Temporal} {
		if a.Err != nil {
			httpd.Logger(c).Warn("a part of Temper is broken", zap.String("trouble", a.Trouble), zap.Error(a.Err))
		}
	}
	return http.StatusOK, gin.H{"ok": fine, "broken": broken, "parts": shown, "processes": shownProcesses(system.Fleet), "webhooks": shownWebhookTroubles(hooks)}, nil
}

func shownProcesses(h *coverage.Health) []shownProcess {
	out := []shownProcess{}
	if h == nil {
		return out
	}
	for _, p := range h.Processes {
		one := shownProcess{Role: p.Role, Name: p.Name, Version: p.Version, Alive: p.Alive, StartedAt: format.Timestamp(&p.StartedAt), Silent: p.Silent.Seconds()}
		if p.Ahead != nil {
			ahead, most := p.Ahead.Seconds(), p.Error.Seconds()
			one.Ahead, one.Error = &ahead, &most
		}
		out = append(out, one)
	}
	return slices.Clip(out)
}

// system asks all parts of Temper at the same time, each under a deadline of its own. Whether nodes
// are covered, and what differs in Temporal, is asked only with more, because it costs more.
func (s *Server) system(ctx context.Context, more bool) status.System {
	out := status.System{Now: s.Now(), Version: s.Version, Settings: s.Settings, Late: s.ReconcileLate}
	var all sync.WaitGroup
	within := func(ask func(context.Context)) {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, partTimeout)
			defer cancel()
			ask(ctx)
		})
	}
	all.Go(func() { out.Dependencies = s.Ask(ctx) }) // has deadlines of its own
	within(func(ctx context.Context) {
		if h, err := s.Store.FleetHealth(ctx); err == nil {
			out.Fleet = &h
		}
	})
	if more {
		within(func(ctx context.Context) {
			if counts, err := s.Store.Quarantined(ctx); err == nil {
				out.Uncovered = counts
			}
		})
		within(func(ctx context.Context) { out.Setup = s.Setup(ctx) })
	}
	all.Wait()
	return out
}
