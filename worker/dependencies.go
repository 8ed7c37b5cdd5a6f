package worker

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/status"
)

// askTimeout limits one question to PostgreSQL or Temporal. GET /temper/v1/status answers in
// five seconds although one of them is frozen.
const askTimeout = 3 * time.Second

// Dependencies asks PostgreSQL and Temporal whether they answer, and remembers since when they do
// or do not.
type Dependencies struct {
	// PostgreSQL and Temporal return the version of what they ask.
	PostgreSQL, Temporal func(context.Context) (version string, err error)
	// PostgreSQLAddress and TemporalAddress are where they are, without credentials.
	PostgreSQLAddress, TemporalAddress string
	// TemporalPlain says that Temporal is reached beyond this machine and without TLS.
	TemporalPlain bool

	mu                   sync.Mutex
	postgreSQL, temporal memory
}

// memory is the newest answer to one question.
type memory struct {
	asked  time.Time // zero = it was not asked yet
	answer status.Answer
}

// Ask asks both at the same time, each under a deadline of its own.
func (d *Dependencies) Ask(ctx context.Context) status.Dependencies {
	asked := time.Now()
	var now status.Dependencies
	var both sync.WaitGroup
	both.Go(func() { now.PostgreSQL = ask(ctx, d.PostgreSQL, TroubleOfPostgreSQL) })
	both.Go(func() { now.Temporal = ask(ctx, d.Temporal, func(error) string { return status.TemporalAway }) })
	both.Wait()
	now.PostgreSQL.Address, now.Temporal.Address, now.Temporal.Plain = d.PostgreSQLAddress, d.TemporalAddress, d.TemporalPlain
	d.mu.Lock()
	defer d.mu.Unlock()
	newest := ctx.Err() == nil // else the answer may only say that nobody waits for it any more
	d.postgreSQL.date(&now.PostgreSQL, asked, newest)
	d.temporal.date(&now.Temporal, asked, newest)
	return now
}

// date sets Since of an answer, and keeps the answer if it is the newest. That something answered when
// it was asked first does not say since when it does.
func (m *memory) date(a *status.Answer, asked time.Time, newest bool) {
	switch {
	case !m.asked.IsZero() && m.answer.Trouble == a.Trouble:
		a.Since = m.answer.Since
	case !m.asked.IsZero() || a.Trouble != "":
		a.Since = asked
	}
	if newest && asked.After(m.asked) {
		m.asked, m.answer = asked, *a
	}
}

// Run asks at intervals until ctx ends, so that it is known since when something does not answer.
func (d *Dependencies) Run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		d.Ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, question func(context.Context) (string, error), trouble func(error) string) (a status.Answer) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if a.Version, a.Err = question(ctx); a.Err != nil {
		a.Trouble = trouble(a.Err)
	}
	return a
}

// TroubleOfPostgreSQL says what an error of Store.Ready means for people.
func TroubleOfPostgreSQL(err error) string {
	if code := fault.CodeOf(err); code == fault.DatabaseUnavailable || code == fault.DatabaseTimeout || code == fault.NoAnswerInTime {
		return status.PostgreSQLAway
	}
	return status.PostgreSQLOutdated
}

// TemporalVersion returns a question to Temporal for Dependencies.
func TemporalVersion(c client.Client) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
			return "", err
		}
		info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		if err != nil {
			return "", err
		}
		return info.GetServerVersion(), nil
	}
}
