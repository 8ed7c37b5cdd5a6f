-- +goose Up

-- A node is a server. Dictionaries hold ****** where a secret was; the sealed
-- values are in table secrets. An open operation is found by its own index;
-- reservation, deploy_step and clean_step are derived from it, never stored.
CREATE TABLE nodes (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                    uuid        NOT NULL CONSTRAINT nodes_uuid_taken UNIQUE,
    name                    text        CONSTRAINT nodes_name_taken UNIQUE CHECK (name <> '' AND length(name) <= 255),
    driver                  text        NOT NULL CHECK (driver <> '' AND length(driver) <= 255),
    interfaces              jsonb       NOT NULL DEFAULT '{}',
    driver_info             jsonb       NOT NULL DEFAULT '{}',
    driver_internal_info    jsonb       NOT NULL DEFAULT '{}',
    properties              jsonb       NOT NULL DEFAULT '{}',
    extra                   jsonb       NOT NULL DEFAULT '{}',
    instance_info           jsonb       NOT NULL DEFAULT '{}',
    network_data            jsonb       NOT NULL DEFAULT '{}',
    conductor_group         text        NOT NULL DEFAULT '' CHECK (conductor_group ~ '^[a-z0-9_.-]*$' AND length(conductor_group) <= 255),
    resource_class          text        CHECK (length(resource_class) <= 80),
    owner                   text        CHECK (length(owner) <= 255),
    lessee                  text        CHECK (length(lessee) <= 255),
    description             text        CHECK (length(description) <= 4096),
    shard                   text        CHECK (length(shard) <= 255),
    parent_node             uuid,
    chassis_uuid            uuid,
    instance_uuid           uuid,
    instance_name           text        CHECK (length(instance_name) <= 255),
    allocation_uuid         uuid,
    provision_state         text        NOT NULL CHECK (provision_state IN (
        'enroll', 'verifying', 'manageable', 'available', 'active', 'error',
        'deploying', 'wait call-back', 'deploy hold', 'deploy failed', 'deleting',
        'cleaning', 'clean wait', 'clean hold', 'clean failed',
        'inspecting', 'inspect wait', 'inspect failed', 'adopting', 'adopt failed',
        'rescuing', 'rescue wait', 'rescue', 'rescue failed', 'unrescuing', 'unrescue failed',
        'servicing', 'service wait', 'service hold', 'service failed')),
    target_provision_state  text        NOT NULL DEFAULT '',
    provision_updated_at    timestamptz,
    last_error              text,
    power_state             text        CHECK (power_state IN ('power on', 'power off', 'error')),
    target_power_state      text        CHECK (target_power_state IN ('power on', 'power off', 'rebooting', 'soft rebooting', 'soft power off')),
    power_read_at           timestamptz,
    boot_mode               text,
    secure_boot             boolean,
    maintenance             boolean     NOT NULL DEFAULT false,
    maintenance_reason      text,
    fault                   text        CHECK (fault IN ('power failure', 'clean failure', 'rescue abort failure', 'service failure')),
    protected               boolean     NOT NULL DEFAULT false,
    protected_reason        text,
    retired                 boolean     NOT NULL DEFAULT false,
    retired_reason          text,
    automated_clean         boolean,
    disable_power_off       boolean     NOT NULL DEFAULT false,
    raid_config             jsonb       NOT NULL DEFAULT '{}',
    target_raid_config      jsonb       NOT NULL DEFAULT '{}',
    traits                  text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(traits) <= 50),
    inspection_started_at   timestamptz,
    inspection_finished_at  timestamptz,
    owed                    jsonb       NOT NULL DEFAULT '[]',
    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz
) WITH (fillfactor = 85); -- room for heap-only updates: most of what changes is not indexed
CREATE UNIQUE INDEX nodes_instance_uuid_taken   ON nodes (instance_uuid) WHERE instance_uuid IS NOT NULL;
CREATE UNIQUE INDEX nodes_allocation_uuid_taken ON nodes (allocation_uuid) WHERE allocation_uuid IS NOT NULL;
CREATE INDEX nodes_by_state      ON nodes (provision_state, id);
CREATE INDEX nodes_by_driver     ON nodes (conductor_group, driver, id);
CREATE INDEX nodes_by_driver_all ON nodes (driver, id);
CREATE INDEX nodes_by_class      ON nodes (resource_class, id);
CREATE INDEX nodes_by_owner      ON nodes (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX nodes_by_lessee     ON nodes (lessee, id) WHERE lessee IS NOT NULL;
CREATE INDEX nodes_by_shard      ON nodes (shard, id) WHERE shard IS NOT NULL;
CREATE INDEX nodes_by_parent     ON nodes (parent_node, id) WHERE parent_node IS NOT NULL;
CREATE INDEX nodes_by_chassis    ON nodes (chassis_uuid, id) WHERE chassis_uuid IS NOT NULL;
CREATE INDEX nodes_in_maintenance ON nodes (id) WHERE maintenance;
CREATE INDEX nodes_retired       ON nodes (id) WHERE retired;
CREATE INDEX nodes_by_fault      ON nodes (fault, id) WHERE fault IS NOT NULL;
CREATE INDEX nodes_by_instance_name ON nodes (instance_name, id) WHERE instance_name IS NOT NULL;
CREATE INDEX nodes_with_instance ON nodes (id) WHERE instance_uuid IS NOT NULL;

CREATE TABLE ports (
    id                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                  uuid        NOT NULL CONSTRAINT ports_uuid_taken UNIQUE,
    node_id               bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    address               text        NOT NULL CONSTRAINT ports_address_taken UNIQUE CHECK (address ~ '^([0-9a-f]{2}:){5}([0-9a-f]{2}|([0-9a-f]{2}:){14}[0-9a-f]{2})$'),
    name                  text        CONSTRAINT ports_name_taken UNIQUE CHECK (name <> '' AND length(name) <= 255),
    description           text        CHECK (length(description) <= 255),
    pxe_enabled           boolean     NOT NULL DEFAULT true,
    local_link_connection jsonb       NOT NULL DEFAULT '{}',
    physical_network      text        CHECK (length(physical_network) <= 64),
    is_smartnic           boolean     NOT NULL DEFAULT false,
    extra                 jsonb       NOT NULL DEFAULT '{}',
    internal_info         jsonb       NOT NULL DEFAULT '{}',
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz
);
CREATE INDEX ports_by_node ON ports (node_id, id);

-- An operation holds its node while ended_at is null.
CREATE TABLE operations (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id         bigint      REFERENCES nodes (id) ON DELETE SET NULL,
    node_uuid       uuid        NOT NULL,
    node_name       text        NOT NULL DEFAULT '',
    kind            text        NOT NULL CHECK (kind IN ('manage', 'provide', 'clean', 'inspect', 'deploy', 'rebuild', 'undeploy', 'power')),
    phase           text        NOT NULL CHECK (phase IN ('accepted', 'running', 'waiting', 'holding', 'cancelling', 'ended')),
    outcome         text        CHECK (outcome IN ('succeeded', 'failed', 'cancelled')),
    error           text,
    requested_by    text        NOT NULL DEFAULT '',
    origin          text        NOT NULL,
    target          text        NOT NULL DEFAULT '',
    power_target    text        NOT NULL DEFAULT '',
    soft_timeout_ms bigint      NOT NULL DEFAULT 0,
    accepted_at     timestamptz NOT NULL DEFAULT now(),
    begun_at        timestamptz,
    ended_at        timestamptz,
    run_id          text,
    claim_seq       bigint      NOT NULL DEFAULT 0,
    claim_attempt   integer     NOT NULL DEFAULT 0,
    conductor       text        NOT NULL DEFAULT '',
    conductor_group text        NOT NULL,
    driver          text        NOT NULL,
    waiting_for     text        NOT NULL DEFAULT '',
    waiting_until   timestamptz,
    steps           jsonb       NOT NULL DEFAULT '[]',
    undo            jsonb       NOT NULL DEFAULT '[]',
    asked           text        NOT NULL DEFAULT '' CHECK (asked IN ('', 'cancel', 'abort', 'delete', 'unhold', 'power')),
    asked_by        text        NOT NULL DEFAULT '',
    asked_reason    text        NOT NULL DEFAULT '',
    asked_power     text        NOT NULL DEFAULT '',
    asked_at        timestamptz,
    missing_since   timestamptz,
    retry_of        bigint,
    follow_up       bigint, -- the operation that closing this one opened
    CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CHECK ((ended_at IS NULL) = (phase <> 'ended')),
    CHECK ((begun_at IS NULL) = (run_id IS NULL)),
    CHECK (ended_at IS NOT NULL OR node_id IS NOT NULL)
) WITH (fillfactor = 70); -- claims and steps are heap-only updates
CREATE UNIQUE INDEX operations_one_open_per_node ON operations (node_id) WHERE ended_at IS NULL;
CREATE INDEX operations_open      ON operations (id) WHERE ended_at IS NULL;
CREATE INDEX operations_not_begun ON operations (accepted_at) WHERE begun_at IS NULL AND ended_at IS NULL;
CREATE INDEX operations_asked     ON operations (asked_at) WHERE asked_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX operations_of_node   ON operations (node_id); -- for the foreign key
CREATE INDEX operations_by_node   ON operations (node_uuid, id);
CREATE INDEX operations_by_kind   ON operations (kind, id);

-- What a node's ramdisk agent said last: beside the node, so that a heartbeat
-- is one small row update.
CREATE TABLE agents (
    node_id            bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    url                text        NOT NULL DEFAULT '',
    version            text        NOT NULL DEFAULT '',
    verify_ca          text        NOT NULL DEFAULT '',
    looked_up_at       timestamptz,
    first_heartbeat_at timestamptz,
    last_heartbeat_at  timestamptz,
    inspected_at       timestamptz,
    token_revealed     integer     NOT NULL DEFAULT 0,
    token_source       text        NOT NULL DEFAULT ''
) WITH (fillfactor = 70);

-- Sealed values: driver_info/KEY, instance_info/KEY, agent_token,
-- operation/ID/steps/INDEX/args/KEY. The associated data is node uuid and name.
CREATE TABLE secrets (
    node_id    bigint NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    name       text   NOT NULL,
    key_id     bigint NOT NULL,
    ciphertext bytea  NOT NULL,
    PRIMARY KEY (node_id, name)
);
CREATE INDEX secrets_by_key ON secrets (key_id);

CREATE TABLE conductors (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hostname     text        NOT NULL UNIQUE CHECK (hostname <> '' AND length(hostname) <= 255),
    incarnation  bigint      NOT NULL,
    conductor_group text     NOT NULL DEFAULT '',
    interfaces   jsonb       NOT NULL DEFAULT '{}',
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    draining     boolean     NOT NULL DEFAULT false,
    stopped_at   timestamptz
);
CREATE SEQUENCE conductor_incarnations;

-- The newest 300 a node are kept; seq counts them and makes pruning one probe.
CREATE TABLE node_history (
    node_id      bigint NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    seq          bigint NOT NULL,
    uuid         uuid        NOT NULL DEFAULT gen_random_uuid(),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    event        text        NOT NULL,
    event_type   text        NOT NULL,
    severity     text        NOT NULL DEFAULT 'INFO',
    conductor    text        NOT NULL DEFAULT '',
    username     text        NOT NULL DEFAULT '',
    operation_id bigint,
    PRIMARY KEY (node_id, seq)
);

CREATE TABLE node_inventory (
    node_id     bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    inventory   jsonb       NOT NULL,
    plugin_data jsonb       NOT NULL DEFAULT '{}',
    collected_at timestamptz NOT NULL DEFAULT now()
);
