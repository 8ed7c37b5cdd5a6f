-- +goose Up

-- How the value was sealed. 1 bound it to its node and name; 2 binds it also to
-- what decides where it goes (package node, destination.go). The program seals
-- those of 1 again when it migrates: SQL has no keys.
ALTER TABLE secrets ADD COLUMN seal smallint NOT NULL DEFAULT 1;
ALTER TABLE secrets ALTER COLUMN seal DROP DEFAULT;
CREATE INDEX secrets_to_renew ON secrets (node_id, name) WHERE seal < 2;
