package store

import (
	"strings"
	"time"

	"go.temper.dev/temper/internal/node"
)

// relation is a column that says what another table has about the node n of a statement. A list joins that table. A statement of one node
// looks the value up instead, because PostgreSQL needs more time to start that many joins than to look up one row.
type relation struct {
	column string
	value  string // an expression of the row
	none   string // the value if there is no row
	from   string // the table
	on     string // its row of n
}

// powerRead is when the power state was read last. power_read_at of the node's row is when the state was written last.
var powerRead = relation{"power_read_at", "pr.read_at", "n.power_read_at", "power_readings pr", "pr.node_id = n.id AND pr.written_at = n.power_read_at"}

// relations are the owner of the node's allocation, whether the allocation asked for a node in maintenance, the conductor that owns the node by
// the ring, the silence of its BMC (node.BMCSilence), and powerRead.
var relations = []relation{
	{"allocation_owner", "al.owner", "''", "allocations al", "al.node_id = n.id AND n.allocation_uuid IS NOT NULL"},
	{"allocated_in_maintenance", "'CUSTOM_MAINTENANCE' = ANY (al.traits)", "false", "allocations al", "al.node_id = n.id AND n.allocation_uuid IS NOT NULL"},
	{"ring_owner", "rc.hostname", "NULL", "ring_owners ro LEFT JOIN conductors rc ON rc.id = ro.conductor_id", "ro.node_id = n.id"},
	{"bmc_silence", "CASE WHEN bs.node_id IS NOT NULL THEN to_jsonb(bs) END", "NULL", "bmc_silences bs", "bs.node_id = n.id"},
	powerRead,
}

// nodeRelations reads the columns of relations.
var nodeRelations = newTable(
	text("allocation_owner", func(n *node.Node) *string { return &n.AllocationOwner }),
	flag("allocated_in_maintenance", func(n *node.Node) *bool { return &n.AllocatedInMaintenance }),
	text("ring_owner", func(n *node.Node) *string { return &n.RingOwner }),
	optional("bmc_silence", "", func(n *node.Node) **node.BMCSilence { return &n.Silence }),
	optional("power_read_at", "", func(n *node.Node) **time.Time { return &n.PowerReadAt }),
)

// relationsSQL has the columns of relations for a statement of one node or a few, and joinedRelationsSQL for a list, which has joinRelationsSQL.
var (
	relationsSQL, joinedRelationsSQL = func() (one, list string) {
		var ones, lists []string
		for _, r := range relations {
			ones, lists = append(ones, r.lookedUp()), append(lists, r.joined())
		}
		return strings.Join(ones, ", "), strings.Join(lists, ", ")
	}()
	joinRelationsSQL = func() (joins string) {
		for i, r := range relations {
			if i == 0 || r.from != relations[i-1].from {
				joins += r.join()
			}
		}
		return joins
	}()
)

func (r relation) lookedUp() string {
	return "coalesce((SELECT " + r.value + " FROM " + r.from + " WHERE " + r.on + "), " + r.none + ") AS " + r.column
}

func (r relation) joined() string { return "coalesce(" + r.value + ", " + r.none + ") AS " + r.column }

func (r relation) join() string { return "\n  LEFT JOIN " + r.from + " ON " + r.on }
