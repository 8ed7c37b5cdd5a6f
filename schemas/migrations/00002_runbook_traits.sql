-- +goose Up
-- A runbook is approved for nodes that have one of its traits. Before, that was its name.
ALTER TABLE runbooks ADD COLUMN traits text[] NOT NULL DEFAULT '{}' CHECK (cardinality(traits) <= 50);
UPDATE runbooks SET traits = ARRAY[name];
COMMENT ON TABLE runbooks IS 'Steps that are approved for nodes with one of the traits.';
