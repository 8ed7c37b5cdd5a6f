package store

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

// nodeTable says of each column of nodes what becomes of it: who writes it, and whether
// lists can be sorted by it.
var nodeTable = newTable(
	number("id", func(n *node.Node) *int64 { return &n.ID }),
	text("uuid", func(n *node.Node) *string { return &n.UUID }).by(onCreate).sorted("n"),
	optionalText("name", func(n *node.Node) *string { return &n.Name }).by(onCreate|onPatch).sorted("n"),
	text("driver", func(n *node.Node) *string { return &n.Driver }).by(onCreate|onPatch).sorted("n"),
	other("interfaces", func(n *node.Node) *map[string]string { return &n.Interfaces }, func(n *node.Node, d *dicts) any {
		if n.Interfaces == nil {
			return d.of(map[string]string{})
		}
		return d.of(n.Interfaces)
	}).by(onCreate|onPatch),
	dictionary("driver_info", func(n *node.Node) *map[string]any { return &n.DriverInfo }).by(onCreate|onPatch),
	dictionary("driver_internal_info", func(n *node.Node) *map[string]any { return &n.DriverInternalInfo }).by(onCreate|onMove),
	dictionary("properties", func(n *node.Node) *map[string]any { return &n.Properties }).by(onCreate|onPatch),
	dictionary("extra", func(n *node.Node) *map[string]any { return &n.Extra }).by(onCreate|onPatch),
	dictionary("instance_info", func(n *node.Node) *map[string]any { return &n.InstanceInfo }).by(onCreate|onPatch|onMove),
	dictionary("network_data", func(n *node.Node) *map[string]any { return &n.NetworkData }).by(onCreate|onPatch),
	text("conductor_group", func(n *node.Node) *string { return &n.ConductorGroup }).by(onCreate|onPatch).sorted("n"),
	unread[node.Node]("need_id"), // a trigger writes it
	optionalText("resource_class", func(n *node.Node) *string { return &n.ResourceClass }).by(onCreate|onPatch).sorted("n"),
	optionalText("owner", func(n *node.Node) *string { return &n.Owner }).by(onCreate|onPatch).sorted("n"),
	optionalText("lessee", func(n *node.Node) *string { return &n.Lessee }).by(onCreate|onPatch|onMove).sorted("n"),
	optionalText("description", func(n *node.Node) *string { return &n.Description }).by(onCreate|onPatch).sorted("n"),
	optionalText("shard", func(n *node.Node) *string { return &n.Shard }).by(onCreate|onPatch).sorted("n"),
	optionalUUID("parent_node", func(n *node.Node) *string { return &n.ParentNode }).by(onCreate|onPatch).sorted("n"),
	optionalUUID("chassis_uuid", func(n *node.Node) *string { return &n.ChassisUUID }).by(onCreate|onPatch).sorted("n"),
	optionalUUID("instance_uuid", func(n *node.Node) *string { return &n.InstanceUUID }).by(onCreate|onPatch|onMove).sorted("n"),
	optionalText("instance_name", func(n *node.Node) *string { return &n.InstanceName }).by(onCreate|onPatch|onMove).sorted("n"),
	optionalUUID("allocation_uuid", func(n *node.Node) *string { return &n.AllocationUUID }).by(onMove).sorted("n"),
	text("provision_state", func(n *node.Node) *node.State { return &n.ProvisionState }).by(onCreate|onMove).sorted("n"),
	text("target_provision_state", func(n *node.Node) *node.State { return &n.TargetProvisionState }).by(onCreate|onMove).sorted("n"),
	optional("provision_updated_at", "'-infinity'", func(n *node.Node) **time.Time { return &n.ProvisionUpdatedAt }).by(onMove).sorted("n"),
	optionalText("last_error", func(n *node.Node) *string { return &n.LastError }).by(onCreate|onMove).sorted("n"),
	optionalText("power_state", func(n *node.Node) *node.PowerState { return &n.PowerState }).by(onMove).sorted("n"),
	optionalText("target_power_state", func(n *node.Node) *node.PowerState { return &n.TargetPowerState }).by(onMove).sorted("n"),
	unread[node.Node]("power_read_at"), // relationsSQL has when the power state was read last
	optionalText("boot_mode", func(n *node.Node) *string { return &n.BootMode }).by(onMove).sorted("n"),
	optional("secure_boot", "false", func(n *node.Node) **bool { return &n.SecureBoot }).sorted("n"),
	flag("console_enabled", func(n *node.Node) *bool { return &n.ConsoleEnabled }).sorted("n"), // EnableConsole writes it
	flag("maintenance", func(n *node.Node) *bool { return &n.Maintenance }).by(onCreate|onPatch|onMove).
		sortedAs("(n.maintenance OR "+quarantinedSQL+")"),
	optionalText("maintenance_reason", func(n *node.Node) *string { return &n.MaintenanceReason }).by(onCreate|onPatch|onMove).sorted("n"),
	flag("maintenance_by_fault", func(n *node.Node) *bool { return &n.MaintenanceByFault }).by(onMove),
	optional("maintenance_since", "", func(n *node.Node) **time.Time { return &n.MaintenanceSince }), // a trigger writes it
	optionalText("fault", func(n *node.Node) *string { return &n.Fault }).by(onCreate|onPatch|onMove).
		sortedAs("coalesce(n.fault, CASE WHEN "+quarantinedSQL+" THEN '"+node.FaultNoConductor+"' ELSE '' END)"),
	flag("protected", func(n *node.Node) *bool { return &n.Protected }).by(onCreate|onPatch).sorted("n"),
	optionalText("protected_reason", func(n *node.Node) *string { return &n.ProtectedReason }).by(onCreate|onPatch).sorted("n"),
	flag("retired", func(n *node.Node) *bool { return &n.Retired }).by(onCreate|onPatch).sorted("n"),
	optionalText("retired_reason", func(n *node.Node) *string { return &n.RetiredReason }).by(onCreate|onPatch).sorted("n"),
	optional("automated_clean", "false", func(n *node.Node) **bool { return &n.AutomatedClean }).by(onCreate|onPatch).sorted("n"),
	flag("disable_power_off", func(n *node.Node) *bool { return &n.DisablePowerOff }).by(onCreate|onPatch).sorted("n"),
	dictionary("raid_config", func(n *node.Node) *map[string]any { return &n.RAIDConfig }).by(onCreate|onPatch),
	dictionary("target_raid_config", func(n *node.Node) *map[string]any { return &n.TargetRAIDConfig }).by(onCreate|onPatch|onMove),
	other("traits", func(n *node.Node) *[]string { return &n.Traits }, func(n *node.Node, _ *dicts) any {
		return sortedTraits(n.Traits)
	}).by(onCreate),
	optional("inspection_started_at", "'-infinity'", func(n *node.Node) **time.Time { return &n.InspectionStartedAt }).by(onMove).sorted("n"),
	optional("inspection_finished_at", "'-infinity'", func(n *node.Node) **time.Time { return &n.InspectionFinishedAt }).by(onMove).sorted("n"),
	other("owed", func(n *node.Node) *[]node.Undo { return &n.Owed }, func(n *node.Node, d *dicts) any { return d.undo(n.Owed) }).by(onMove),
	unread[node.Node]("owed_tried_at"),
	unread[node.Node]("owed_tries"),
	optionalText("owed_error", func(n *node.Node) *string { return &n.OwedError }).by(onMove),
	flag("owed_refused", func(n *node.Node) *bool { return &n.OwedRefused }).by(onMove),
	optional("reached_since", "", func(n *node.Node) **time.Time { return &n.ReachedSince }),
	instant("created_at", func(n *node.Node) *time.Time { return &n.CreatedAt }).sorted("n"),
	optional("updated_at", "'-infinity'", func(n *node.Node) **time.Time { return &n.UpdatedAt }).sorted("n"),
	optional("prepared_since", "", func(n *node.Node) **time.Time { return &n.PreparedSince }),
)

