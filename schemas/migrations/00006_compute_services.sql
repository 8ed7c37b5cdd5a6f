-- +goose Up

-- Compute services split the nodes for a scheduler. One is live while its lease
-- has not ended by this database's clock.
CREATE TABLE compute_services (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host               text        NOT NULL CHECK (host <> '' AND length(host) <= 255), -- as it was given
    name               text        NOT NULL GENERATED ALWAYS AS (lower(host)) STORED CONSTRAINT compute_services_name_taken UNIQUE,
    incarnation        bigint      NOT NULL,           -- the newest process of this name holds it
    partition_key      text        CHECK (partition_key ~ '^[a-z0-9_.-]*$' AND length(partition_key) <= 255), -- null = unset
    peer_list          text[],                         -- lower case; null = unset
    settings_error     text        NOT NULL DEFAULT '',
    acknowledged_epoch bigint      NOT NULL DEFAULT 0, -- the newest that it has published
    registered_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until        timestamptz NOT NULL,
    quiet_until        timestamptz,                    -- until then an earlier process of this name may publish
    CHECK (quiet_until <= lease_until)
) WITH (fillfactor = 50); -- a heartbeat is a heap-only update

-- One row: the number under which all shares change together. revision counts
-- what a published epoch must follow: registrations, settings, moves.
CREATE TABLE share_epoch (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch        bigint      NOT NULL DEFAULT 0, -- 0 = no service was ever registered
    revision     bigint      NOT NULL DEFAULT 0,
    published    bigint      NOT NULL DEFAULT 0, -- the revision that epoch follows
    members      text        NOT NULL DEFAULT '', -- the services as epoch has them (share.Split.Signature)
    live         bigint[]    NOT NULL DEFAULT '{}',
    published_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
INSERT INTO share_epoch DEFAULT VALUES;

-- Where each node stands in the epoch. Written only together with share_epoch.
-- Ids of services that are gone mean nobody. What the epoch knew of the node is
-- beside it, so that a tick finds by itself what has changed since.
CREATE TABLE shares (
    node_id         bigint PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    owner_id        bigint, -- the service in whose share it is
    leaving_id      bigint, -- the service that it has left, and that may still publish it
    left_in         bigint, -- the epoch in which it left
    entering_id     bigint, -- who owns it after that
    conductor_group text   NOT NULL,
    instance_uuid   uuid,
    service         text   NOT NULL DEFAULT '', -- of the instance
    CHECK (owner_id IS NULL OR leaving_id IS NULL),
    CHECK ((leaving_id IS NULL) = (left_in IS NULL)),
    CHECK (leaving_id IS NOT NULL OR entering_id IS NULL)
) WITH (fillfactor = 85);
CREATE INDEX shares_by_owner ON shares (owner_id, node_id);
CREATE INDEX shares_leaving  ON shares (leaving_id, left_in) WHERE leaving_id IS NOT NULL;

-- What stands on nodes. An instance_uuid without a row was set by hand and is
-- never taken away. service is fixed when the node is claimed; null = none.
CREATE TABLE instances (
    uuid         uuid        PRIMARY KEY,
    node_id      bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    service      text        CONSTRAINT instances_claimed_from_share CHECK (service <> ''), -- lower case
    wanted       text        NOT NULL DEFAULT 'present' CHECK (wanted IN ('present', 'absent')),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    absent_since timestamptz,
    confirmed_at timestamptz, -- its service, which is back, says that it is gone
    CHECK ((wanted = 'absent') = (absent_since IS NOT NULL))
);
CREATE INDEX instances_of_node ON instances (node_id);
CREATE INDEX instances_absent  ON instances (absent_since) WHERE wanted = 'absent';
