package store

import "go.temper.dev/temper/internal/node"

// troubleSQL is the part of a WITH clause that has the nodes in trouble: those that need a person for another reason than that no
// conductor covers them. Each is there once, with its worst reason (node.Reasons; the worst has the lowest rank) and its cause, a code of
// package fault; null = that of its last_failure(). Nodes that a person has put into maintenance are left out, because somebody looks after
// them. troubleArgs has its arguments.
//
// Without Temporal nothing goes on, so that only what was late at the last contact with it is late.
const troubleSQL = `last_contact AS MATERIALIZED (
	SELECT CASE WHEN v.contact_at < clock_timestamp() - witness_gap(@timeout) THEN v.contact_at ELSE clock_timestamp() END AS now FROM witness v),
of_operations AS (
	SELECT o.node_id, 1 AS rank, 'held' AS reason, o.cause, o.id AS operation_id,
		(SELECT max((s.step ->> 'ended_at')::timestamptz) FROM jsonb_array_elements(o.steps) AS s (step) WHERE s.step ->> 'state' = 'failed') AS since
	  FROM operations o WHERE o.ended_at IS NULL AND o.phase = 'holding'
	UNION ALL
	SELECT o.node_id, 3, 'late', CASE WHEN o.late_cause_at < v.now THEN o.late_cause ELSE '' END, o.id,
		coalesce(CASE WHEN o.late_cause_at < v.now THEN o.late_since END, o.late_at)
	  FROM operations o CROSS JOIN last_contact v WHERE o.ended_at IS NULL AND o.late_at < v.now
	UNION ALL
	SELECT o.node_id, 6, 'power', o.cause, o.id, o.ended_at
	  FROM operations o WHERE o.kind = 'power' AND o.outcome = 'failed' AND o.node_id IS NOT NULL
	   AND o.ended_at > clock_timestamp() - @power_failure_told::bigint * interval '1 microsecond'
	   AND NOT EXISTS (SELECT FROM operations l WHERE l.node_uuid = o.node_uuid AND l.id > o.id)
	UNION ALL
	SELECT h.node_id, 7, 'unhealthy', 'hardware_unhealthy', NULL, h.since FROM node_health h WHERE h.status = 'critical'),
trouble_found AS (
	SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, f.rank, f.reason, f.cause, f.operation_id, f.since
	  FROM of_operations f JOIN nodes n ON n.id = f.node_id
	UNION ALL
	SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, 2, 'failed', NULL, NULL, coalesce(n.provision_updated_at, n.created_at)
	  FROM nodes n WHERE n.provision_state = ANY(@failed_states) OR n.provision_state = 'enroll' AND n.last_error IS NOT NULL
	UNION ALL
	SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, 4, 'owed', NULL, NULL, n.owed_tried_at
	  FROM nodes n WHERE n.owed <> '[]' AND n.owed_refused
	UNION ALL
	SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, 5, 'fault', NULL, NULL, n.maintenance_since
	  FROM nodes n WHERE n.fault IS NOT NULL),
in_trouble AS MATERIALIZED (
	SELECT DISTINCT ON (f.id) f.id AS node_id, f.need_id, f.resource_class, f.provision_state, f.rank, f.reason, f.cause, f.operation_id, f.since
	  FROM trouble_found f WHERE NOT node_looked_after(f.maintenance, f.maintenance_by_fault) ORDER BY f.id, f.rank)`

// troubleArgs adds the arguments of troubleSQL, timeout apart, to a.
func troubleArgs(a args) args {
	a["failed_states"], a["power_failure_told"] = node.FailedStates(), micros(node.PowerFailureTold)
	return a
}