// agentTable is read only: heartbeats and lookups write it, in agents.go.
var agentTable = newTable(
	number("node_id", func(a *agentRow) *int64 { return &a.nodeID }),
	text("url", func(a *agentRow) *string { return &a.URL }),
	text("version", func(a *agentRow) *string { return &a.Version }),
	text("verify_ca", func(a *agentRow) *string { return &a.VerifyCA }),
	optional("looked_up_at", "", func(a *agentRow) **time.Time { return &a.LookedUpAt }),
	optional("first_heartbeat_at", "", func(a *agentRow) **time.Time { return &a.FirstHeartbeatAt }),
	optional("last_heartbeat_at", "", func(a *agentRow) **time.Time { return &a.LastHeartbeatAt }),
	optional("inspected_at", "", func(a *agentRow) **time.Time { return &a.InspectedAt }),
	unread[agentRow]("inspected_source"),
	unread[agentRow]("token_revealed"),
	text("token_source", func(a *agentRow) *string { return &a.TokenSource }),
	text("refused_source", func(a *agentRow) *string { return &a.RefusedSource }),
	unread[agentRow]("refused_at"),
	optional("medium_read_since", "", func(a *agentRow) **time.Time { return &a.reads.Since }),
	optional("medium_read_at", "", func(a *agentRow) **time.Time { return &a.reads.At }),
	number("medium_read_bytes", func(a *agentRow) *int64 { return &a.reads.Bytes }),
)

// agentRow is a row of agents; nodeID 0 = an outer join found none.
type agentRow struct {
	node.Agent
	nodeID int64
	reads  node.MediumReads
}

// agent returns nil for an agent that has said nothing yet: its boot has begun.
func (a *agentRow) agent() *node.Agent {
	if a.nodeID == 0 || a.LookedUpAt == nil && a.FirstHeartbeatAt == nil && a.InspectedAt == nil {
		return nil
	}
	out := a.Agent
	return &out
}

// mediumRead returns nil for a medium that was not read.
func (a *agentRow) mediumRead() *node.MediumReads {
	if a.reads.At == nil {
		return nil
	}
	out := a.reads
	return &out
}

