-- +goose Up

-- on_failure: what the request wants when a step fails for good. decisions: who
-- decided what about such a step, when and why.
ALTER TABLE operations
    ADD COLUMN on_failure text  NOT NULL DEFAULT 'fail' CHECK (on_failure IN ('fail', 'hold')),
    ADD COLUMN decisions  jsonb NOT NULL DEFAULT '[]',
    DROP CONSTRAINT operations_kind_check,
    ADD CONSTRAINT operations_kind_check CHECK (kind IN
        ('manage', 'provide', 'clean', 'inspect', 'deploy', 'rebuild', 'undeploy', 'power', 'undo'));

-- When an undo of what the node owes was last begun, and how often since it was
-- last all done: the pauses between grow.
ALTER TABLE nodes
    ADD COLUMN owed_tried_at timestamptz,
    ADD COLUMN owed_tries    integer NOT NULL DEFAULT 0;
CREATE INDEX nodes_owing ON nodes (id) WHERE owed <> '[]';

-- An operator's word that Temporal has lost its data, after which operations
-- that it does not know are closed at once, however many they are.
CREATE TABLE lost_temporal (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    said_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    said_by text        NOT NULL,
    reason  text        NOT NULL
);
