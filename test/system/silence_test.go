package system_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While a step waits for a silent BMC, no conductor works on it: Temporal tries its activity again after a pause, here of an
// hour. People need not wait for that.
func TestAStepThatWaitsForASilentBMCCanBeEndedAtOnce(t *testing.T) {
	t.Parallel()
	s := world(t)
	for how, cancel := range cancels(t, s) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			group := "mute-" + how[:2] // a conductor for each BMC: one to which several give no answer thinks that its own network is cut off
			s.conductor(t, group, group+"-1", "TEMPER_BMC_AWAY_TIMEOUT=12h")
			n := in(t, s, group)
			n.spoil(fault{Kind: "reset"})
			id := n.power("power on")
			n.paused(id, time.Hour)

			a := n.decide(id, "retry", "it is there again")
			require.Equal(t, http.StatusConflict, a.Status, "it has not failed: %s", a.Body)
			require.Contains(t, a.Words(), "waits for no decision")
			o, err := n.operation(id)
			require.NoError(t, err)
			require.Equal(t, "the BMC to answer again", text(o.WaitingFor))

			cancel(n, id)
			n.cancelled(id, "available")
			n.spoil()
			n.done(n.power("power on"), "available")
		})
	}
}

// paused waits until the activity of an operation is tried again only after a pause of almost d, because nobody may ask the
// node's silent BMC before.
func (n *node) paused(id string, d time.Duration) {
	n.t.Helper()
	db, c := n.s.database(n.t), n.s.temporal(n.t)
	catches(n.t, patience, func() error {
		o, err := n.operation(id)
		if err != nil {
			return err
		}
		// An attempt that was under way may have written its own pause, so that this is done until it lasts.
		_, err = db.Exec(n.t.Context(), `UPDATE bmc_silences SET next_at = clock_timestamp() + $1 WHERE node_id = (SELECT id FROM nodes WHERE uuid = $2)`, d, n.uuid)
		if err != nil {
			return err
		}
		about, err := c.DescribeWorkflowExecution(n.t.Context(), o.WorkflowID, text(o.RunID))
		if err != nil {
			return err
		}
		for _, a := range about.PendingActivities {
			if next := a.NextAttemptScheduleTime; next != nil && time.Until(next.AsTime()) > d/2 {
				return nil
			}
		}
		return fmt.Errorf("it is not paused for %s: %s", d, o)
	})
}
