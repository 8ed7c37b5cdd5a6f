-- +goose Up

-- needs_person is as before, except that a silent BMC or agent, and an agent that has not called, need a person since that began, not since
-- the operation was late.

-- +goose StatementBegin
-- Returns the nodes that need a person, each once, with its worst reason (node.Reasons; the worst has the lowest rank) and its cause, a
-- code of package fault. Nodes that a person has put into maintenance are left out, because somebody looks after them. The nodes in
-- quarantine come last, from a query of their own, because they may be very many.
CREATE OR REPLACE FUNCTION needs_person(timeout bigint) RETURNS TABLE (node_id bigint, rank integer, reason text, cause text, operation_id bigint, since timestamptz)
LANGUAGE sql STABLE AS $$
    WITH maintained AS MATERIALIZED (SELECT n.id FROM nodes n WHERE n.maintenance AND NOT n.maintenance_by_fault),
    -- Without Temporal nothing goes on, so that only what was late when it was reached last is late.
    last_contact AS MATERIALIZED (
        SELECT CASE WHEN v.contact_at < clock_timestamp() - witness_gap(timeout) THEN v.contact_at ELSE clock_timestamp() END AS now FROM witness v),
    found AS (
        SELECT o.node_id, 1 AS rank, 'held' AS reason, o.cause, o.id AS operation_id,
            (SELECT max((s.step ->> 'ended_at')::timestamptz) FROM jsonb_array_elements(o.steps) AS s (step) WHERE s.step ->> 'state' = 'failed') AS since
          FROM operations o WHERE o.ended_at IS NULL AND o.phase = 'holding'
        UNION ALL
        SELECT n.id, 2, 'failed', NULL, NULL, coalesce(n.provision_updated_at, n.created_at)
          FROM nodes n WHERE n.provision_state IN ('deploy failed', 'clean failed', 'inspect failed', 'adopt failed', 'rescue failed', 'unrescue failed',
            'service failed', 'error') OR n.provision_state = 'enroll' AND n.last_error IS NOT NULL
        UNION ALL
        SELECT o.node_id, 3, 'late', coalesce(o.cause, CASE WHEN w.late_at < v.now OR o.step_wait ->> 'for' = 'bmc_answer' THEN o.step_wait ->> 'late_cause' END, ''), o.id, coalesce(
                CASE WHEN o.step_wait ->> 'for' IN ('bmc_answer', 'agent_answer', 'agent_command') THEN (o.step_wait ->> 'unread_since')::timestamptz
                    WHEN o.step_wait ->> 'for' = 'agent_call' AND w.late_at < v.now THEN (o.step_wait ->> 'since')::timestamptz END, least(
                CASE WHEN o.waiting_until < v.now THEN o.waiting_until END, CASE WHEN o.usual_until < v.now THEN o.usual_until END,
                CASE WHEN w.late_at < v.now THEN w.late_at END), o.accepted_at)
          FROM operations o CROSS JOIN LATERAL (SELECT (o.step_wait ->> 'late_at')::timestamptz AS late_at) w CROSS JOIN last_contact v
         WHERE o.ended_at IS NULL AND o.temporal_pause IS NULL AND o.stalled = '' AND o.phase <> 'holding'
           AND (operation_past_usual(o) AND (o.usual_until < v.now OR w.late_at < v.now)
             OR o.waiting_until < v.now OR o.begun_at IS NULL AND o.accepted_at < v.now - interval '1 minute')
        UNION ALL
        SELECT n.id, 4, 'owed', NULL, NULL, n.owed_tried_at FROM nodes n WHERE n.owed <> '[]' AND n.owed_refused
        UNION ALL
        SELECT n.id, 5, 'fault', NULL, NULL, n.maintenance_since FROM nodes n WHERE n.fault IS NOT NULL
        UNION ALL
        SELECT o.node_id, 6, 'power', o.cause, o.id, o.ended_at
          FROM operations o WHERE o.kind = 'power' AND o.outcome = 'failed' AND o.ended_at > clock_timestamp() - interval '1 day' AND o.node_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM operations l WHERE l.node_uuid = o.node_uuid AND l.id > o.id)
        UNION ALL
        SELECT h.node_id, 7, 'unhealthy', 'hardware_unhealthy', NULL, h.since FROM node_health h WHERE h.status = 'critical'),
    worst AS MATERIALIZED (
        SELECT DISTINCT ON (f.node_id) f.* FROM found f WHERE NOT EXISTS (SELECT FROM maintained m WHERE m.id = f.node_id) ORDER BY f.node_id, f.rank)
    SELECT w.node_id, w.rank, w.reason, coalesce(w.cause, l.cause, ''), coalesce(w.operation_id, l.id), w.since
      FROM worst w LEFT JOIN LATERAL (
        SELECT o.id, o.cause FROM operations o WHERE w.cause IS NULL AND o.node_id = w.node_id AND o.cause IS NOT NULL ORDER BY o.id DESC LIMIT 1) l ON true
    UNION ALL
    SELECT n.id, 8, 'quarantined', 'no_conductor', NULL, v.since
      FROM (SELECT v.id, v.since FROM coverage(timeout) v WHERE v.quarantined) v JOIN nodes n ON n.need_id = v.id
     WHERE NOT EXISTS (SELECT FROM maintained m WHERE m.id = n.id) AND NOT EXISTS (SELECT FROM worst w WHERE w.node_id = n.id)
$$;
-- +goose StatementEnd