// nodeScan reads rows of a node: n.*, o.*, a.* of nodes, operations (all null = none is open) and
// agents, and, unless it is alone, relationsSQL. It finds the places of the columns with the first row.
type nodeScan struct {
	alone  bool
	listed *listedScan // nil = all JSON is decoded into the node
	node   node.Node
	open   operationRow
	agent  agentRow
	more   []any

	into         []any
	joined       [2]columns // of the operation and the agent
	intoOfJoined []any      // what into has at these
}

// columns are the columns from begin to before end; key is one that is never null in a row of their table.
type columns struct{ begin, end, key int }

// ScanRow makes a nodeScan a target of Scan (pgx.RowScanner). If a node has no open operation or no
// agent, it skips their columns, which are half of a row.
func (s *nodeScan) ScanRow(rows pgx.Rows) (err error) {
	if s.into == nil {
		if err := s.place(rows); err != nil {
			return err
		}
	}
	values := rows.RawValues()
	for _, j := range s.joined {
		if values[j.key] == nil {
			clear(s.into[j.begin:j.end])
		} else {
			copy(s.into[j.begin:j.end], s.intoOfJoined[j.begin:j.end])
		}
	}
	return rows.Scan(s.into...)
}

// place finds where the columns go.
func (s *nodeScan) place(rows pgx.Rows) error {
	sections := []section{nodeTable, operationTable, agentTable, nodeRelations}
	if s.alone {
		sections = sections[:3]
	}
	slots, err := layout(rows.FieldDescriptions(), len(s.more), sections...)
	if err != nil {
		return err
	}
	operationID, _ := operationTable.place("id")
	agentNode, _ := agentTable.place("node_id")
	s.joined = [2]columns{{begin: len(slots)}, {begin: len(slots)}}
	for i, at := range slots {
		s.into = append(s.into, s.target(at))
		if at.section != 1 && at.section != 2 {
			continue
		}
		j := &s.joined[at.section-1]
		j.begin, j.end = min(j.begin, i), i+1
		if at == (slot{1, operationID}) || at == (slot{2, agentNode}) {
			j.key = i
		}
	}
	s.intoOfJoined = slices.Clone(s.into)
	return nil
}

// target is where a column goes.
func (s *nodeScan) target(at slot) any {
	switch at.section {
	case 0:
		if s.listed != nil {
			if to := s.listed.target(nodeTable.name(at.column), &s.node); to != nil {
				return to
			}
		}
		return nodeTable.into(at.column, &s.node)
	case 1:
		return operationTable.into(at.column, &s.open)
	case 2:
		return agentTable.into(at.column, &s.agent)
	case 3:
		return nodeRelations.into(at.column, &s.node)
	}
	return s.more[at.column]
}

// eachNode returns a scan of rows of a node (nodeScan), which may have columns behind these.
func eachNode(more ...any) func(pgx.Row) (node.Node, error) {
	return eachScanned(&nodeScan{more: more})
}

// eachNodeAlone is eachNode for rows without relationsSQL. Its columns cost most of the time that PostgreSQL needs to plan the
// statement, and it plans it again in each connection whenever autovacuum has looked at one of the tables. The node has no
// AllocationOwner, AllocatedInMaintenance, RingOwner, Silence and PowerReadAt.
func eachNodeAlone() func(pgx.Row) (node.Node, error) { return eachScanned(&nodeScan{alone: true}) }

func eachScanned(s *nodeScan) func(pgx.Row) (node.Node, error) {
	return func(r pgx.Row) (node.Node, error) {
		s.node, s.open, s.agent = node.Node{}, operationRow{}, agentRow{}
		if err := r.Scan(s); err != nil {
			return node.Node{}, err
		}
		s.node.Operation, s.node.Agent, s.node.MediumRead = s.open.operation(), s.agent.agent(), s.agent.mediumRead()
		if s.node.MediumRead != nil {
			s.node.MediumRead.Network = s.node.BootsByNetwork()
		}
		return s.node, nil
	}
}

// scanNode is eachNode for one row.
func scanNode(r pgx.Row, more ...any) (node.Node, error) { return eachNode(more...)(r) }

// eachShownNode returns a scan of rows of a node (nodeScan), of its quarantine (quarantineRow) and of its health ("" = never read).
func eachShownNode() func(pgx.Row) (node.Node, error) {
	var q quarantineRow
	var health node.HealthStatus
	scan := eachNode(append(q.into(), &health)...)
	return func(r pgx.Row) (node.Node, error) {
		q = quarantineRow{}
		n, err := scan(r)
		n.Quarantine, n.Health = q.quarantine(), health
		return n, err
	}
}

// stateArgs are the parameters of updateStateSQL. Hardware may have written what these texts say.
func stateArgs(n *node.Node) (args, error) {
	a, err := nodeTable.args(n, onMove)
	if err != nil {
		return nil, err
	}
	a["last_error"] = failure(n.LastError)
	a["maintenance_reason"], a["owed_error"] = words(n.MaintenanceReason, maxError), words(n.OwedError, maxError)
	return a, nil
}
