package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// postInspection answers POST /v1/continue_inspection: what an agent found.
// Agents from before 1.84 ask without a version, so 1.1 is let in, too.
func (s *Server) postInspection(c *gin.Context) (int, any, error) {
	if m := minor(c); m < 84 && m != MinMinor {
		return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
	}
	q := readQuery(c, "node_uuid")
	id := q.uuid("node_uuid")
	if q.err != nil {
		return 0, nil, q.err
	}
	var found agent.Inspection
	if err := readJSON(c, maxBodyInspection, &found); err != nil {
		return 0, nil, err
	}
	if found.Inventory == nil && found.Error == "" {
		return 0, nil, fault.New(fault.Invalid, "Missing mandatory parameter: inventory")
	}
	n, macs, err := s.inspected(c, id, found)
	if err != nil {
		return 0, nil, err
	}
	// The token is told first: what follows may end the operation, and it with it.
	var answer any = agent.InspectionAnswer{UUID: n.UUID}
	if minor(c) >= 84 {
		if answer, err = s.introduce(c, n, macs); err != nil {
			return 0, nil, err
		}
	}
	inventory, plugin, err := inspectionData(found)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.PutInventory(c.Request.Context(), n.UUID, inventory, plugin)
	if err != nil {
		return 0, nil, err
	}
	s.logger(c).Info("inspection data came in", zap.String("node", n.UUID))
	if o != nil {
		s.nudged(c, o)
	}
	return http.StatusAccepted, answer, nil
}

// inspected finds the node that an agent inspected: one that is being
// inspected, by its uuid or the MACs of the inventory.
func (s *Server) inspected(c *gin.Context, id string, found agent.Inspection) (*node.Node, []string, error) {
	macs := []string{}
	if found.Inventory != nil {
		for _, m := range found.Inventory.MACs() {
			if mac, ok := normalMAC(m); ok && !slices.Contains(macs, mac) {
				macs = append(macs, mac)
			}
		}
	}
	if id == "" && len(macs) == 0 {
		return nil, nil, fault.New(fault.Invalid, "The inventory has no MAC addresses, and no node_uuid was given")
	}
	n, err := s.Store.NodeByPorts(c.Request.Context(), id, macs)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, nil, err
	}
	if err != nil || n.ProvisionState != node.InspectWait && n.ProvisionState != node.Inspecting {
		s.logger(c).Info("inspection data refused", zap.String("node", id), zap.Strings("macs", macs))
		return nil, nil, fault.New(fault.NotFound, "Resource could not be found.")
	}
	return n, macs, nil
}

// inspectionData is what is kept: the inventory as it was sent, and the plugin
// data without the ramdisk's logs, as in Ironic.
func inspectionData(found agent.Inspection) (inventory, plugin map[string]any, err error) {
	if found.RawInventory != nil {
		if err := json.Unmarshal(found.RawInventory, &inventory); err != nil {
			return nil, nil, badJSON(err)
		}
	}
	plugin = make(map[string]any, len(found.Plugin))
	for k, raw := range found.Plugin {
		if k == "logs" {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, nil, badJSON(err)
		}
		plugin[k] = v
	}
	if found.Error != "" {
		plugin["error"] = found.Error
	}
	inventory, _ = withoutNUL(inventory).(map[string]any)
	plugin, _ = withoutNUL(plugin).(map[string]any)
	return inventory, plugin, nil
}

// withoutNUL drops what PostgreSQL can't store: firmware tables are full of it,
// and an inventory is not refused for that.
func withoutNUL(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "")
	case []any:
		for i := range v {
			v[i] = withoutNUL(v[i])
		}
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, one := range v {
			out[strings.ReplaceAll(k, "\x00", "")] = withoutNUL(one)
		}
		return out
	}
	return v
}
