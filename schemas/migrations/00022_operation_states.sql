-- +goose Up

-- The phase in which an operation's work is undone has a name of its own: it is
-- cancelling for clients only where somebody asked for the end. What holds for every
-- operation (node.OperationInvariants) the table holds, too; rows of before are mended.
ALTER TABLE operations DROP CONSTRAINT operations_phase_check;
UPDATE operations SET phase = 'undoing' WHERE phase = 'cancelling';
UPDATE operations SET stalled = '', stalled_at = NULL WHERE stalled <> '' AND phase <> 'waiting';
UPDATE operations SET kept_for = '', kept_left = NULL WHERE stalled = '' AND (kept_for <> '' OR kept_left IS NOT NULL);
UPDATE operations SET paused = false WHERE paused AND ended_at IS NOT NULL;
UPDATE operations SET orphaned = false WHERE orphaned AND NOT paused;
UPDATE operations SET waiting_for = '', waiting_until = NULL WHERE ended_at IS NOT NULL AND (waiting_for <> '' OR waiting_until IS NOT NULL);
ALTER TABLE operations
    ADD CONSTRAINT operations_phase_check CHECK (phase IN ('accepted', 'running', 'waiting', 'holding', 'undoing', 'ended')),
    ADD CONSTRAINT operations_stalled_waits CHECK (stalled = '' OR phase = 'waiting'),
    ADD CONSTRAINT operations_kept_in_stall CHECK (stalled <> '' OR kept_for = '' AND kept_left IS NULL),
    ADD CONSTRAINT operations_paused_open CHECK (NOT paused OR ended_at IS NULL),
    ADD CONSTRAINT operations_orphaned_paused CHECK (paused OR NOT orphaned),
    ADD CONSTRAINT operations_ended_waits_not CHECK (ended_at IS NULL OR waiting_for = '' AND waiting_until IS NULL);
