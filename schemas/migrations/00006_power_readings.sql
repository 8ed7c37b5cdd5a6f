-- +goose Up

CREATE TABLE power_readings (
    node_id    bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    written_at timestamptz NOT NULL, -- power_read_at of the node when the state was read again: if that has changed since, the row means nothing
    read_at    timestamptz NOT NULL  -- when the same state was read last
) WITH (fillfactor = 45); -- a refresh writes all rows: room for a second version of each, heap-only
COMMENT ON TABLE power_readings IS 'When the power state of a node was last read without a change. So a reading that finds nothing new locks and changes no node, and is no event.';

DROP FUNCTION node_relations(bigint, uuid);

-- +goose StatementBegin
-- Returns what other tables say about a node: the owner of its allocation, whether the allocation asked for a node in maintenance,
-- the conductor that owns the node by the ring, the silence of its BMC (node.BMCSilence), and when its power state was read last. Nothing
-- else tells that: power_read_at of the node's row, which is power_written here, is when the state was written last.
CREATE FUNCTION node_relations(node bigint, allocation uuid, power_written timestamptz) RETURNS TABLE (
    allocation_owner text, allocated_in_maintenance boolean, ring_owner text, bmc_silence jsonb, power_read_at timestamptz
) LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN allocation IS NOT NULL THEN (SELECT t.owner FROM allocations t WHERE t.node_id = node) END,
        allocation IS NOT NULL AND EXISTS (SELECT FROM allocations t WHERE t.node_id = node AND 'CUSTOM_MAINTENANCE' = ANY (t.traits)),
        (SELECT c.hostname FROM ring_owners w JOIN conductors c ON c.id = w.conductor_id WHERE w.node_id = node),
        (SELECT to_jsonb(s) FROM bmc_silences s WHERE s.node_id = node),
        coalesce((SELECT p.read_at FROM power_readings p WHERE p.node_id = node AND p.written_at = power_written), power_written)
$$;
-- +goose StatementEnd
