-- +goose Up

-- When Temporal began the attempt that has the claim. A reset of its activity
-- makes Temporal count attempts from one again; the time goes on.
ALTER TABLE operations ADD COLUMN claim_started timestamptz;
