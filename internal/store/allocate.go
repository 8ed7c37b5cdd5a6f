package store

import (
	"cmp"
	"context"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

// pickSQL locks a node that the allocation may get. A node with the name of the allocation is
// preferred. Otherwise the search begins at a random id, so that allocations that are made at the
// same time do not compete for one node, and a node on which every deploy fails is not given again
// and again. Rows that other transactions have locked are skipped.
var pickSQL = `
ends AS (SELECT min(n.id) AS low, max(n.id) AS high FROM nodes n
	WHERE n.provision_state = 'available' AND n.instance_uuid IS NULL AND NOT n.retired AND n.resource_class = @class),
start AS MATERIALIZED (SELECT (low + random() * (high - low))::bigint AS id FROM ends),
named AS MATERIALIZED (SELECT n.id FROM nodes n WHERE n.name = @name
	AND ` + offeredSQL + ` FOR NO KEY UPDATE OF n),
above AS MATERIALIZED (SELECT n.id FROM nodes n WHERE NOT EXISTS (SELECT FROM named) AND n.id >= (SELECT id FROM start)
	AND ` + offeredSQL + ` ORDER BY n.id LIMIT 1 FOR NO KEY UPDATE OF n SKIP LOCKED),
below AS MATERIALIZED (SELECT n.id FROM nodes n WHERE NOT EXISTS (SELECT FROM named) AND NOT EXISTS (SELECT FROM above)
	AND n.id < (SELECT id FROM start)
	AND ` + offeredSQL + ` ORDER BY n.id LIMIT 1 FOR NO KEY UPDATE OF n SKIP LOCKED),
pick AS (SELECT id FROM named UNION ALL SELECT id FROM above UNION ALL SELECT id FROM below)`

// pickAmongSQL is pickSQL for an allocation that names its candidates.
var pickAmongSQL = `
named AS MATERIALIZED (SELECT n.id FROM nodes n WHERE n.name = @name AND n.uuid = ANY(@candidates::uuid[])
	AND ` + offeredSQL + ` FOR NO KEY UPDATE OF n),
among AS MATERIALIZED (SELECT n.id FROM nodes n WHERE NOT EXISTS (SELECT FROM named) AND n.uuid = ANY(@candidates::uuid[])
	AND ` + offeredSQL + ` ORDER BY random() LIMIT 1 FOR NO KEY UPDATE OF n SKIP LOCKED),
pick AS (SELECT id FROM named UNION ALL SELECT id FROM among)`

// The patient statements wait for rows that other transactions have locked, and check each of them
// again when it is free. Without them an allocation would fail because somebody was just changing
// the only node that fits. They lock rows in one order, so that they do not wait for each other in a
// circle.
var (
	pickPatientlySQL = `
pick AS MATERIALIZED (SELECT n.id FROM nodes n WHERE ` + offeredSQL + `
	ORDER BY n.id LIMIT 1 FOR NO KEY UPDATE OF n)`
	pickAmongPatientlySQL = `
pick AS MATERIALIZED (SELECT n.id FROM nodes n WHERE n.uuid = ANY(@candidates::uuid[]) AND ` + offeredSQL + `
	ORDER BY n.id LIMIT 1 FOR NO KEY UPDATE OF n)`
)

// giveSQL returns the statement that writes the instance into the node that pick locks.
func giveSQL(pick string) string {
	return `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout)),` + pick + `,
r AS (UPDATE nodes n SET instance_uuid = @uuid, allocation_uuid = @uuid, updated_at = clock_timestamp(),
	instance_info = n.instance_info || jsonb_build_object('traits', to_jsonb(@asked::text[]))
  FROM pick WHERE n.id = pick.id
RETURNING n.id, n.uuid, n.name, n.owner, n.lessee),
` + telling{eventType: ofType("baremetal.node.update.end"), of: ofThatNode, data: "'changed', ARRAY['instance_info', 'instance_uuid']"}.told() + `
SELECT r.id, r.uuid::text FROM r`
}

var (
	giveQuicklySQL        = giveSQL(pickSQL)
	giveAmongSQL          = giveSQL(pickAmongSQL)
	givePatientlySQL      = giveSQL(pickPatientlySQL)
	giveAmongPatientlySQL = giveSQL(pickAmongPatientlySQL)
)

var insertAllocationSQL = allocationTold("create", "").with(`
INSERT INTO allocations (`+allocationTable.names(onCreate)+`)
VALUES (`+allocationTable.values(onCreate)+`) RETURNING *`) + ` SELECT r.id, r.created_at FROM r`

var activeAllocationSQL = allocationTold("update", "").with(`UPDATE allocations SET state = 'active', node_id = @node WHERE uuid = @uuid RETURNING *`) + ` SELECT FROM r`

const (
	// heldMeanwhileSQL reports whether the node that was picked has an open operation. A statement that has waited for the
	// node's row saw the operations as they were before it waited, so it may have missed one. This statement begins when the row
	// is locked, and misses none.
	heldMeanwhileSQL = `
SELECT EXISTS (SELECT FROM nodes n JOIN operations o ON o.node_id = n.id AND o.ended_at IS NULL WHERE n.instance_uuid = @uuid)`
)

var (
	refusedInClassSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT why, count(*), coalesce(min(r.uuid::text) FILTER (WHERE why = '` + freeAgain + `'), '') FROM (SELECT n.uuid, ` + refusedSQL + ` AS why FROM nodes n WHERE n.resource_class = @class AND (@all OR n.owner = ANY (@view_owners) OR n.lessee = ANY (@view_lessees))) r
 GROUP BY why ORDER BY count(*) DESC, why`
	refusedAmongSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT why, count(*), coalesce(min(r.uuid::text) FILTER (WHERE why = '` + freeAgain + `'), '') FROM (SELECT n.uuid, ` + refusedSQL + ` AS why FROM nodes n WHERE n.uuid = ANY(@candidates::uuid[])) r
 GROUP BY why ORDER BY count(*) DESC, why`
)

// The next two select the operations that hold nodes which the allocation could get if they were free.
var (
	heldInClassSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT o.* FROM operations o JOIN nodes n ON n.id = o.node_id WHERE o.ended_at IS NULL AND ` + offeredOrHeldSQL + `
 ORDER BY o.id LIMIT 100`
	heldAmongSQL = `
WITH coverage AS MATERIALIZED (SELECT * FROM coverage(@timeout))
SELECT o.* FROM operations o JOIN nodes n ON n.id = o.node_id WHERE o.ended_at IS NULL AND n.uuid = ANY(@candidates::uuid[]) AND ` + offeredOrHeldSQL + `
 ORDER BY o.id LIMIT 100`
)

// Allocate gives the allocation a a node that fits it. If none fits, it records why: State is error
// then, and LastError gives the reasons. Allocate sets ID, State, LastError, NodeUUID and
// CreatedAt, and UUID if that is empty. It returns fault.Conflict if the uuid or the name is taken,
// and node.HeldBriefly if the search is patient and a node would fit whose operation ends soon.
// If it returns an error, it has written nothing.
func (s *Store) Allocate(ctx context.Context, a *node.Allocation, search node.AllocationSearch, user string) error {
	if a.UUID == "" {
		a.UUID = uuid.NewString()
	}
	w := giving{store: s, a: a, user: user, patient: search.Patient, offer: s.offerArgs(a, search.Dedicated), only: search.Only}
	given := args{"uuid": a.UUID, "asked": sortedTraits(a.Traits)}
	quick, patient := giveQuicklySQL, givePatientlySQL
	if len(a.CandidateNodes) > 0 {
		quick, patient = giveAmongSQL, giveAmongPatientlySQL
		given["candidates"] = a.CandidateNodes
	}
	patiently := w.with(given)
	given["name"] = a.Name
	if err := w.give(ctx, quick, w.with(given)); err != nil || a.State == node.Allocated {
		return err
	}
	if err := w.give(ctx, patient, patiently); err != nil || a.State == node.Allocated {
		return err
	}
	if w.held { // an operation has taken the node that it waited for; another node may fit
		if err := w.give(ctx, patient, patiently); err != nil || a.State == node.Allocated {
			return err
		}
	}
	return w.fail(ctx)
}

// offerArgs returns the parameters that say which nodes are offered to a.
func (s *Store) offerArgs(a *node.Allocation, dedicated bool) args {
	names := len(a.CandidateNodes) > 0
	return args{
		"class": a.ResourceClass, "owner": a.Owner, "traits": a.NodeTraits(), "maintained": a.AsksMaintenance(),
		"in_maintenance_too": a.AsksMaintenance() && names, "dedicated": dedicated && !names, "timeout": micros(s.conductorTimeout), "withhold": s.withhold,
	}
}

// giving is an allocation that is being made.
type giving struct {
	store *Store
	a     *node.Allocation
	user  string
	offer args
	// patient: nothing is recorded while a node would fit whose operation ends soon.
	patient bool
	only    *node.View
	held    bool // the last try has found a node that an operation holds by now
}

// with returns the parameters of the offer and more.
func (w *giving) with(more args) args {
	out := maps.Clone(w.offer)
	maps.Copy(out, more)
	return out
}

// give tries once to find a node. It writes the allocation before it locks a node: if another
// transaction is writing an allocation of the same uuid or name, give waits for that, and must not
// keep a node locked meanwhile.
func (w *giving) give(ctx context.Context, sql string, given args) error {
	row, err := allocationArgs(w.a, node.Allocating)
	if err != nil {
		return err
	}
	var nodeID int64
	var found bool
	return w.store.inTx(ctx, "allocate a node to "+w.a.UUID, func(b *pgx.Batch) {
		b.Queue(insertAllocationSQL, row).QueryRow(func(r pgx.Row) error { return r.Scan(&w.a.ID, &w.a.CreatedAt) })
		b.Queue(sql, given).QueryRow(maybe(&found, func(r pgx.Row) error { return r.Scan(&nodeID, &w.a.NodeUUID) }))
		b.Queue(heldMeanwhileSQL, args{"uuid": w.a.UUID}).QueryRow(func(r pgx.Row) error { return r.Scan(&w.held) })
	}, func(b *pgx.Batch) error {
		if w.held {
			w.a.NodeUUID = ""
		}
		if !found || w.held {
			return errLeave
		}
		w.a.State = node.Allocated
		audit.Of(ctx).OnNode(w.a.NodeUUID, "")
		b.Queue(activeAllocationSQL, args{"uuid": w.a.UUID, "node": nodeID})
		b.Queue(recordSQL, args{"uuid": w.a.UUID, "node": nodeID})
		queueHistory(b, nodeID, allocatedEvent(w.a, w.user))
		return nil
	})
}

func allocatedEvent(a *node.Allocation, user string) node.HistoryEvent {
	return node.HistoryEvent{Event: "allocated to " + a.UUID, EventType: node.HistoryState, User: user}
}

// fail records that no node fits, and why. It counts the reasons over the nodes of the resource
// class, or over the candidates that the allocation names.
func (w *giving) fail(ctx context.Context) error {
	sql, held, a, of := refusedInClassSQL, heldInClassSQL, w.offer, withView(w.offer, w.only)
	if len(w.a.CandidateNodes) > 0 {
		sql, held, a = refusedAmongSQL, heldAmongSQL, w.with(args{"candidates": w.a.CandidateNodes})
		of = a // whoever named them sees them
	}
	var counts []node.Refused
	var holding []node.Operation
	var free string // a node that became free after the searches: its operation was not seen as open above
	return w.store.inTx(ctx, "record a failed allocation", func(b *pgx.Batch) {
		if w.patient {
			b.Queue(held, a).Query(collect(&holding, eachOperation()))
		}
		b.Queue(sql, of).Query(func(rows pgx.Rows) (err error) {
			counts, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (c node.Refused, err error) {
				var one string
				err = r.Scan(&c.Why, &c.Count, &one)
				free = cmp.Or(free, one)
				return c, err
			})
			return err
		})
	}, func(b *pgx.Batch) error {
		if w.patient {
			if err := briefHolder(holding, free); err != nil {
				return err
			}
		}
		w.a.State, w.a.LastError = node.AllocError, node.AllocationFailed(w.a, counts)
		row, err := allocationArgs(w.a, node.AllocError)
		if err != nil {
			return err
		}
		b.Queue(insertAllocationSQL, row).QueryRow(func(r pgx.Row) error { return r.Scan(&w.a.ID, &w.a.CreatedAt) })
		return nil
	})
}

// briefHolder returns the error that has an allocation wait for a node; nil if none is worth it. free is a node that is free by
// now, "" = none.
func briefHolder(holding []node.Operation, free string) error {
	wait := func(uuid, holder string) error {
		return &node.HeldBriefly{UUID: uuid, Refusal: node.Locked(&node.Node{UUID: uuid}, holder), Record: true}
	}
	if free != "" {
		return wait(free, "another request")
	}
	for i := range holding {
		if holding[i].EndsSoon() {
			return wait(holding[i].NodeUUID, node.OperationHolder(holding[i].ID))
		}
	}
	return nil
}

func allocationArgs(a *node.Allocation, state node.AllocationState) (args, error) {
	out, err := allocationTable.args(a, onCreate)
	if err != nil {
		return nil, err
	}
	out["state"], out["last_error"] = state, failure(a.LastError)
	return out, nil
}
