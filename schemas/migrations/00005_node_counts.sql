-- +goose Up

-- What needs a person is paged and counted without looking at each node in quarantine: these may be all there are. Before, the function
-- needs_person returned all nodes that need a person.

-- Reports whether a person has put the node into maintenance, so that somebody looks after it.
CREATE FUNCTION node_looked_after(maintenance boolean, maintenance_by_fault boolean) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT maintenance AND NOT maintenance_by_fault
$$;

CREATE TABLE node_counts (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    need_id         bigint  NOT NULL,
    resource_class  text    NOT NULL, -- '' = the nodes have none
    provision_state text    NOT NULL,
    looked_after    boolean NOT NULL, -- node_looked_after()
    nodes           bigint  NOT NULL  -- how many more there are; negative = fewer
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE node_counts IS 'How many nodes there are of each need, resource class and provision state: the sum of the rows. Triggers only add rows, so that writers of nodes never wait for each other; reconciliation adds them up.';

-- +goose StatementBegin
-- Counts new nodes (TG_ARGV[0] = 1) or deleted ones (-1).
CREATE FUNCTION count_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO node_counts (need_id, resource_class, provision_state, looked_after, nodes)
    SELECT c.need_id, coalesce(c.resource_class, ''), c.provision_state, node_looked_after(c.maintenance, c.maintenance_by_fault), TG_ARGV[0]::bigint * count(*)
      FROM changed c GROUP BY 1, 2, 3, 4;
    RETURN NULL;
END $$;

-- Counts a node that has changed.
CREATE FUNCTION count_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO node_counts (need_id, resource_class, provision_state, looked_after, nodes)
    VALUES (OLD.need_id, coalesce(OLD.resource_class, ''), OLD.provision_state, node_looked_after(OLD.maintenance, OLD.maintenance_by_fault), -1),
        (NEW.need_id, coalesce(NEW.resource_class, ''), NEW.provision_state, node_looked_after(NEW.maintenance, NEW.maintenance_by_fault), 1);
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER count_created AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_nodes('1');
CREATE TRIGGER count_deleted AFTER DELETE ON nodes REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_nodes('-1');
CREATE TRIGGER count_changed AFTER UPDATE OF conductor_group, driver, interfaces, resource_class, provision_state, maintenance, maintenance_by_fault ON nodes FOR EACH ROW
    WHEN ((OLD.need_id, OLD.resource_class, OLD.provision_state, OLD.maintenance, OLD.maintenance_by_fault)
        IS DISTINCT FROM (NEW.need_id, NEW.resource_class, NEW.provision_state, NEW.maintenance, NEW.maintenance_by_fault))
    EXECUTE FUNCTION count_node();

-- The triggers have locked the table, so that nobody writes nodes until they are counted.
INSERT INTO node_counts (need_id, resource_class, provision_state, looked_after, nodes)
SELECT n.need_id, coalesce(n.resource_class, ''), n.provision_state, node_looked_after(n.maintenance, n.maintenance_by_fault), count(*) FROM nodes n GROUP BY 1, 2, 3, 4;

DROP FUNCTION needs_person(bigint);

-- +goose StatementBegin
-- Returns the nodes in trouble: those that need a person for another reason than that no conductor covers them. Each is there once, with
-- its worst reason (node.Reasons; the worst has the lowest rank) and its cause, a code of package fault; null = that of its last_failure().
-- Nodes that a person has put into maintenance are left out, because somebody looks after them.
CREATE FUNCTION nodes_in_trouble(timeout bigint) RETURNS TABLE (
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

-- Returns the newest operation of a node that has failed, or that goes on after a failure.
CREATE FUNCTION last_failure(node bigint) RETURNS TABLE (operation_id bigint, cause text) LANGUAGE sql STABLE AS $$
    SELECT o.id, o.cause FROM operations o WHERE o.node_id = node AND o.cause IS NOT NULL ORDER BY o.id DESC LIMIT 1
$$;
