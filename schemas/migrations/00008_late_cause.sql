-- +goose Up

-- +goose StatementBegin
-- Returns why a step that waits so takes longer than it should, null if nobody knows. The same rule in Go is node.Operation.LateCause.
CREATE FUNCTION wait_late_cause(wait jsonb, now timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN coalesce(wait ->> 'unread', '') <> '' AND wait ->> 'for' = 'bmc_answer' THEN 'bmc_silent'
        WHEN coalesce(wait ->> 'unread', '') <> '' AND wait ->> 'for' IN ('agent_answer', 'agent_command') THEN 'agent_silent'
        WHEN (wait ->> 'late_at')::timestamptz < now THEN wait ->> 'late_cause' END
$$;
-- +goose StatementEnd

-- nodes_in_trouble is as before, except that the cause of being late is the one that why tells.

-- +goose StatementBegin
-- Returns the nodes in trouble: those that need a person for another reason than that no conductor covers them. Each is there once, with
-- its worst reason (node.Reasons; the worst has the lowest rank) and its cause, a code of package fault; null = that of its last_failure().
-- Nodes that a person has put into maintenance are left out, because somebody looks after them.
CREATE OR REPLACE FUNCTION nodes_in_trouble(timeout bigint) RETURNS TABLE (
    node_id bigint, need_id bigint, resource_class text, provision_state text, rank integer, reason text, cause text, operation_id bigint, since timestamptz
) LANGUAGE sql STABLE AS $$
    WITH
    -- Without Temporal nothing goes on, so that only what was late when it was reached last is late.
    last_contact AS MATERIALIZED (
        SELECT CASE WHEN v.contact_at < clock_timestamp() - witness_gap(timeout) THEN v.contact_at ELSE clock_timestamp() END AS now FROM witness v),
    of_operations AS (
        SELECT o.node_id, 1 AS rank, 'held' AS reason, o.cause, o.id AS operation_id,
            (SELECT max((s.step ->> 'ended_at')::timestamptz) FROM jsonb_array_elements(o.steps) AS s (step) WHERE s.step ->> 'state' = 'failed') AS since
          FROM operations o WHERE o.ended_at IS NULL AND o.phase = 'holding'
        UNION ALL
        SELECT o.node_id, 3, 'late', coalesce(o.cause, wait_late_cause(o.step_wait, v.now), ''), o.id, coalesce(
                CASE WHEN o.step_wait ->> 'for' IN ('bmc_answer', 'agent_answer', 'agent_command') THEN (o.step_wait ->> 'unread_since')::timestamptz
                    WHEN o.step_wait ->> 'for' = 'agent_call' AND w.late_at < v.now THEN (o.step_wait ->> 'since')::timestamptz END, least(
                CASE WHEN o.waiting_until < v.now THEN o.waiting_until END, CASE WHEN o.usual_until < v.now THEN o.usual_until END,
                CASE WHEN w.late_at < v.now THEN w.late_at END), o.accepted_at)
          FROM operations o CROSS JOIN LATERAL (SELECT (o.step_wait ->> 'late_at')::timestamptz AS late_at) w CROSS JOIN last_contact v
         WHERE o.ended_at IS NULL AND o.temporal_pause IS NULL AND o.stalled = '' AND o.phase <> 'holding'
           AND (operation_past_usual(o) AND (o.usual_until < v.now OR w.late_at < v.now)
             OR o.waiting_until < v.now OR o.begun_at IS NULL AND o.accepted_at < v.now - interval '1 minute')
        UNION ALL
        SELECT o.node_id, 6, 'power', o.cause, o.id, o.ended_at
          FROM operations o WHERE o.kind = 'power' AND o.outcome = 'failed' AND o.ended_at > clock_timestamp() - interval '1 day' AND o.node_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM operations l WHERE l.node_uuid = o.node_uuid AND l.id > o.id)
        UNION ALL
        SELECT h.node_id, 7, 'unhealthy', 'hardware_unhealthy', NULL, h.since FROM node_health h WHERE h.status = 'critical'),
    found AS (
        SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, f.rank, f.reason, f.cause, f.operation_id, f.since
          FROM of_operations f JOIN nodes n ON n.id = f.node_id
        UNION ALL
        SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, 2, 'failed', NULL, NULL, coalesce(n.provision_updated_at, n.created_at)
          FROM nodes n WHERE n.provision_state IN ('deploy failed', 'clean failed', 'inspect failed', 'adopt failed', 'rescue failed', 'unrescue failed',
            'service failed', 'error') OR n.provision_state = 'enroll' AND n.last_error IS NOT NULL
        UNION ALL
        SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, 4, 'owed', NULL, NULL, n.owed_tried_at
          FROM nodes n WHERE n.owed <> '[]' AND n.owed_refused
        UNION ALL
        SELECT n.id, n.need_id, n.resource_class, n.provision_state, n.maintenance, n.maintenance_by_fault, 5, 'fault', NULL, NULL, n.maintenance_since
          FROM nodes n WHERE n.fault IS NOT NULL)
    SELECT DISTINCT ON (f.id) f.id, f.need_id, f.resource_class, f.provision_state, f.rank, f.reason, f.cause, f.operation_id, f.since
      FROM found f WHERE NOT node_looked_after(f.maintenance, f.maintenance_by_fault) ORDER BY f.id, f.rank
$$;
-- +goose StatementEnd
