package store

import (
	"time"

	"go.temper.dev/temper/internal/node"
)

// What other tables say about the node n of a statement, as columns and as the joins that these need.
const (
	// relationsSQL are the columns of nodeRelations: the owner of the node's allocation, whether the allocation asked for a node in
	// maintenance, the conductor that owns the node by the ring, the silence of its BMC (node.BMCSilence), and powerReadSQL.
	relationsSQL = `coalesce(al.owner, '') AS allocation_owner, coalesce('CUSTOM_MAINTENANCE' = ANY (al.traits), false) AS allocated_in_maintenance,
	rc.hostname AS ring_owner, CASE WHEN bs.node_id IS NOT NULL THEN to_jsonb(bs) END AS bmc_silence, ` + powerReadSQL
	relationsJoin = `
  LEFT JOIN allocations al ON al.node_id = n.id AND n.allocation_uuid IS NOT NULL
  LEFT JOIN ring_owners ro ON ro.node_id = n.id LEFT JOIN conductors rc ON rc.id = ro.conductor_id
  LEFT JOIN bmc_silences bs ON bs.node_id = n.id` + powerReadJoin

	// powerReadSQL is when the power state was read last. power_read_at of the node's row is when the state was written last.
	powerReadSQL  = `coalesce(pr.read_at, n.power_read_at) AS power_read_at`
	powerReadJoin = `
  LEFT JOIN power_readings pr ON pr.node_id = n.id AND pr.written_at = n.power_read_at`
)

// nodeRelations reads relationsSQL.
var nodeRelations = newTable(
	text("allocation_owner", func(n *node.Node) *string { return &n.AllocationOwner }),
	flag("allocated_in_maintenance", func(n *node.Node) *bool { return &n.AllocatedInMaintenance }),
	text("ring_owner", func(n *node.Node) *string { return &n.RingOwner }),
	optional("bmc_silence", "", func(n *node.Node) **node.BMCSilence { return &n.Silence }),
	optional("power_read_at", "", func(n *node.Node) **time.Time { return &n.PowerReadAt }),
)
