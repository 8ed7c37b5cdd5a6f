-- +goose Up

-- Which needs have got or lost nodes since the ring was computed. Rows are
-- only added, so that writers of nodes never wait for each other, and taken away
-- by the epoch that has seen them.
CREATE TABLE ring_changes (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    need_id    bigint NOT NULL
);

-- The ring: who owns which node. No foreign keys: an epoch writes many rows, and
-- must not touch the nodes for it; a row without a node or a conductor is no owner.
CREATE TABLE ring_epoch (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch         bigint      NOT NULL DEFAULT 0,
    made_at       timestamptz,
    members       bigint[]    NOT NULL DEFAULT '{}', -- conductors, by id, in order
    reconciled_at timestamptz -- when a tick ended last
) WITH (fillfactor = 50);
INSERT INTO ring_epoch DEFAULT VALUES;

CREATE TABLE rings (
    conductor_group text    NOT NULL,
    driver          text    NOT NULL,
    covers          text    NOT NULL, -- who covers which need, as it was computed from
    unsettled       boolean NOT NULL, -- operations keep nodes where they should not stay
    epoch           bigint  NOT NULL,
    PRIMARY KEY (conductor_group, driver)
);

CREATE TABLE ring_owners (
    node_id      bigint PRIMARY KEY,
    conductor_id bigint NOT NULL,
    epoch        bigint NOT NULL
) WITH (fillfactor = 90);
CREATE INDEX ring_owners_by_conductor ON ring_owners (conductor_id, node_id);

-- +goose StatementBegin
CREATE FUNCTION note_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) SELECT DISTINCT need_id FROM changed;
    RETURN NULL;
END $$;

CREATE FUNCTION note_nodes_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) SELECT DISTINCT need_id FROM changed;
    DELETE FROM ring_owners o USING changed c WHERE o.node_id = c.id;
    RETURN NULL;
END $$;

CREATE FUNCTION note_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) VALUES (OLD.need_id), (NEW.need_id);
    RETURN NULL;
END $$;
-- +goose StatementEnd

INSERT INTO ring_changes (need_id) SELECT id FROM needs;
CREATE TRIGGER ring_new AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_nodes();
CREATE TRIGGER ring_gone AFTER DELETE ON nodes REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_nodes_gone();
CREATE TRIGGER ring_moved AFTER UPDATE OF conductor_group, driver, interfaces ON nodes FOR EACH ROW
    WHEN (OLD.need_id IS DISTINCT FROM NEW.need_id) EXECUTE FUNCTION note_node();
