package ironic

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// heartbeatFields are the fields of a heartbeat by the version that added each.
var heartbeatFields = []struct {
	name  string
	since int
}{
	{"callback_url", 22},
	{"agent_version", 36},
	{"agent_token", 62},
	{"agent_verify_ca", 68},
	{"agent_status", 72},
	{"agent_status_message", 72},
}

func readHeartbeat(c *gin.Context) (agent.Heartbeat, error) {
	var names []string
	for _, f := range heartbeatFields {
		names = append(names, f.name)
	}
	in, err := format.ReadObject(c, format.MaxBodyHeartbeat, names...)
	if err != nil {
		return agent.Heartbeat{}, err
	}
	in.Require("callback_url")
	for _, f := range heartbeatFields {
		if in.Has(f.name) && format.Minor(c) < f.since {
			in.Fail("Field \"%s\" not recognised in this version", f.name)
		}
	}
	h := agent.Heartbeat{
		CallbackURL: strings.TrimRight(in.Text("callback_url"), "/"), AgentToken: in.Text("agent_token"),
		AgentVersion: in.Text("agent_version"), AgentVerifyCA: in.Text("agent_verify_ca"),
		AgentStatus: in.Text("agent_status"), AgentStatusMessage: in.Text("agent_status_message"),
	}
	return h, in.Err
}

// postHeartbeat answers POST /v1/heartbeat/X. It is one small row update; the
// workflow is only told of the first heartbeat of a boot, and only while it waits.
func (s *Server) postHeartbeat(c *gin.Context) (int, any, error) {
	h, err := readHeartbeat(c)
	if err != nil {
		s.refused.agent(askHeartbeat, err)
		return 0, nil, err
	}
	n, err := s.FindForAgent(c, c.Param("node"))
	if err != nil {
		s.refused.agent(askHeartbeat, err)
		return 0, nil, err
	}
	check := func(known node.Agent, token string) error {
		return s.Agent.Callback.CheckHeartbeat(h, agent.KnownAgent{Token: token, URL: known.URL, VerifyCA: known.VerifyCA})
	}
	first, o, err := s.Store.AgentHeartbeat(c.Request.Context(), n.UUID, check,
		node.Agent{URL: h.CallbackURL, Version: h.AgentVersion, VerifyCA: h.AgentVerifyCA})
	if err != nil {
		s.refused.agent(askHeartbeat, err)
		if fault.Is(err, fault.Invalid) {
			httpd.Logger(c).Warn("heartbeat refused", zap.String("node", n.UUID), zap.String("from", c.RemoteIP()), zap.Error(err))
		}
		return 0, nil, err
	}
	if first && o != nil && o.Phase == node.Waiting {
		s.Nudge(c, o)
	}
	return http.StatusAccepted, nil, nil
}
