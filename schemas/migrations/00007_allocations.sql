-- +goose Up

-- An allocation is a node for an instance (Ironic's API, 1.52). It and its node
-- point at each other; both are written in one transaction, the node's row first.
CREATE TABLE allocations (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid            uuid        NOT NULL CONSTRAINT allocations_uuid_taken UNIQUE,
    name            text        CONSTRAINT allocations_name_taken UNIQUE CHECK (name <> '' AND length(name) <= 255),
    node_id         bigint      CONSTRAINT allocations_node_taken UNIQUE REFERENCES nodes (id) ON DELETE CASCADE,
    state           text        NOT NULL CHECK (state IN ('allocating', 'active', 'error')),
    last_error      text,
    resource_class  text        CHECK (length(resource_class) <= 80),
    traits          text[]      NOT NULL DEFAULT '{}',
    candidate_nodes uuid[]      NOT NULL DEFAULT '{}', -- in the order they were given
    owner           text        CHECK (length(owner) <= 255),
    extra           jsonb       NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz,
    CHECK ((state = 'active') = (node_id IS NOT NULL))
);
CREATE INDEX allocations_by_class ON allocations (resource_class, id);
CREATE INDEX allocations_by_state ON allocations (state, id);
CREATE INDEX allocations_by_owner ON allocations (owner, id) WHERE owner IS NOT NULL;
