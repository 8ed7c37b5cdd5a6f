package ironic

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
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
	q := format.ReadQuery(c, "addresses", "node_uuid")
	id, macs := q.UUID("node_uuid"), normalMACs(q.List("addresses"))
	switch {
	case q.Err != nil:
		return 0, nil, q.Err
	case id == "" && len(macs) == 0:
		return 0, nil, fault.New(fault.Invalid, "At least one of \"addresses\" and \"node_uuid\" parameters is required")
	}
	ctx := c.Request.Context()
	n, err := s.Store.AgentNode(ctx, id, macs)
	if err == nil && !slices.Contains(lookupStates, n.ProvisionState) {
		err = fault.New(fault.NotFound, "node %s is %s", n.UUID, n.ProvisionState)
	}
	if err != nil {
		s.refused.agent(askLookup, err)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		httpd.Logger(c).Info("lookup refused", zap.String("node", id), zap.Strings("macs", macs[:min(len(macs), 8)]), zap.String("from", c.RemoteIP()), zap.Error(err))
		return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
	case err != nil:
		return 0, nil, err
	}
	answer, err := s.introduce(c, n, macs)
	return http.StatusOK, answer, err
}

// introduce tells an agent who it is and how to behave.
func (s *Server) introduce(c *gin.Context, n *node.Node, macs []string) (*agent.Lookup, error) {
	out := &agent.Lookup{Config: s.agentConfig()}
	if format.Minor(c) >= 62 {
		token, err := s.revealToken(c, n, agent.Source{MACs: macs, IP: c.RemoteIP()})
		if err != nil {
			return nil, err
		}
		out.Config.AgentToken = token
	}
	out.Node = withoutLogin(n)
	for _, l := range format.Links(format.PublicURL(c), "nodes/"+n.UUID) {
		out.Node.Links = append(out.Node.Links, agent.Link{Href: l.Href, Rel: l.Rel})
	}
	return out, nil
}

// withoutLogin returns what an agent needs of a node: root device hints, capabilities
// and what drivers wrote for it. A lookup needs no login. So secrets in URLs are
// masked, and what views add about the node's operations is left out.
func withoutLogin(n *node.Node) agent.LookupNode {
	return agent.LookupNode{
		UUID: n.UUID, Properties: mask.Dict(n.Properties), InstanceInfo: mask.Dict(withoutImage(n.InstanceInfo)), DriverInternalInfo: mask.Dict(n.DriverInternalInfo),
	}
}

// maxMACs bounds how many MACs of an agent are used to find its node.
const maxMACs = 512

// normalMACs returns the valid addresses in normal form, sorted and without duplicates.
func normalMACs(said []string) []string {
	macs := []string{}
	for _, a := range said {
		if mac, ok := normalMAC(a); ok && len(macs) < 2*maxMACs {
			macs = append(macs, mac)
		}
	}
	slices.Sort(macs)
	macs = slices.Compact(macs)
	return macs[:min(len(macs), maxMACs)]
}

// agentSource identifies an agent for comparisons by its sorted MACs and its address,
// or by their digest if they are long.
func agentSource(macs []string, ip string) string {
	source := strings.Join(macs, ",") + "@" + ip
	if len(source) <= 1024 {
		return source
	}
	sum := sha256.Sum256([]byte(source))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// revealToken gives the agent's token in the clear to who may see it, else masked.
func (s *Server) revealToken(c *gin.Context, n *node.Node, from agent.Source) (string, error) {
	source, taken := agentSource(from.MACs, from.IP), false
	token, err := s.Store.AgentLookup(c.Request.Context(), n.UUID, source, func(revealed int, same, closed bool) (bool, string) {
		r := agent.TokenReveals{Count: revealed, Closed: closed}
		taken = revealed > 0 && !same && !closed
		if same {
			r.MACs, r.IP = from.MACs, from.IP
		}
		clear, _ := r.Reveal(from)
		if clear && revealed == 0 {
			return true, agent.NewToken()
		}
		return clear, ""
	})
	if err == nil && taken {
		s.refused.agents.WithLabelValues(askToken).Inc()
		httpd.Logger(c).Warn("a lookup was refused the agent's token: another machine had looked itself up as this node before", zap.String("node", n.UUID), zap.String("from", source))
	}
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
