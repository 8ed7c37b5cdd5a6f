package ironic

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/node"
)

// updateRules are the rules of the fields of a node that have one of their own (Ironic api/controllers/v1/node.py,
// _authorize_patch_and_get_node). Interfaces have access.NodeUpdateInterfaces, and all other fields access.NodeUpdate.
var updateRules = map[string]*access.Rule{
	"instance_info": access.NodeUpdateInstanceInfo, "extra": access.NodeUpdateExtra, "driver_info": access.NodeUpdateDriverInfo,
	"properties": access.NodeUpdateProperties, "chassis_uuid": access.NodeUpdateChassis, "instance_uuid": access.NodeUpdateInstance,
	"lessee": access.NodeUpdateLessee, "owner": access.NodeUpdateOwner, "driver": access.NodeUpdateInterfaces,
	"network_data": access.NodeUpdateNetworkData, "conductor_group": access.NodeUpdateGroup, "name": access.NodeUpdateName,
	"retired": access.NodeUpdateRetired, "retired_reason": access.NodeUpdateRetired, "shard": access.NodeUpdateShard,
	"parent_node": access.NodeUpdateParent,
}

// rules are those that must allow the patch, in the order of its fields.
func (p *nodePatch) rules() (out []*access.Rule) {
	for _, op := range p.ops {
		root, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
		r, own := updateRules[root]
		switch {
		case own:
		case root == "automated_clean" && disables(op.Value):
			r = access.NodeDisableCleaning
		case strings.HasSuffix(root, "_interface"):
			r = access.NodeUpdateInterfaces
		default:
			r = access.NodeUpdate
		}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// disables reports whether a value is one of those that stand for false.
func disables(v any) bool {
	on, err := format.AsBool("automated_clean", v)
	return err == nil && !on
}

// permitted refuses a patch of fields that the client may not change.
func (p *nodePatch) permitted(c *gin.Context) error {
	for _, r := range p.rules() {
		if err := httpd.PermitTarget(c, r); err != nil {
			return err
		}
	}
	p.ownsProvisioned = access.NodeUpdateOwnerProvisioned.AllowsAll(httpd.IdentityOf(c))
	return nil
}

// permitMove refuses to put what belongs to one node below another that the client does not see, or below which it may not create such a
// thing.
func (s *Server) permitMove(c *gin.Context, from, to string, create *access.Rule) error {
	if from == to {
		return nil
	}
	_, err := s.VisibleFor(c, to, create)
	return format.NotFoundIsInvalid(err)
}

// sight is which fields of a node a client may read, of those that whoever sees the node may not (Ironic api/controllers/v1/node.py,
// node_sanitize). They tell of conductors and of the network of the BMCs.
type sight struct {
	lastError, reservation, internalInfo, driverInfo bool
}

// everything is the sight of those who may read all fields.
var everything = sight{true, true, true, true}

func sightOf(c *gin.Context, n *node.Node) sight {
	id, of := httpd.IdentityOf(c), n.Owners()
	if access.NodeGetAll.AllowsAll(id) {
		return everything
	}
	return sight{
		access.NodeGetLastError.Allows(id, of), access.NodeGetReservation.Allows(id, of),
		access.NodeGetInternalInfo.Allows(id, of), access.NodeGetDriverInfo.Allows(id, of),
	}
}

// Ironic's words in the place of a field that the client may not read; format.NoLastError are those of last_error.
const (
	noReservation  = "** Redacted - requires baremetal:node:get:reservation permission. **"
	noInternalInfo = "** Redacted - Requires baremetal:node:get:driver_internal_info permission. **"
	noDriverInfo   = "** Redacted - requires baremetal:node:get:driver_info permission. **"
)

// redacted is value, or the words where the client may not read it.
func redacted(may bool, words string, value any) any {
	if may {
		return value
	}
	return words
}

// redactedDict is redacted for a dictionary.
func redactedDict(may bool, words string, value any) any {
	if may {
		return value
	}
	return map[string]any{"content": words}
}
