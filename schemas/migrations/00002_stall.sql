-- +goose Up

-- An operation that can't go on is stalled: nobody covers its node, or its node
-- was put into maintenance meanwhile (paused). What it waited for before, and how
-- much time was left for that, is kept: waiting_for and waiting_until tell what
-- it waits for now.
ALTER TABLE operations
    ADD COLUMN in_maintenance boolean NOT NULL DEFAULT false, -- accepted while its node was in maintenance: never paused
    ADD COLUMN paused     boolean     NOT NULL DEFAULT false,
    ADD COLUMN rests      boolean     NOT NULL DEFAULT false, -- the step that runs was put down in good order
    ADD COLUMN stalled    text        NOT NULL DEFAULT '' CHECK (stalled IN ('', 'conductor', 'maintenance')),
    ADD COLUMN stalled_at timestamptz,
    ADD COLUMN kept_for   text        NOT NULL DEFAULT '',
    ADD COLUMN kept_left  interval,
    ADD CHECK ((stalled = '') = (stalled_at IS NULL)),
    ADD CHECK (NOT (paused AND in_maintenance));
