package store

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// telling describes the events of a statement that writes rows, one event for each row. The statement writes the rows and the events
// together, so that neither is there without the other. In its SQL the rows are called r.
type telling struct {
	eventType string // SQL that returns the type
	of        string // the join that finds the node n of r; "" = the event is about no node
	data      string // the arguments of jsonb_build_object; what is null is left out
	where     string // which rows are told; "" = all
}

// The joins of telling.
const (
	ofNode     = " JOIN nodes n ON n.id = r.node_id"
	ofAnyNode  = " LEFT JOIN nodes n ON n.id = r.node_id"
	ofThatNode = " CROSS JOIN LATERAL (SELECT r.id, r.uuid, r.name, r.owner, r.lessee) n" // r is the node
)

// The columns of an event that say which node it is about, and what they are for the node n.
const (
	nodeColumns = "node_id, node_uuid, node_name, owner, lessee"
	nodeValues  = "n.id, n.uuid, coalesce(n.name, ''), n.owner, n.lessee"
)

// told returns the part of a WITH clause that writes the events of the rows r.
func (t telling) told() string { return "told AS (" + t.insert("r") + ")" }

// insert returns the INSERT of the events of the rows r of a table.
func (t telling) insert(table string) string {
	if table != "r" {
		table += " r"
	}
	columns, values := "type, data", fmt.Sprintf("%s, jsonb_strip_nulls(jsonb_build_object(%s))", t.eventType, t.data)
	if t.of != "" {
		columns, values = columns+", "+nodeColumns, values+", "+nodeValues
	}
	return "INSERT INTO events (" + columns + ") SELECT " + values + " FROM " + table + t.of + t.where
}

// with returns the beginning of a statement that carries out write, an INSERT, UPDATE or DELETE that returns whole rows, and tells of it.
func (t telling) with(write string) string { return "WITH r AS (" + write + "), " + t.told() }

// nodeUpdate completes an UPDATE of the row of one locked node, which has no RETURNING, so that the same statement writes the events
// of the change (lockedNode.queueUpdate). It returns these columns.
func nodeUpdate(update string, returning ...string) string {
	columns := strings.Join(append([]string{"id", "uuid", "name", "owner", "lessee"}, returning...), ", ")
	selected := ""
	for i, c := range returning {
		if i > 0 {
			selected += ","
		}
		selected += " r." + c
	}
	return "WITH r AS (" + update + " RETURNING " + columns + `),
told AS (
	INSERT INTO events (` + nodeColumns + `, type, operation_id, kind, cause, data)
	SELECT ` + nodeValues + `, t.type, nullif(@told_operation::bigint, 0), @told_kind, t.cause, t.data::jsonb
	  FROM r n, unnest(@told_types::text[], @told_causes::text[], @told_data::text[]) WITH ORDINALITY AS t (type, cause, data, nr) ORDER BY t.nr)
SELECT` + selected + " FROM r"
}

// queueUpdate queues a statement of nodeUpdate, and tells what has changed in l since its row was read or written last. fields are as in
// node.Tell.
func (l *lockedNode) queueUpdate(b *pgx.Batch, sql string, a args, fields ...string) (*pgx.QueuedQuery, error) {
	a["told_operation"], a["told_kind"] = int64(0), ""
	if o := l.Operation; o != nil {
		a["told_operation"], a["told_kind"] = o.ID, o.Kind
	}
	err := addTold(a, l.Tell(&l.was, fields))
	l.was = l.Snapshot()
	return b.Queue(sql, a), err
}

// operationTold returns the part of a WITH clause that writes the events of one operation (addOperationTold), whose row is x: node_id, node_uuid,
// node_name, kind, entries, and the state that clients see. Whoever writes the row adds @told_entries to its entries. last is a SELECT of one
// more event, with the columns of t.
func operationTold(last string) string {
	return `
told AS (
	INSERT INTO events (node_id, node_uuid, node_name, owner, lessee, operation_id, kind, type, cause, data, operation_seq, entry, event_type, state, target_state)
	SELECT x.node_id, x.node_uuid, x.node_name, n.owner, n.lessee, @id, x.kind, t.type, t.cause,
		CASE WHEN starts_with(t.type, 'operation.') THEN jsonb_build_object('state', x.state) ELSE '{}' END || t.data::jsonb,
		CASE WHEN t.number > 0 THEN x.entries - @told_entries + t.number ELSE 0 END, nullif(t.entry, '')::jsonb, t.event_type,
		coalesce(n.provision_state, ''), coalesce(n.target_provision_state, '')
	  FROM x LEFT JOIN nodes n ON n.id = x.node_id, (
		SELECT u.* FROM unnest(@told_types::text[], @told_causes::text[], @told_data::text[], @told_numbers::integer[], @told_lines::text[], @told_history::text[])
			WITH ORDINALITY AS u` + last + `) AS t (type, cause, data, number, entry, event_type, nr)
	 ORDER BY t.nr)`
}

// operationUpdate completes an UPDATE of one row o of operations, which has no RETURNING. It returns the row.
func operationUpdate(update string) string {
	return `
WITH w AS (` + update + ` RETURNING o.*),
x AS (SELECT * FROM w),` + operationTold("") + `
SELECT w.* FROM w`
}

// addTold adds the events that a statement writes to its arguments. Their texts may come from hardware, so they are masked and bounded as
// errors are.
func addTold(a args, told []node.Told) error {
	types, causes, data := []string{}, []fault.Code{}, []string{}
	var d dicts
	for _, e := range told {
		for field, v := range e.Data {
			if text, ok := v.(string); ok {
				e.Data[field] = failure(text)
			}
		}
		types, causes, data = append(types, e.Type), append(causes, e.Cause), append(data, string(d.dict(e.Data)))
	}
	a["told_types"], a["told_causes"], a["told_data"] = types, causes, data
	return d.err
}

// addOperationTold is addTold for the events of an operation (operationTold), which may be entries of its timeline, too.
func addOperationTold(a args, told []node.Told) error {
	numbers, lines, history := make([]int, len(told)), make([]string, len(told)), make([]string, len(told))
	var d dicts
	entries := 0
	for i, e := range told {
		if e.Entry == nil {
			continue
		}
		entry := *e.Entry
		entry.Words = words(mask.URLs(entry.Words), node.MaxNews)
		numbers[i], lines[i] = entry.Seq, string(d.of(entry))
		if entries++; entry.Historic() {
			history[i] = node.HistoryProgress
		}
	}
	a["told_entries"], a["told_numbers"], a["told_lines"], a["told_history"] = entries, numbers, lines, history
	return cmp.Or(d.err, addTold(a, told))
}

// ofType returns the SQL of a type. It has to be one of those that are documented.
func ofType(t string) string {
	if !events.IsType(t) {
		panic("store: " + t + " is no type of events")
	}
	return "'" + t + "'"
}
