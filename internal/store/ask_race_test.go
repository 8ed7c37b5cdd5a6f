package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// A request, a save and a hand-over that wait for one another all know what the one before has written.
func TestTheStateThatIsStoredIsTheStateOfTheRow(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour)
	for name, write := range map[string]func(s *store.Store, o node.Operation) error{
		"a save": func(s *store.Store, o node.Operation) error {
			_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Known: &o, Steps: o.Steps, Phase: node.Waiting, WaitingFor: "the agent", WaitingUntil: &until})
			return err
		},
		"a hand-over": func(s *store.Store, o node.Operation) error {
			return s.HandOver(t.Context(), o.ID, first, &node.Pause{What: node.PauseOfActivity, By: "x", At: time.Now()}, node.Progress{})
		},
	} {
		for how, asks := range map[string]func(s *store.Store, n *node.Node, o node.Operation) error{
			"of the node": func(s *store.Store, n *node.Node, _ node.Operation) error {
				_, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
					return &node.Request{Steer: &node.Steer{Ask: node.AskAbort, By: "u", Reason: "because"}}, nil
				})
				return err
			},
			"of the operation": func(s *store.Store, _ *node.Node, o node.Operation) error {
				_, err := s.AskOperation(t.Context(), o.ID, node.AskAbort, "u", "because")
				return err
			},
		} {
			t.Run(name+" before a request "+how, func(t *testing.T) {
				t.Parallel()
				s, url := openURL(t)
				n, o := running(t, s)
				held := beside(t, url)
				tx, err := held.BeginTx(t.Context(), pgx.TxOptions{})
				require.NoError(t, err)
				_, err = tx.Exec(t.Context(), `SELECT FROM operations FOR UPDATE`)
				require.NoError(t, err)
				done := make(chan error, 2)
				waiting := func(count int) {
					require.Eventually(t, func() bool {
						return ask[int](t, url, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == count
					}, time.Minute, 5*time.Millisecond)
				}
				go func() { done <- write(s, *o) }()
				waiting(1)
				go func() { done <- asks(s, n, *o) }()
				waiting(2)
				require.NoError(t, tx.Rollback(t.Context()))
				require.NoError(t, <-done)
				require.NoError(t, <-done)
				now, err := s.Operation(t.Context(), o.ID)
				require.NoError(t, err)
				require.Equal(t, node.AskAbort, now.Asked)
				require.Equal(t, string(now.State()), ask[string](t, url, `SELECT state FROM operations`))
				require.Equal(t, string(now.State()), ask[string](t, url, `SELECT data ->> 'state' FROM events WHERE type = 'operation.asked'`))
			})
		}
	}
}

// A conductor whose answer was lost saves once more.
func TestASaveThatIsRepeatedIsToldOnce(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	_, o := running(t, s)
	for range 2 {
		known := *o
		_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Known: &known, Steps: deployStep(node.StepRunning), Phase: node.Waiting, WaitingFor: "the agent"})
		require.NoError(t, err)
	}
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM events WHERE type = 'operation.waiting'`))
	require.Equal(t, 1, ask[int](t, url, `SELECT count(*) FROM events WHERE type = 'step.begun'`))
}
