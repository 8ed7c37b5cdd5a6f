-- +goose Up

-- A paused operation is orphaned when the process that worked on it last was
-- replaced under its name without having stopped: it died.
ALTER TABLE operations ADD COLUMN orphaned boolean NOT NULL DEFAULT false;

-- Maintenance that a failure has set, and no person since: what the node owes is
-- undone all the same.
ALTER TABLE nodes ADD COLUMN maintenance_by_fault boolean NOT NULL DEFAULT false;
