package conductor

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// logTime is how long an agent may take to send its logs. Nobody hears of the step's failure for as long.
const logTime = 10 * time.Second

// keepAgentLog keeps what the agent has logged, after the step has failed for good with err. That it can't be had is no fault of the
// operation, and changes nothing of its cause.
func (t *task) keepAgentLog(step *node.Step, err error) {
	var lost *agentLostError
	if t.node.Agent == nil || t.node.Agent.URL == "" || errors.As(err, &lost) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), logTime)
	defer cancel()
	c, err := t.agent(ctx)
	if err != nil {
		t.log.Debug("the agent's log is not kept", zap.Error(err))
		return
	}
	text, err := c.Logs(ctx)
	if text != "" {
		_, saved := t.Store.SaveLog(ctx, t.node.UUID, node.Log{
			Operation: t.op.ID, Kind: node.AgentLog, Step: step.Name(), Conductor: t.Settings.Conductor, Content: mask.URLs(t.withoutSecrets(text)),
		})
		err = errors.Join(err, saved)
	}
	if err != nil {
		t.log.Debug("the agent's log is not kept, or not whole", zap.Error(err))
	}
}
