package ironic

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/lldp"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// postInspection answers POST /v1/continue_inspection: what an agent found.
// Agents from before 1.84 ask without a version, so 1.1 is let in, too.
func (s *Server) postInspection(c *gin.Context) (int, any, error) {
	if m := format.Minor(c); m < 84 && m != format.MinMinor {
		return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
	}
	q := format.ReadQuery(c, "node_uuid")
	id := q.UUID("node_uuid")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	n, answer, err := s.takeInventory(c, id)
	switch {
	case fault.Is(err, fault.NotFound):
		s.refused.agent(askInventory, err)
		httpd.Logger(c).Info("inventory refused", zap.String("node", id), zap.String("from", c.RemoteIP()), zap.Error(err))
		return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
	case err != nil:
		s.refused.agent(askInventory, err)
		return 0, nil, err
	case n == nil: // a discovery
		return http.StatusAccepted, gin.H{}, nil
	}
	httpd.Logger(c).Info("inventory accepted", zap.String("node", n.UUID))
	return http.StatusAccepted, answer, nil
}

// takeInventory reads the inventory and keeps it for the node that waits for it. Where servers are discovered, it is kept also if there is
// no node; then the node is nil.
func (s *Server) takeInventory(c *gin.Context, id string) (*node.Node, any, error) {
	if err := s.awaited(c, id); err != nil {
		return nil, nil, err
	}
	var found agent.Inspection
	if err := format.ReadJSON(c, format.MaxBodyInspection, &found); err != nil {
		return nil, nil, err
	}
	if found.Inventory == nil && found.Error == "" {
		return nil, nil, fault.New(fault.Invalid, "Missing mandatory parameter: inventory")
	}
	n, macs, err := s.inspected(c, id, found)
	if fault.Is(err, fault.NotFound) && s.Discovery && id == "" {
		return nil, nil, s.discover(c, found, macs)
	}
	if err != nil {
		return nil, nil, err
	}
	// The token is read first: what follows may end the operation, and the token with it.
	var answer any = agent.InspectionAnswer{UUID: n.UUID}
	if format.Minor(c) >= 84 {
		if answer, err = s.introduce(c, n, macs); err != nil {
			return nil, nil, err
		}
	}
	inventory, plugin, err := inspectionData(found)
	if err != nil {
		return nil, nil, err
	}
	o, err := s.Store.PutInventory(c.Request.Context(), n.UUID, agentSource(macs, c.RemoteIP()), inventory, plugin)
	if err != nil {
		return nil, nil, err
	}
	if o != nil {
		s.Nudge(c, o)
	}
	return n, answer, nil
}

// awaited refuses an inventory that nobody waits for before it is read: the path
// is open, and its bodies are large.
func (s *Server) awaited(c *gin.Context, id string) error {
	if id != "" {
		_, err := s.awaiting(c, id, nil)
		return err
	}
	if s.Discovery {
		return nil
	}
	yes, err := s.Store.AnyInspection(c.Request.Context())
	if err == nil && !yes {
		err = fault.New(fault.NotFound, "no node is being inspected")
	}
	return err
}

// awaiting is the node of that uuid or those MACs, if it waits for an inventory.
func (s *Server) awaiting(c *gin.Context, id string, macs []string) (*node.Node, error) {
	n, err := s.Store.AgentNode(c.Request.Context(), id, macs)
	if err == nil && !n.AwaitsInventory() {
		err = fault.New(fault.NotFound, "node %s waits for no inventory", n.UUID)
	}
	return n, err
}

// inspected finds the node that an agent inspected: one that waits for its
// inventory, by its uuid or the MACs of the inventory.
func (s *Server) inspected(c *gin.Context, id string, found agent.Inspection) (*node.Node, []string, error) {
	macs := []string{}
	if found.Inventory != nil {
		macs = normalMACs(found.Inventory.MACs())
	}
	if id == "" && len(macs) == 0 {
		return nil, nil, fault.New(fault.Invalid, "The inventory has no MAC addresses, and no node_uuid was given")
	}
	n, err := s.awaiting(c, id, macs)
	return n, macs, err
}

// inspectionData is what is kept: the inventory as it was sent, and the plugin
// data without the ramdisk's logs, as in Ironic.
func inspectionData(found agent.Inspection) (inventory, plugin map[string]any, err error) {
	if found.RawInventory != nil {
		if err := jsonvalue.Unmarshal(found.RawInventory, &inventory); err != nil {
			return nil, nil, format.BadJSON(err)
		}
	}
	plugin = make(map[string]any, len(found.Plugin))
	for k, raw := range found.Plugin {
		if k == "logs" {
			continue
		}
		var v any
		if err := jsonvalue.Unmarshal(raw, &v); err != nil {
			return nil, nil, format.BadJSON(err)
		}
		plugin[k] = v
	}
	if parsed := parsedLLDP(plugin["lldp_raw"]); plugin["parsed_lldp"] == nil && parsed != nil {
		plugin["parsed_lldp"] = parsed
	}
	if found.Error != "" {
		plugin["error"] = found.Error
	}
	return inventory, plugin, nil
}

// maxLLDP bounds of how many interfaces the neighbours are described.
const maxLLDP = 256

// parsedLLDP returns what lldp_raw says of each interface, as Ironic's hook parse-lldp does; nil = nothing.
func parsedLLDP(raw any) map[string]any {
	all, _ := raw.(map[string]any)
	var out map[string]any
	for name, pieces := range all {
		if said := lldp.Describe(lldp.Read(pieces)); len(said) > 0 && len(out) < maxLLDP {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = said
		}
	}
	return out
}
