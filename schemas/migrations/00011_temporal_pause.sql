-- +goose Up

-- Somebody has paused the operation's workflow in Temporal, or the activity that
-- it waits for: what, since when, by whom and why (node.Pause). While that stands
-- here its limits stand still.
ALTER TABLE operations
    ADD COLUMN temporal_pause jsonb,
    ADD CHECK (temporal_pause IS NULL OR ended_at IS NULL);
