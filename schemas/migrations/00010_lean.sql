-- +goose Up

-- Quarantines are written for very many nodes at once. Their rows say only who
-- is known to be in quarantine: what is over is in the histories of the nodes,
-- and nobody read it here.
CREATE TABLE in_quarantine (
    node_id bigint      PRIMARY KEY,
    need_id bigint      NOT NULL,
    since   timestamptz NOT NULL
);
INSERT INTO in_quarantine (node_id, need_id, since) SELECT node_id, need_id, since FROM quarantines WHERE released_at IS NULL;
DROP TABLE quarantines;
ALTER TABLE in_quarantine RENAME TO quarantines;
ALTER INDEX in_quarantine_pkey RENAME TO quarantines_pkey;

-- Whoever writes either holds the node's row: there is nothing for a foreign key
-- to find out, a node at a time, and what hangs on a node goes with it below.
ALTER TABLE node_history DROP CONSTRAINT node_history_node_id_fkey;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION note_nodes_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) SELECT DISTINCT need_id FROM changed;
    DELETE FROM ring_owners o USING changed c WHERE o.node_id = c.id;
    DELETE FROM node_history h USING changed c WHERE h.node_id = c.id;
    DELETE FROM quarantines q USING changed c WHERE q.node_id = c.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- What was written with each epoch, for each node that moved, and never read.
ALTER TABLE ring_owners DROP COLUMN epoch;
ALTER TABLE rings DROP COLUMN epoch;
ALTER TABLE ring_epoch DROP COLUMN made_at;
