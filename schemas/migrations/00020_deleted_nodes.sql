-- +goose Up

-- Nodes that were deleted. Their histories and operations stay until the row is
-- dropped, which is after deleted_node_retention. A row number of nodes is never
-- used again, so a node that is enrolled later with the same uuid or name is
-- another one: its history has another node_id, and operations of a deleted node
-- have none.
CREATE TABLE deleted_nodes (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id         bigint      UNIQUE, -- of its history; null = deleted when histories were not kept
    uuid            uuid        NOT NULL,
    name            text,
    driver          text        NOT NULL,
    conductor_group text        NOT NULL,
    resource_class  text,
    provision_state text,
    created_at      timestamptz,
    deleted_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_by      text        NOT NULL DEFAULT ''
);
CREATE INDEX deleted_nodes_by_uuid ON deleted_nodes (uuid, id);
CREATE INDEX deleted_nodes_by_name ON deleted_nodes (name, id);
CREATE INDEX deleted_nodes_by_time ON deleted_nodes (deleted_at);

-- Of nodes that were deleted before there are operations only. When they were
-- deleted is not known: not before their last operation ended.
INSERT INTO deleted_nodes (uuid, name, driver, conductor_group, deleted_at)
SELECT DISTINCT ON (o.node_uuid) o.node_uuid, nullif(o.node_name, ''), o.driver, o.conductor_group, o.ended_at
  FROM operations o WHERE o.node_id IS NULL ORDER BY o.node_uuid, o.id DESC;

-- The database keeps the record: nobody who deletes a node can forget it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION note_nodes_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) SELECT DISTINCT need_id FROM changed;
    DELETE FROM ring_owners o USING changed c WHERE o.node_id = c.id;
    DELETE FROM quarantines q USING changed c WHERE q.node_id = c.id;
    INSERT INTO deleted_nodes (node_id, uuid, name, driver, conductor_group, resource_class, provision_state, created_at)
    SELECT c.id, c.uuid, c.name, c.driver, c.conductor_group, c.resource_class, c.provision_state, c.created_at FROM changed c;
    RETURN NULL;
END $$;
-- +goose StatementEnd
