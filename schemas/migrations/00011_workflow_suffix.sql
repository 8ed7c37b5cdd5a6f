-- +goose Up

-- The end of the id of the operation's workflow in Temporal. It is random, so that no other workflow has that id: neither that of an operation
-- which had the same number before the database was restored from a backup, nor one that somebody started. Operations that are older
-- than this column have none.
ALTER TABLE operations ADD COLUMN workflow_suffix text NOT NULL DEFAULT '';
ALTER TABLE operations ALTER COLUMN workflow_suffix SET DEFAULT left(gen_random_uuid()::text, 8);
