-- +goose Up

-- When the conductor last reached Temporal: one that can't gets no steps.
ALTER TABLE conductors ADD COLUMN polled_at timestamptz NOT NULL DEFAULT clock_timestamp();

-- The last writing of every API and orchestrator process, and the last contact
-- of any orchestrator or conductor with Temporal. A gap between two writings
-- says that the database was away or its clock stepped: what was not heard
-- meanwhile was not said by nobody. from is the last before the gap, until the
-- first after it.
CREATE TABLE witness (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    seen_at       timestamptz,
    gap_from      timestamptz,
    gap_until     timestamptz,
    gap_seen      boolean NOT NULL DEFAULT false, -- by a process that had written before it, too
    contact_at    timestamptz,
    contact_from  timestamptz,
    contact_until timestamptz
) WITH (fillfactor = 10); -- one row that is written each second
INSERT INTO witness DEFAULT VALUES;
