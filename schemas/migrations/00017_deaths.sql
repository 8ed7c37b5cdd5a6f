-- +goose Up

-- When the claim was taken, by which process of that name, and whether nothing
-- has come of it yet: no progress, no failure, no handing over. A process that
-- dies with an empty claim may have died of the step. claim_lost_at is its last
-- heartbeat where another process has its name by now.
ALTER TABLE operations
    ADD COLUMN claimed_at        timestamptz,
    ADD COLUMN claim_incarnation bigint  NOT NULL DEFAULT 0,
    ADD COLUMN claim_empty       boolean NOT NULL DEFAULT false,
    ADD COLUMN claim_lost_at     timestamptz;

-- deaths: the next try of a step that conductors died of is put off.
ALTER TABLE operations
    DROP CONSTRAINT operations_stalled_check,
    ADD CONSTRAINT operations_stalled_check CHECK (stalled IN ('', 'conductor', 'maintenance', 'deaths'));
