package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// lookupStates are the states in which an agent may ask who it is (Ironic
// states.py LOOKUP_ALLOWED_STATES).
var lookupStates = []node.State{
	node.Deploying, node.DeployWait, node.Cleaning, node.CleanWait, node.Inspecting, node.InspectWait,
	node.Rescuing, node.RescueWait, node.ServiceWait,
}

// getLookup answers GET /v1/lookup. Unknown nodes and nodes in other states
// look alike: the path is open.
func (s *Server) getLookup(c *gin.Context) (int, any, error) {
	q := readQuery(c, "addresses", "node_uuid")
	id, macs := q.uuid("node_uuid"), []string{}
	for _, a := range q.list("addresses") {
		if mac, ok := normalMAC(a); ok {
			macs = append(macs, mac)
		}
	}
	switch {
	case q.err != nil:
		return 0, nil, q.err
	case id == "" && len(macs) == 0:
		return 0, nil, fault.New(fault.Invalid, "At least one of \"addresses\" and \"node_uuid\" parameters is required")
	}
	ctx := c.Request.Context()
	n, err := s.Store.NodeByPorts(ctx, id, macs)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return 0, nil, err
	}
	if err != nil || !slices.Contains(lookupStates, n.ProvisionState) {
		s.logger(c).Info("lookup refused", zap.String("node", id), zap.Strings("macs", macs))
		return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
	}
	answer, err := s.introduce(c, n, macs)
	return http.StatusOK, answer, err
}

// introduce tells an agent who it is and how to behave.
func (s *Server) introduce(c *gin.Context, n *node.Node, macs []string) (*agent.Lookup, error) {
	out := &agent.Lookup{Config: s.agentConfig()}
	if minor(c) >= 62 {
		token, err := s.revealToken(c.Request.Context(), n, agent.Source{MACs: macs, IP: c.RemoteIP()})
		if err != nil {
			return nil, err
		}
		out.Config.AgentToken = token
	}
	v := s.viewOf(c, n, nil)
	out.Node = agent.LookupNode{
		UUID: n.UUID, Properties: dict(n.Properties), InstanceInfo: v.instanceInfo(), DriverInternalInfo: v.internalInfo(),
	}
	for _, l := range links(s.publicURL(c), "nodes/"+n.UUID) {
		out.Node.Links = append(out.Node.Links, agent.Link{Href: l.Href, Rel: l.Rel})
	}
	return out, nil
}

// revealToken gives the agent's token in the clear to who may see it, else masked.
func (s *Server) revealToken(ctx context.Context, n *node.Node, from agent.Source) (string, error) {
	macs := slices.Clone(from.MACs)
	slices.Sort(macs)
	source := strings.Join(slices.Compact(macs), ",") + "@" + from.IP
	token, err := s.Store.AgentLookup(ctx, n.UUID, source, func(revealed int, same, seen bool) (bool, string) {
		r := agent.Reveals{Count: revealed, Closed: seen}
		if same {
			r.MACs, r.IP = slices.Compact(macs), from.IP
		}
		clear, _ := r.Ask(from)
		if clear && revealed == 0 {
			return true, agent.NewToken()
		}
		return clear, ""
	})
	if err == nil && token == "" {
		return agent.Masked, nil
	}
	return token, err
}

func (s *Server) agentConfig() agent.LookupConfig {
	return agent.LookupConfig{
		HeartbeatTimeout:   int(s.Agent.HeartbeatTimeout.Seconds()),
		AgentTokenRequired: true,
		MD5Enabled:         s.Images.AllowMD5,

		PermittedImageFormats: s.Agent.ImageFormats,
		BIOSBootloaderInstall: true,
		Metrics:               &agent.Metrics{Backend: "noop"},
		MetricsStatsd:         &agent.Statsd{Host: "localhost", Port: 8125},
	}
}
