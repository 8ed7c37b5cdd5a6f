-- +goose Up

-- Nodes, what they stand in, and what belongs to one node.

CREATE TABLE chassis (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid        NOT NULL CONSTRAINT chassis_uuid_taken UNIQUE,
    description text        CHECK (length(description) <= 255),
    extra       jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz
);
COMMENT ON TABLE chassis IS 'Enclosures of several nodes.';

CREATE TABLE nodes (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                    uuid        NOT NULL CONSTRAINT nodes_uuid_taken UNIQUE,
    name                    text        CONSTRAINT nodes_name_taken UNIQUE CHECK (name <> '' AND length(name) <= 255),
    driver                  text        NOT NULL CHECK (driver <> '' AND length(driver) <= 255),
    interfaces              jsonb       NOT NULL DEFAULT '{}', -- {"power": "redfish", ...}
    driver_info             jsonb       NOT NULL DEFAULT '{}',
    driver_internal_info    jsonb       NOT NULL DEFAULT '{}',
    properties              jsonb       NOT NULL DEFAULT '{}',
    extra                   jsonb       NOT NULL DEFAULT '{}',
    instance_info           jsonb       NOT NULL DEFAULT '{}',
    network_data            jsonb       NOT NULL DEFAULT '{}',
    conductor_group         text        NOT NULL DEFAULT '' CHECK (conductor_group ~ '^[a-z0-9_.-]*$' AND length(conductor_group) <= 255),
    need_id                 bigint      NOT NULL, -- the row of needs; kept by the trigger node_need_changed
    resource_class          text        CHECK (length(resource_class) <= 80),
    owner                   text        CHECK (length(owner) <= 255),
    lessee                  text        CHECK (length(lessee) <= 255),
    description             text        CHECK (length(description) <= 4096),
    shard                   text        CHECK (length(shard) <= 255),
    parent_node             uuid,
    chassis_uuid            uuid        CONSTRAINT chassis_have_nodes REFERENCES chassis (uuid),
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
    console_enabled         boolean     NOT NULL DEFAULT false, -- a conductor is to hold the serial console open for clients
    maintenance             boolean     NOT NULL DEFAULT false,
    maintenance_reason      text,
    maintenance_by_fault    boolean     NOT NULL DEFAULT false, -- a failure has set it, and no person since
    maintenance_since       timestamptz, -- kept by the trigger node_maintained_changed
    fault                   text        CHECK (fault IN ('power failure', 'clean failure', 'rescue abort failure', 'service failure')),
    protected               boolean     NOT NULL DEFAULT false,
    protected_reason        text,
    retired                 boolean     NOT NULL DEFAULT false,
    retired_reason          text,
    automated_clean         boolean,    -- null = the configuration decides
    disable_power_off       boolean     NOT NULL DEFAULT false,
    raid_config             jsonb       NOT NULL DEFAULT '{}',
    target_raid_config      jsonb       NOT NULL DEFAULT '{}',
    traits                  text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(traits) <= 50),
    inspection_started_at   timestamptz,
    inspection_finished_at  timestamptz,
    owed                    jsonb       NOT NULL DEFAULT '[]',  -- undos that nobody could do yet
    owed_tried_at           timestamptz,                        -- when the latest try to do them began
    owed_tries              integer     NOT NULL DEFAULT 0,     -- tries since the node began to owe something; the pauses between them grow
    owed_error              text,                               -- why the latest try failed
    owed_refused            boolean     NOT NULL DEFAULT false, -- the hardware refused for good: no more tries until something changes
    reached_since           timestamptz,                        -- when somebody last changed how the BMC is reached
    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz,
    prepared_since          timestamptz                         -- when somebody last changed what is deployed, or to which disk
) WITH (fillfactor = 85); -- room for heap-only updates: most of what changes is not indexed
COMMENT ON TABLE nodes IS 'Servers. A dictionary has ****** where a secret was; the table secrets has the encrypted values. Reservation, deploy_step and clean_step are derived from the open operation.';
CREATE UNIQUE INDEX nodes_instance_uuid_taken   ON nodes (instance_uuid) WHERE instance_uuid IS NOT NULL;
CREATE UNIQUE INDEX nodes_allocation_uuid_taken ON nodes (allocation_uuid) WHERE allocation_uuid IS NOT NULL;
CREATE INDEX nodes_by_state         ON nodes (provision_state, id);
CREATE INDEX nodes_by_driver        ON nodes (conductor_group, driver, id);
CREATE INDEX nodes_by_driver_all    ON nodes (driver, id);
CREATE INDEX nodes_by_need          ON nodes (need_id, id);
CREATE INDEX nodes_by_class         ON nodes (resource_class, id);
CREATE INDEX nodes_by_owner         ON nodes (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX nodes_by_lessee        ON nodes (lessee, id) WHERE lessee IS NOT NULL;
CREATE INDEX nodes_by_shard         ON nodes (shard, id);
CREATE INDEX nodes_by_parent        ON nodes (parent_node, id) WHERE parent_node IS NOT NULL;
CREATE INDEX nodes_by_chassis       ON nodes (chassis_uuid, id) WHERE chassis_uuid IS NOT NULL;
CREATE INDEX nodes_by_fault         ON nodes (fault, id) WHERE fault IS NOT NULL;
CREATE INDEX nodes_by_instance_name ON nodes (instance_name, id) WHERE instance_name IS NOT NULL;
CREATE INDEX nodes_with_instance    ON nodes (id) WHERE instance_uuid IS NOT NULL;
CREATE INDEX nodes_in_maintenance   ON nodes (id) WHERE maintenance;
CREATE INDEX nodes_retired          ON nodes (id) WHERE retired;
CREATE INDEX nodes_with_console     ON nodes (id) WHERE console_enabled;
CREATE INDEX nodes_owing            ON nodes (id) WHERE owed <> '[]';
CREATE INDEX nodes_not_enrolled     ON nodes (id) WHERE provision_state = 'enroll' AND last_error IS NOT NULL;
-- For lists of free nodes, as a scheduler asks for them. Power state and fault change too often to be part of the predicate.
CREATE INDEX nodes_free             ON nodes (id) WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT retired;
CREATE INDEX nodes_free_by_class    ON nodes (resource_class, id) WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT retired;
CREATE INDEX nodes_free_by_trait    ON nodes USING gin (traits) WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT retired;

CREATE TABLE portgroups (
    id                         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                       uuid        NOT NULL CONSTRAINT portgroups_uuid_taken UNIQUE,
    node_id                    bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    address                    text        CONSTRAINT portgroups_address_taken UNIQUE CHECK (address <> '' AND length(address) <= 255),
    name                       text        CONSTRAINT portgroups_name_taken UNIQUE CHECK (name <> '' AND length(name) <= 255),
    mode                       text        NOT NULL CHECK (mode <> '' AND length(mode) <= 255),
    properties                 jsonb       NOT NULL DEFAULT '{}',
    standalone_ports_supported boolean     NOT NULL DEFAULT true,
    physical_network           text        CHECK (length(physical_network) <= 64),
    category                   text        CHECK (length(category) <= 80),
    dynamic_portgroup          boolean     NOT NULL DEFAULT false,
    extra                      jsonb       NOT NULL DEFAULT '{}',
    internal_info              jsonb       NOT NULL DEFAULT '{}',
    created_at                 timestamptz NOT NULL DEFAULT now(),
    updated_at                 timestamptz,
    UNIQUE (uuid, node_id) -- a port and its group belong to one node
);
COMMENT ON TABLE portgroups IS 'Ports of a node that are used as one.';
CREATE INDEX portgroups_by_node ON portgroups (node_id, id);

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
    portgroup_uuid        uuid,
    vendor                text        CHECK (length(vendor) <= 32),
    category              text        CHECK (length(category) <= 80),
    available_for_dynamic_portgroup boolean NOT NULL DEFAULT true,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz,
    CONSTRAINT portgroups_have_ports FOREIGN KEY (portgroup_uuid, node_id) REFERENCES portgroups (uuid, node_id)
);
COMMENT ON TABLE ports IS 'Network interfaces of nodes, by MAC address.';
CREATE INDEX ports_by_node ON ports (node_id, id);
CREATE INDEX ports_by_portgroup ON ports (portgroup_uuid, id) WHERE portgroup_uuid IS NOT NULL;

CREATE TABLE volume_connectors (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid         uuid        NOT NULL CONSTRAINT volume_connectors_uuid_taken UNIQUE,
    node_id      bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    type         text        NOT NULL CHECK (length(type) <= 32),
    connector_id text        NOT NULL CHECK (length(connector_id) <= 255),
    extra        jsonb       NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz,
    CONSTRAINT volume_connectors_id_taken UNIQUE (type, connector_id)
);
COMMENT ON TABLE volume_connectors IS 'What nodes are known by to storage systems.';
CREATE INDEX volume_connectors_by_node ON volume_connectors (node_id, id);

CREATE TABLE volume_targets (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid        NOT NULL CONSTRAINT volume_targets_uuid_taken UNIQUE,
    node_id     bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    volume_type text        NOT NULL CHECK (length(volume_type) <= 64),
    volume_id   text        NOT NULL CHECK (length(volume_id) <= 36),
    boot_index  integer     NOT NULL,
    properties  jsonb       NOT NULL DEFAULT '{}',
    extra       jsonb       NOT NULL DEFAULT '{}',
    key_id      bigint      NOT NULL, -- of the secrets of properties, which are sealed as one value
    seal        smallint    NOT NULL,
    ciphertext  bytea,                -- null = there are none
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz,
    CONSTRAINT volume_targets_boot_index_taken UNIQUE (boot_index, node_id)
);
COMMENT ON TABLE volume_targets IS 'The volumes that nodes have.';
CREATE INDEX volume_targets_by_node ON volume_targets (node_id, id);

CREATE TABLE agents (
    node_id            bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    url                text        NOT NULL DEFAULT '',
    version            text        NOT NULL DEFAULT '',
    verify_ca          text        NOT NULL DEFAULT '',
    looked_up_at       timestamptz,
    first_heartbeat_at timestamptz,
    last_heartbeat_at  timestamptz,
    inspected_at       timestamptz,
    inspected_source   text        NOT NULL DEFAULT '', -- who sent the inventory of this boot: MACs and address
    token_revealed     integer     NOT NULL DEFAULT 0,  -- how often the token was sent to an agent
    token_source       text        NOT NULL DEFAULT '', -- who got it first: MACs and address
    refused_source     text        NOT NULL DEFAULT '', -- who was refused the token last because somebody else had it
    refused_at         timestamptz,
    medium_read_since  timestamptz,                     -- when the server began to read the medium of this boot, where Temper makes it
    medium_read_at     timestamptz,                     -- when it read the medium last
    medium_read_bytes  bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
COMMENT ON TABLE agents IS 'What the ramdisk agent of a node said last. It is not in the row of the node, so that a heartbeat updates one small row. A row is there from right before the server boots its agent: until then no agent is looked up.';

CREATE TABLE media (
    node_id       bigint PRIMARY KEY REFERENCES agents (node_id) ON DELETE CASCADE,
    key_hash      bytea  NOT NULL, -- SHA-256 of the secret part of its path
    contents      jsonb  NOT NULL, -- node.Medium; the agent's token is among the secrets
    CONSTRAINT media_key_taken UNIQUE (key_hash)
) WITH (fillfactor = 70);
COMMENT ON TABLE media IS 'From which CD the agent of a node boots, where Temper makes the CD while it is read. It ends with the agent of the boot.';

CREATE TABLE dhcp_leases (
    address inet        PRIMARY KEY,
    holder  text        NOT NULL, -- the MAC of a server; declined = somebody uses the address whom no process knows
    until   timestamptz NOT NULL
);
COMMENT ON TABLE dhcp_leases IS 'Addresses that temper boot has given to servers that boot by network. One that is over is given out again.';
CREATE INDEX dhcp_leases_by_holder ON dhcp_leases (holder);

CREATE TABLE discoveries (
    uuid         uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
    macs         text[]      NOT NULL CHECK (cardinality(macs) > 0),
    boot_mac     text        NOT NULL,
    manufacturer text        NOT NULL,
    product      text        NOT NULL,
    serial       text        NOT NULL,
    bmc_address  text        NOT NULL,
    arch         text        NOT NULL,
    boot_mode    text        NOT NULL,
    cpus         bigint      NOT NULL,
    memory_mb    bigint      NOT NULL,
    disk_gb      bigint      NOT NULL,
    source       text        NOT NULL,
    found_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    times        bigint      NOT NULL DEFAULT 1,
    inventory    jsonb       NOT NULL
);
COMMENT ON TABLE discoveries IS 'Servers that are not enrolled, as their agents found them. One whose MAC a port has is no discovery any more.';
CREATE INDEX discoveries_by_mac ON discoveries USING gin (macs);

-- A server is known as soon as a port has one of its MACs, whoever makes that port. A node that is deleted later does not bring it back.
-- +goose StatementBegin
CREATE FUNCTION forget_discovery() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM discoveries WHERE macs @> ARRAY[NEW.address];
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER forget_discovery AFTER INSERT OR UPDATE OF address ON ports FOR EACH ROW EXECUTE FUNCTION forget_discovery();
CREATE INDEX discoveries_by_time ON discoveries (found_at, uuid);

CREATE TABLE node_logs (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id      bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    operation_id bigint      NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('agent', 'console')),
    step         text        NOT NULL,
    conductor    text        NOT NULL, -- that has collected it
    at           timestamptz NOT NULL,
    content      text        NOT NULL  -- at most a MiB
);
COMMENT ON TABLE node_logs IS 'What agents and servers wrote in a node''s last operations: the last few.';
CREATE INDEX node_logs_by_node ON node_logs (node_id, kind, id);

CREATE TABLE bmc_requests (
    node_id       bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    name          text        NOT NULL DEFAULT '', -- bmc.Request.Name: what it asks for
    conductor     text        NOT NULL DEFAULT '', -- that sent it
    repeated      boolean     NOT NULL DEFAULT false, -- it was sent while an earlier one of the same name could take effect
    until         timestamptz,                     -- it takes no effect after that; null = it was answered, or there was none
    answer_within bigint      NOT NULL DEFAULT 0,  -- how long the answers of the BMC are awaited by now, in microseconds; 0 = not known
    -- How many requests were recorded for the node so far. It tells whether one was recorded after something else was: so an insertion
    -- that was only announced is not waited for.
    sent          bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
COMMENT ON TABLE bmc_requests IS 'The last request to the BMC of a node that changes something. It is written right before the request is sent, by the statement that checks the claim.';

CREATE TABLE power_readings (
    node_id    bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    written_at timestamptz NOT NULL, -- power_read_at of the node when the state was read again: if that has changed since, the row means nothing
    read_at    timestamptz NOT NULL  -- when the same state was read last
) WITH (fillfactor = 45); -- a refresh writes all rows: room for a second version of each, heap-only
COMMENT ON TABLE power_readings IS 'When the power state of a node was last read without a change. So a reading that finds nothing new locks and changes no node, and is no event.';

CREATE TABLE bmc_silences (
    node_id  bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    bmc      text        NOT NULL, -- node.Node.BMC: the nodes of one BMC have the same
    since    timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it gave no answer for the first time
    asked_at timestamptz NOT NULL, -- when it was asked last,
    asked_by text        NOT NULL, -- and by which conductor
    next_at  timestamptz NOT NULL, -- nobody asks it before
    seen     text        NOT NULL, -- the error of the last time
    asking   boolean     NOT NULL DEFAULT false -- asked_by asks the BMC since asked_at, and nobody knows yet what becomes of that; then next_at is until when its answer is awaited
) WITH (fillfactor = 70);
COMMENT ON TABLE bmc_silences IS 'BMCs that give no answer, by the nodes of which somebody has noticed it. All nodes of one BMC are asked together, and forgotten together when it answers.';
CREATE INDEX bmc_silences_by_bmc ON bmc_silences (bmc);
CREATE INDEX bmc_silences_due ON bmc_silences (next_at);

CREATE TABLE bmc_sessions (
    address   text        NOT NULL, -- of the BMC, as its driver writes it
    path      text        NOT NULL, -- of the session at the BMC; its token is not stored
    created   text        NOT NULL, -- when it was created, as the BMC reports it; '' = it does not. BMCs use paths again for later sessions
    conductor text        NOT NULL, -- that opened it
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (address, path)
);
COMMENT ON TABLE bmc_sessions IS 'Sessions that conductors have with BMCs. If a conductor dies, the next one that logs in to the BMC ends its sessions, because a BMC allows few.';
CREATE INDEX bmc_sessions_by_age ON bmc_sessions (opened_at);

CREATE TABLE bmc_subscriptions (
    id        text        PRIMARY KEY, -- SHA-256 of the secret at the end of the URL to which the BMC sends its events
    address   text        NOT NULL,    -- of the BMC, as its driver writes it
    conductor text        NOT NULL,    -- that waits for the events; '' = it could not delete the subscription
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE bmc_subscriptions IS 'Subscriptions that conductors have to the events of BMCs. If a conductor dies, the next one that logs in to the BMC deletes them, because a BMC keeps them for ever.';
CREATE INDEX bmc_subscriptions_by_address ON bmc_subscriptions (address);
CREATE INDEX bmc_subscriptions_by_age ON bmc_subscriptions (opened_at);

CREATE SEQUENCE console_claims;
CREATE TABLE consoles (
    node_id     bigint  PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    claim       bigint  NOT NULL DEFAULT nextval('console_claims'), -- each holder has a greater one than those before it
    conductor   text    NOT NULL,               -- the holder,
    incarnation bigint  NOT NULL,               -- and which process of this name
    address     text    NOT NULL DEFAULT '',    -- host:port at which it listens; '' = it could not
    session     boolean NOT NULL DEFAULT false, -- a session with the BMC may have its console
    error       text    NOT NULL DEFAULT '',    -- why the last try to listen or to open the BMC's console failed; '' = it did not
    error_at    timestamptz,
    next_at     timestamptz                     -- when it is tried again; null = with the next client
) WITH (fillfactor = 70);
COMMENT ON TABLE consoles IS 'Which conductor holds the serial console of a node for clients. A row counts only while its conductor is alive and the console is enabled, so nobody has to delete rows of the dead.';
CREATE INDEX consoles_by_conductor ON consoles (conductor);

CREATE TABLE node_health (
    node_id bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    status  text        NOT NULL CHECK (status IN ('unknown', 'ok', 'warning', 'critical')),
    reasons jsonb       NOT NULL DEFAULT '[]', -- node.HealthReason, the worst first
    since   timestamptz NOT NULL,              -- since when the status is this one
    read_at timestamptz NOT NULL               -- when it was read last
) WITH (fillfactor = 70);
COMMENT ON TABLE node_health IS 'The health of nodes as their BMCs told it last. It is not in the row of the node, so that a reading locks and changes no node.';
CREATE INDEX node_health_by_status ON node_health (status, node_id);

CREATE TABLE secrets (
    node_id    bigint   NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    name       text     NOT NULL, -- driver_info/KEY, instance_info/KEY, agent_token, bmc_password/pending, operation/ID/steps/INDEX/args/KEY
    key_id     bigint   NOT NULL, -- of the keyset's key
    seal       smallint NOT NULL, -- version of the seal. 2 binds the value to its node, its name and what decides where it is sent (secret.DestinationOf)
    ciphertext bytea    NOT NULL,
    PRIMARY KEY (node_id, name)
);
COMMENT ON TABLE secrets IS 'Encrypted values. The program has the keys, the database has none.';
CREATE INDEX secrets_by_key ON secrets (key_id);

CREATE TABLE node_inventory (
    node_id      bigint      PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    inventory    jsonb       NOT NULL,
    plugin_data  jsonb       NOT NULL DEFAULT '{}',
    collected_at timestamptz NOT NULL DEFAULT now(),
    operation_id bigint, -- whose inspection it is
    facts        jsonb       NOT NULL DEFAULT '{}', -- inventory.Parts.Facts: what is compared with other nodes
    changes      jsonb, -- inventory.Changes since the inspection before; null = there was none before
    before       jsonb, -- inventory.Parts of the inspection before
    before_at    timestamptz
);
COMMENT ON TABLE node_inventory IS 'What the latest inspection of a node found.';

CREATE TABLE node_readings (
    node_id   bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    interface text        NOT NULL CHECK (interface IN ('bios', 'firmware', 'raid')),
    data      jsonb       NOT NULL, -- bios: node.BIOSReading, firmware: node.FirmwareReading
    first_at  timestamptz NOT NULL, -- when it was read for the first time
    read_at   timestamptz NOT NULL, -- when it was read last
    PRIMARY KEY (node_id, interface)
);
COMMENT ON TABLE node_readings IS 'What was read last through interfaces of nodes: lists that clients get without a question to the BMC.';

CREATE TABLE deleted_nodes (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id         bigint      NOT NULL UNIQUE, -- of its history
    uuid            uuid        NOT NULL,
    name            text,
    driver          text        NOT NULL,
    conductor_group text        NOT NULL,
    resource_class  text,
    provision_state text        NOT NULL,
    created_at      timestamptz NOT NULL,
    deleted_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_by      text        NOT NULL DEFAULT ''
);
COMMENT ON TABLE deleted_nodes IS 'Nodes that were deleted. Histories and operations of them stay for deleted_node_retention. An id of nodes is never used again, so a later node with the same uuid or name is another one.';
CREATE INDEX deleted_nodes_by_uuid ON deleted_nodes (uuid, id);
CREATE INDEX deleted_nodes_by_name ON deleted_nodes (name, id);
CREATE INDEX deleted_nodes_by_time ON deleted_nodes (deleted_at);

-- Operations.

CREATE TABLE operations (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id           bigint      REFERENCES nodes (id) ON DELETE SET NULL, -- null = the node was deleted
    node_uuid         uuid        NOT NULL,
    node_name         text        NOT NULL DEFAULT '',
    kind              text        NOT NULL CHECK (kind IN ('manage', 'provide', 'clean', 'inspect', 'deploy', 'rebuild', 'undeploy', 'rescue', 'unrescue', 'adopt', 'service', 'power', 'boot_device', 'nmi', 'boot_mode', 'secure_boot', 'indicator', 'attach_virtual_media', 'detach_virtual_media', 'bmc_password', 'vendor_passthru', 'undo')),
    -- What a phase means, and what leads from one to another, is in docs/operation-states.md.
    phase             text        NOT NULL CHECK (phase IN ('accepted', 'running', 'waiting', 'holding', 'undoing', 'ended')),
    state             text        NOT NULL DEFAULT 'accepted', -- as clients see it (node.Operation.State)
    version           bigint      NOT NULL DEFAULT 0,  -- grows with each write that a conductor's save has to know
    outcome           text        CHECK (outcome IN ('succeeded', 'failed', 'cancelled')),
    error             text,                            -- why it failed or was ended, or what it holds or is undone for
    cause             text,                            -- the same as a code (package fault)
    requested_by      text        NOT NULL DEFAULT '',
    origin            text        NOT NULL,            -- the node's provision state before
    target            text        NOT NULL DEFAULT '', -- the provision state it is to reach
    power_target      text        NOT NULL DEFAULT '',
    soft_timeout_ms   bigint      NOT NULL DEFAULT 0,  -- of a soft power request
    on_failure        text        NOT NULL DEFAULT 'fail' CHECK (on_failure IN ('fail', 'hold')), -- when a step fails for good
    accepted_at       timestamptz NOT NULL DEFAULT now(),
    begun_at          timestamptz,
    ended_at          timestamptz,
    run_id            text,                            -- of the workflow in Temporal
    conductor_group   text        NOT NULL,
    driver            text        NOT NULL,
    steps             jsonb       NOT NULL DEFAULT '[]',
    undo              jsonb       NOT NULL DEFAULT '[]', -- the undos to do when the operation ends
    decisions         jsonb       NOT NULL DEFAULT '[]', -- the decisions about failed steps: who, when, what and why
    retry_of          bigint,
    follow_up         bigint,                          -- the operation that was opened when this one ended
    -- The claim: who may write. A newer pair (claim_seq, claim_attempt) ends the older one.
    claim_seq         bigint      NOT NULL DEFAULT 0,
    claim_attempt     integer     NOT NULL DEFAULT 0,
    claim_started     timestamptz,                     -- when Temporal began the attempt. After a reset of the activity attempts are counted from one again, but this time still grows
    claimed_at        timestamptz,
    conductor         text        NOT NULL DEFAULT '',
    claim_incarnation bigint      NOT NULL DEFAULT 0,  -- the conductor's process
    claim_empty       boolean     NOT NULL DEFAULT false, -- nothing was written under it yet: no progress, no failure, no hand-over. If the process dies now, the step may be the cause
    claim_lost_at     timestamptz,                     -- the last heartbeat of that process, if another one has its name now
    handed_over       boolean     NOT NULL DEFAULT false, -- the conductor has recorded that it stopped working on the step, so that another one may continue at once
    -- What it waits for.
    waiting_for       text        NOT NULL DEFAULT '',
    waiting_until     timestamptz,
    in_maintenance    boolean     NOT NULL DEFAULT false, -- accepted while its node was in maintenance: such an operation is never paused
    paused            boolean     NOT NULL DEFAULT false, -- the node was put into maintenance since
    orphaned          boolean     NOT NULL DEFAULT false, -- paused, and the process that worked on it last has died
    stalled           text        NOT NULL DEFAULT '' CHECK (stalled IN ('', 'conductor', 'maintenance', 'deaths')), -- why it can't go on; deaths = conductors died of the step, and the next try is put off
    stalled_at        timestamptz,
    kept_for          text        NOT NULL DEFAULT '', -- waiting_for as it was before it was stalled,
    kept_left         interval,                        -- and how much time was left for that
    temporal_pause    jsonb,                           -- somebody has paused the workflow, or the activity that it waits for, in Temporal (node.Pause)
    missing_since     timestamptz,                     -- since when Temporal does not know the workflow
    step_wait         jsonb,                           -- what its running step waits for, as it was seen last (node.Wait)
    -- From when on it takes longer than it should, and why (node.Operation.Lateness).
    late_at           timestamptz,                     -- null = never
    late_cause        text        NOT NULL DEFAULT '', -- '' = nobody knows
    late_cause_at     timestamptz,                     -- from when on late_cause is known to be why
    late_since        timestamptz,                     -- since when what late_cause names has lasted; null = since late_at
    -- What somebody wants of it.
    asked             text        NOT NULL DEFAULT '' CHECK (asked IN ('', 'cancel', 'abort', 'delete', 'unhold', 'power')),
    asked_end         boolean     NOT NULL DEFAULT false, -- asked is for its end (node.Ask.Ends)
    asked_by          text        NOT NULL DEFAULT '',
    asked_reason      text        NOT NULL DEFAULT '',
    asked_power       text        NOT NULL DEFAULT '',
    asked_at          timestamptz,
    -- How long its steps usually take.
    model             text        NOT NULL DEFAULT '', -- of its node, as node_model() gives it
    image             text        NOT NULL DEFAULT '', -- which image its node has, as image_key() gives it; '' = none
    usual_until       timestamptz,                     -- until then its current step usually has ended; null = not known
    entries           integer     NOT NULL DEFAULT 0,  -- how many entries its timeline has got (events.operation_seq)
    -- Undos of a node that failed one after the other with the same cause. In lists the last one stands for all.
    repeats           bigint      NOT NULL DEFAULT 0,  -- how many there were before it,
    repeats_since     timestamptz,                     -- when the first of them was accepted,
    repeated_by       bigint,                          -- and the next one
    -- The end of the id of its workflow in Temporal. It is random, so that no other workflow has that id: neither that of an operation
    -- which had the same number before the database was restored from a backup, nor one that somebody started.
    workflow_suffix   text        NOT NULL DEFAULT left(gen_random_uuid()::text, 8),
    CONSTRAINT operations_repeats_since     CHECK ((repeats = 0) = (repeats_since IS NULL)),
    CONSTRAINT operations_ended_has_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT operations_error_has_cause   CHECK ((error IS NULL) = (cause IS NULL)),
    CONSTRAINT operations_ended_phase       CHECK ((ended_at IS NULL) = (phase <> 'ended')),
    CONSTRAINT operations_begun_has_run     CHECK ((begun_at IS NULL) = (run_id IS NULL)),
    CONSTRAINT operations_open_has_node     CHECK (ended_at IS NOT NULL OR node_id IS NOT NULL),
    CONSTRAINT operations_stalled_since     CHECK ((stalled = '') = (stalled_at IS NULL)),
    CONSTRAINT operations_stalled_waits     CHECK (stalled = '' OR phase = 'waiting'),
    CONSTRAINT operations_kept_in_stall     CHECK (stalled <> '' OR kept_for = '' AND kept_left IS NULL),
    CONSTRAINT operations_never_paused      CHECK (NOT (paused AND in_maintenance)),
    CONSTRAINT operations_paused_open       CHECK (NOT paused OR ended_at IS NULL),
    CONSTRAINT operations_orphaned_paused   CHECK (paused OR NOT orphaned),
    CONSTRAINT operations_temporal_open     CHECK (temporal_pause IS NULL OR ended_at IS NULL),
    CONSTRAINT operations_ended_waits_not   CHECK (ended_at IS NULL OR waiting_for = '' AND waiting_until IS NULL AND step_wait IS NULL)
) WITH (fillfactor = 50); -- what changes while an operation is open is not indexed, except for the conductor: each write of it is a heap-only update
COMMENT ON TABLE operations IS 'Pieces of work on nodes. An operation is open, and holds its node, until ended_at is set.';
CREATE UNIQUE INDEX operations_one_open_per_node ON operations (node_id) WHERE ended_at IS NULL;
CREATE INDEX operations_open       ON operations (id) WHERE ended_at IS NULL;
CREATE INDEX operations_failed     ON operations (node_id, id) INCLUDE (cause) WHERE cause IS NOT NULL;
CREATE INDEX operations_power_failed ON operations (ended_at) WHERE kind = 'power' AND outcome = 'failed';
CREATE INDEX operations_uncovered  ON operations (node_id) WHERE stalled = 'conductor' AND ended_at IS NULL;
CREATE INDEX operations_asked      ON operations (asked_at) WHERE asked_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX operations_missing    ON operations (id) WHERE missing_since IS NOT NULL;
CREATE INDEX operations_of_node    ON operations (node_id, id); -- for the foreign key, and the latest of a node
CREATE INDEX operations_by_node    ON operations (node_uuid, id);
CREATE INDEX operations_by_kind    ON operations (kind, id);
CREATE INDEX operations_by_conductor ON operations (conductor, id) WHERE conductor <> '';
CREATE INDEX operations_folded     ON operations (id) WHERE repeated_by IS NULL;
CREATE INDEX operations_by_age     ON operations (accepted_at);
CREATE INDEX operations_by_outcome ON operations (outcome, id) WHERE outcome IS NOT NULL;
CREATE INDEX operations_by_cause   ON operations (cause, id) WHERE cause IS NOT NULL;
-- Operations whose error says that an undo is still owed. The error is changed when the undo is done or waived.
CREATE INDEX operations_left       ON operations (node_uuid) WHERE error LIKE '%; what it left is still to be undone: %';

CREATE TABLE ended_operations (
    operation_id bigint PRIMARY KEY
);
COMMENT ON TABLE ended_operations IS 'Operations that have ended, and whose steps are not counted in step_times yet. Who ends an operation adds it; the reconciliation that counts its steps deletes it.';

-- Each sample is counted up to three times: for the step, for the step and model, and for the step, model and image.
CREATE TABLE step_times (
    model    text        NOT NULL, -- '' = all models
    image    text        NOT NULL, -- '' = all images
    step     text        NOT NULL, -- interface.step
    took_ms  bigint[]    NOT NULL, -- the latest samples, the newest first
    samples  integer     NOT NULL, -- how many these are
    usual_ms bigint      NOT NULL, -- 95 % of them took no longer
    ended_at timestamptz NOT NULL, -- when the newest step ended
    PRIMARY KEY (model, image, step)
);
COMMENT ON TABLE step_times IS 'How long steps take in this fleet. The rows that were not written for the longest time are deleted when there are too many.';

CREATE TABLE idempotency_keys (
    node_id      bigint      NOT NULL REFERENCES nodes ON DELETE CASCADE,
    key          text        NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    operation_id bigint      REFERENCES operations ON DELETE CASCADE, -- null = the node changed its state at once, without an operation
    seal         smallint    NOT NULL,
    digest       bytea       NOT NULL, -- of the request's body. It is encrypted: the body may contain secrets, and with the digest they could be guessed
    accepted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (node_id, key)
);
COMMENT ON TABLE idempotency_keys IS 'Requests with an idempotency key that were accepted. The same request, sent again, gets the same operation.';
CREATE INDEX idempotency_keys_by_age       ON idempotency_keys (accepted_at);
CREATE INDEX idempotency_keys_of_operation ON idempotency_keys (operation_id); -- for the foreign key

CREATE TABLE lost_temporal (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    said_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    said_by text        NOT NULL,
    reason  text        NOT NULL
);
COMMENT ON TABLE lost_temporal IS 'An operator said that Temporal has lost its data. Operations that Temporal does not know are then closed at once, however many they are.';

-- Conductors, and which nodes they cover.

CREATE SEQUENCE conductor_incarnations;
CREATE TABLE conductors (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hostname        text        NOT NULL UNIQUE CHECK (hostname <> '' AND length(hostname) <= 255),
    incarnation     bigint      NOT NULL, -- the newest process of this name
    conductor_group text        NOT NULL DEFAULT '',
    interfaces      jsonb       NOT NULL DEFAULT '{}', -- {driver: {interface: [implementation, ...]}}
    started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    polled_at       timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it last reached Temporal; a conductor that can't reach it gets no steps
    draining        boolean     NOT NULL DEFAULT false,
    leaving         boolean     NOT NULL DEFAULT false, -- its process stops: it drains, and nobody can take that back
    stopped_at      timestamptz
);
COMMENT ON TABLE conductors IS 'All conductors that ever registered and were not forgotten, dead ones included.';

CREATE TABLE witness (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    seen_at       timestamptz, -- when a witness wrote last
    gap_from      timestamptz, -- when a witness wrote last before the latest gap,
    gap_until     timestamptz, -- and when one first wrote after it
    gap_seen      boolean NOT NULL DEFAULT false, -- a process that had written before the gap wrote after it, too
    contact_at    timestamptz, -- the latest contact of any orchestrator or conductor with Temporal,
    contact_from  timestamptz, -- the same for the latest gap in these contacts
    contact_until timestamptz
) WITH (fillfactor = 10); -- one row that is written each second
COMMENT ON TABLE witness IS 'One row that every API and orchestrator writes again and again. A gap between two writings means that the database was away or its clock stepped; nobody is taken for dead who was alive before it.';
INSERT INTO witness DEFAULT VALUES;

CREATE TABLE outages (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    part     text        NOT NULL CHECK (part IN ('postgresql', 'temporal')),
    from_at  timestamptz NOT NULL,
    until_at timestamptz NOT NULL,
    CHECK (from_at < until_at)
);
CREATE INDEX outages_by_end ON outages (until_at);
COMMENT ON TABLE outages IS 'Times in which no API and no orchestrator reached the database, or no orchestrator reached Temporal, and which are over. The first that reaches it again writes the row; the latest 1,000 are kept.';

CREATE TABLE processes (
    role        text        NOT NULL CHECK (role IN ('api', 'orchestrator', 'conductor', 'boot')),
    name        text        NOT NULL CHECK (name <> '' AND length(name) <= 300), -- a conductor's hostname; else host/pid
    version     text        NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it wrote its row last
    clock_ahead interval,   -- by how much its clock is ahead of this database's; null = not known
    clock_error interval,   -- by how much clock_ahead may be wrong at most
    PRIMARY KEY (role, name)
) WITH (fillfactor = 50); -- each row is written every few seconds
COMMENT ON TABLE processes IS 'Processes of Temper that run. Each writes its row again and again, and deletes it when it stops.';

-- Nodes with the same requirements for a conductor share a row, so that their coverage is computed once.
-- lost_at, covered_at, losses and held are what reconciliation saw; it writes them only when they change.
CREATE TABLE needs (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conductor_group text          NOT NULL,
    driver          text          NOT NULL,
    wants           jsonb         NOT NULL, -- {driver: {interface: [implementation]}}, which the interfaces of a conductor have to contain
    lost_at         timestamptz,            -- since when its nodes are in quarantine; null = they are not
    covered_at      timestamptz,            -- since when a held row is covered again
    losses          timestamptz[] NOT NULL DEFAULT '{}', -- when it lost coverage lately, oldest first
    held            boolean       NOT NULL DEFAULT false, -- lost coverage too often: its nodes are offered again only when coverage has lasted
    CONSTRAINT needs_once UNIQUE (conductor_group, wants)
);
COMMENT ON TABLE needs IS 'What nodes need of a conductor: a conductor group, and a driver with interfaces. Rows are never deleted.';

CREATE TABLE node_counts (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    need_id         bigint  NOT NULL,
    resource_class  text    NOT NULL, -- '' = the nodes have none
    provision_state text    NOT NULL,
    looked_after    boolean NOT NULL, -- node_looked_after()
    nodes           bigint  NOT NULL  -- how many more there are; negative = fewer
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
COMMENT ON TABLE node_counts IS 'How many nodes there are of each need, resource class and provision state: the sum of the rows. Triggers only add rows, so that writers of nodes never wait for each other; reconciliation adds them up.';

CREATE TABLE quarantines (
    node_id bigint      PRIMARY KEY,
    need_id bigint      NOT NULL,
    since   timestamptz NOT NULL
);
COMMENT ON TABLE quarantines IS 'Nodes whose history says that they are in quarantine. Whether a node is in quarantine now is computed from the conductors when it is read.';

-- There are no foreign keys, because the computation of the ring writes many rows and must not lock the nodes. A row whose node or
-- conductor does not exist any more says nothing.
CREATE TABLE ring_owners (
    node_id      bigint PRIMARY KEY,
    conductor_id bigint NOT NULL
) WITH (fillfactor = 90);
COMMENT ON TABLE ring_owners IS 'The ring: which conductor owns which node.';
CREATE INDEX ring_owners_by_conductor ON ring_owners (conductor_id, node_id);

CREATE TABLE rings (
    conductor_group text    NOT NULL,
    driver          text    NOT NULL,
    covers          text    NOT NULL, -- which conductor covered which need when the ring was computed
    unsettled       boolean NOT NULL, -- nodes with an open operation have stayed with conductors that should not own them any more
    PRIMARY KEY (conductor_group, driver)
);
COMMENT ON TABLE rings IS 'What the ring of a conductor group and driver was computed from.';

CREATE TABLE ring_epoch (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch         bigint      NOT NULL DEFAULT 0,
    members       bigint[]    NOT NULL DEFAULT '{}', -- sorted ids of the conductors of which the ring was computed
    reconciled_at timestamptz -- when the latest reconciliation ended
) WITH (fillfactor = 50);
COMMENT ON TABLE ring_epoch IS 'One row: the number of the latest computation of the ring.';
INSERT INTO ring_epoch DEFAULT VALUES;

CREATE TABLE ring_changes (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    need_id bigint NOT NULL
);
COMMENT ON TABLE ring_changes IS 'Which needs have got or lost nodes since the ring was computed. Rows are only added, so that writers of nodes never wait for each other; the epoch that has seen them deletes them.';

-- Steps that are kept to be used again.

CREATE TABLE deploy_templates (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid        uuid        NOT NULL CONSTRAINT deploy_templates_uuid_taken UNIQUE,
    name        text        NOT NULL CONSTRAINT deploy_templates_name_taken UNIQUE CHECK (length(name) <= 255),
    description text        CHECK (length(description) <= 255),
    steps       jsonb       NOT NULL,
    extra       jsonb       NOT NULL DEFAULT '{}',
    key_id      bigint      NOT NULL, -- of the secrets of steps, which are sealed as one value
    seal        smallint    NOT NULL,
    ciphertext  bytea,                -- null = there are none
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz
);
COMMENT ON TABLE deploy_templates IS 'Deploy steps for nodes whose instance asks for the trait of the same name.';

CREATE TABLE runbooks (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid            uuid        NOT NULL CONSTRAINT runbooks_uuid_taken UNIQUE,
    name            text        NOT NULL CONSTRAINT runbooks_name_taken UNIQUE CHECK (length(name) <= 255),
    description     text        CHECK (length(description) <= 255),
    steps           jsonb       NOT NULL,
    disable_ramdisk boolean     NOT NULL DEFAULT false,
    public          boolean     NOT NULL DEFAULT false,
    owner           text        CHECK (length(owner) <= 255),
    extra           jsonb       NOT NULL DEFAULT '{}',
    traits          text[]      NOT NULL DEFAULT '{}' CHECK (cardinality(traits) <= 50),
    key_id          bigint      NOT NULL, -- of the secrets of steps, which are sealed as one value
    seal            smallint    NOT NULL,
    ciphertext      bytea,                -- null = there are none
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz
);
COMMENT ON TABLE runbooks IS 'Steps that are approved for nodes with one of the traits.';

-- Allocations, instances, and shares of compute services.

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
    CONSTRAINT allocations_active_has_node CHECK ((state = 'active') = (node_id IS NOT NULL))
);
COMMENT ON TABLE allocations IS 'Requests for a node for an instance. An allocation and its node point at each other; one transaction writes both, the row of the node first.';
CREATE INDEX allocations_by_class ON allocations (resource_class, id);
CREATE INDEX allocations_by_state ON allocations (state, id);
CREATE INDEX allocations_by_owner ON allocations (owner, id) WHERE owner IS NOT NULL;

CREATE TABLE instances (
    uuid         uuid        PRIMARY KEY,
    node_id      bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    service      text        CONSTRAINT instances_claimed_from_share CHECK (service <> ''), -- name of the compute service; null = none
    wanted       text        NOT NULL DEFAULT 'present' CHECK (wanted IN ('present', 'absent')),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    absent_since timestamptz,
    confirmed_at timestamptz, -- when its service came back and confirmed that the instance is gone
    CONSTRAINT instances_absent_since CHECK ((wanted = 'absent') = (absent_since IS NOT NULL))
);
COMMENT ON TABLE instances IS 'Instances on nodes. An instance_uuid of nodes without a row here was set by hand, and is never taken away.';
CREATE INDEX instances_of_node ON instances (node_id);
CREATE INDEX instances_absent  ON instances (absent_since) WHERE wanted = 'absent';

CREATE TABLE compute_services (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host               text        NOT NULL CHECK (host <> '' AND length(host) <= 255), -- as it was given
    name               text        NOT NULL GENERATED ALWAYS AS (lower(host)) STORED CONSTRAINT compute_services_name_taken UNIQUE,
    incarnation        bigint      NOT NULL,           -- the newest process of this name
    partition_key      text        CHECK (partition_key ~ '^[a-z0-9_.-]*$' AND length(partition_key) <= 255), -- null = unset
    peer_list          text[],                         -- lower case; null = unset
    settings_error     text        NOT NULL DEFAULT '',
    acknowledged_epoch bigint      NOT NULL DEFAULT 0, -- the newest that it has published
    registered_by      text        NOT NULL DEFAULT '', -- the user who speaks for it; '' = noauth
    registered_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until        timestamptz NOT NULL,           -- it is live until then, by the clock of this database
    quiet_until        timestamptz,                    -- until then an earlier process of this name may publish
    CONSTRAINT compute_services_quiet_in_lease CHECK (quiet_until <= lease_until)
) WITH (fillfactor = 50); -- a heartbeat is a heap-only update
COMMENT ON TABLE compute_services IS 'Services that split the nodes for a scheduler.';

CREATE TABLE share_epoch (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch        bigint      NOT NULL DEFAULT 0, -- 0 = no service was ever registered
    revision     bigint      NOT NULL DEFAULT 0, -- grows with each change after which a new epoch is needed: registrations, settings, moves
    published    bigint      NOT NULL DEFAULT 0, -- the revision for which the epoch was computed
    members      text        NOT NULL DEFAULT '', -- the services as the epoch has them (share.Split.Signature)
    live         bigint[]    NOT NULL DEFAULT '{}',
    published_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
COMMENT ON TABLE share_epoch IS 'One row: the number under which all shares change together.';
INSERT INTO share_epoch DEFAULT VALUES;

CREATE TABLE shares (
    node_id         bigint PRIMARY KEY REFERENCES nodes (id) ON DELETE CASCADE,
    owner_id        bigint, -- the service in whose share it is
    leaving_id      bigint, -- the service that it has left, and that may still publish it
    left_in         bigint, -- the epoch in which it left
    entering_id     bigint, -- the service that owns it next
    -- The node as it was when the epoch was computed. Reconciliation compares it with the node to find what has changed.
    conductor_group text   NOT NULL,
    instance_uuid   uuid,
    service         text   NOT NULL DEFAULT '', -- of the instance
    CONSTRAINT shares_owned_or_leaving  CHECK (owner_id IS NULL OR leaving_id IS NULL),
    CONSTRAINT shares_left_in_an_epoch  CHECK ((leaving_id IS NULL) = (left_in IS NULL)),
    CONSTRAINT shares_entering_leaves   CHECK (leaving_id IS NOT NULL OR entering_id IS NULL)
) WITH (fillfactor = 85);
COMMENT ON TABLE shares IS 'Where each node stands in the epoch. Written only together with share_epoch. The id of a service that is gone means nobody.';
CREATE INDEX shares_by_owner ON shares (owner_id, node_id);
CREATE INDEX shares_leaving  ON shares (leaving_id, left_in) WHERE leaving_id IS NOT NULL;

-- Rules that many statements share. PostgreSQL inlines these functions into the statement that calls them, except for those
-- with a subquery (need_draining, need_last_life, need_lost_at, compute_live), which it calls for each row. timeout is
-- conductor_heartbeat_timeout in microseconds.

-- +goose StatementBegin
-- How long the gap between two writes of witnesses may be at most, and, for a given timeout, how long it may be. If the latest
-- write is older, the database was away or its clock stepped. The gap is two and a third of the time between two writes
-- (store.WitnessEvery), which is at most three seconds.
CREATE FUNCTION witness_longest_gap() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT interval '7 seconds'
$$;
CREATE FUNCTION witness_gap(timeout bigint) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
    SELECT least(timeout * 7 / 15 * interval '1 microsecond', witness_longest_gap())
$$;

-- Reports whether written, a time that is written as often as a witness writes, is older than gap, so that nobody can have written
-- meanwhile, or is in the future.
CREATE FUNCTION in_witness_gap(written timestamptz, gap interval) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT written NOT BETWEEN clock_timestamp() - gap AND clock_timestamp() + interval '1 second'
$$;

-- Returns the outages that ended after since, and those that go on, which have no until_at.
CREATE FUNCTION outages_since(since timestamptz, timeout bigint) RETURNS TABLE (part text, from_at timestamptz, until_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT o.part, o.from_at, o.until_at FROM outages o WHERE o.until_at > since
    UNION ALL
    SELECT p.part, p.at, NULL FROM witness w CROSS JOIN LATERAL (VALUES ('postgresql', w.seen_at), ('temporal', w.contact_at)) AS p (part, at)
     WHERE p.at < clock_timestamp() - witness_gap(timeout) AND since IS NOT NULL
$$;

-- Returns since when Temporal was out of reach, if a process reaches it again at that time; null = it was not. w is the witness as it was
-- before that is written. An outage of the database is not one of Temporal, too, although nobody could record a contact with it.
CREATE FUNCTION temporal_lost_at(w witness, at timestamptz, timeout bigint) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT l.since FROM (SELECT w.seen_at NOT BETWEEN at - witness_gap(timeout) AND at + interval '1 second' AS now) AS gap
     CROSS JOIN LATERAL (SELECT CASE WHEN gap.now THEN w.seen_at ELSE w.gap_from END AS gap_from, CASE WHEN gap.now THEN at ELSE w.gap_until END AS gap_until) AS known
     CROSS JOIN LATERAL (SELECT greatest(w.contact_at, CASE WHEN w.contact_at BETWEEN known.gap_from - witness_gap(timeout) AND known.gap_until THEN known.gap_until END) AS since) AS l
     WHERE l.since < at - witness_gap(timeout)
$$;

-- Returns how much of the time since then was outage. Outages of both parts at the same time count once.
CREATE FUNCTION outage_time(since timestamptz, timeout bigint) RETURNS interval LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(sum(upper(r) - lower(r)), interval '0') FROM unnest((
        SELECT range_agg(tstzrange(greatest(x.from_at, since), greatest(coalesce(x.until_at, clock_timestamp()), since))) FROM outages_since(since, timeout) x)) AS r);
END
$$;

-- Reports whether the heartbeat is not older than the timeout. If no witness has written for a while, nobody could write heartbeats
-- either, so the age of the heartbeat is the one that it had at the latest write of a witness.
CREATE FUNCTION heartbeat_in_time(heartbeat timestamptz, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT heartbeat BETWEEN clock_timestamp() - timeout * interval '1 microsecond' AND clock_timestamp() + interval '1 second'
        OR in_witness_gap(w.seen_at, witness_gap(timeout)) AND heartbeat > w.seen_at - timeout * interval '1 microsecond'
$$;

-- Reports whether the sender of the heartbeat was alive before a gap that ended less than a timeout ago. Nobody could send heartbeats
-- during the gap, so it gets that time to send one.
CREATE FUNCTION heartbeat_before_gap(heartbeat timestamptz, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT w.gap_until BETWEEN clock_timestamp() - timeout * interval '1 microsecond' AND clock_timestamp() + interval '1 second'
        AND heartbeat > w.gap_from - timeout * interval '1 microsecond'
$$;

-- Reports whether the process runs. A process that can't reach Temporal is not dead.
CREATE FUNCTION process_alive(p processes, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT (heartbeat_in_time(p.seen_at, w, timeout) OR heartbeat_before_gap(p.seen_at, w, timeout)) IS TRUE
$$;

-- Reports whether the conductor's latest contact with Temporal is at most a timeout older than the newest contact of any process. It
-- is not compared with the clock, so that no conductor expires while no process can reach Temporal. For one timeout after Temporal is
-- back, conductors that had contact before still count.
CREATE FUNCTION conductor_in_contact(c conductors, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT w.contact_at IS NULL
        OR c.polled_at BETWEEN w.contact_at - timeout * interval '1 microsecond' AND w.contact_at + timeout * interval '1 microsecond'
        OR w.contact_until BETWEEN clock_timestamp() - timeout * interval '1 microsecond' AND clock_timestamp() + interval '1 second'
            AND c.polled_at > w.contact_from - timeout * interval '1 microsecond'
$$;

-- Reports whether the conductor is alive. Only the clock of the database counts; those of the conductors may be wrong. After a gap a
-- conductor gets time to send a heartbeat only if some process has written both before and after the gap (gap_seen); otherwise all
-- processes may have been restarted.
CREATE FUNCTION conductor_alive(c conductors, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT (c.stopped_at IS NULL AND (heartbeat_in_time(c.heartbeat_at, w, timeout) OR w.gap_seen AND heartbeat_before_gap(c.heartbeat_at, w, timeout))
        AND conductor_in_contact(c, w, timeout)) IS TRUE
$$;

-- Reports whether the conductor is alive, and its heartbeat is overdue: older than the time that is late. After a gap in which nobody could
-- send heartbeats none is overdue until the conductor had its time to send one.
CREATE FUNCTION conductor_late(c conductors, w witness, timeout bigint, late bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT conductor_alive(c, w, timeout) AND heartbeat_in_time(c.heartbeat_at, w, late) IS NOT TRUE AND (w.gap_seen AND heartbeat_before_gap(c.heartbeat_at, w, timeout)) IS NOT TRUE
$$;

-- Reports whether the conductor is alive or, for one timeout after any gap, was alive before the gap. Reconciliation takes no nodes away
-- from such a conductor, even if all processes were restarted during the gap.
CREATE FUNCTION conductor_kept(c conductors, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT (c.stopped_at IS NULL AND (heartbeat_in_time(c.heartbeat_at, w, timeout) OR heartbeat_before_gap(c.heartbeat_at, w, timeout))
        AND conductor_in_contact(c, w, timeout)) IS TRUE
$$;

-- Reports whether the conductor may get steps of operations.
CREATE FUNCTION conductor_takes_work(c conductors, w witness, timeout bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT NOT c.draining AND conductor_alive(c, w, timeout)
$$;

-- Reports whether a conductor with this group and these interfaces has all that a need wants. Whether it is alive is another question.
-- The same rule in Go, for code that has read the conductors, is coverage.Conductor.Covers; a test compares the two.
CREATE FUNCTION conductor_covers(conductor_group text, interfaces jsonb, d needs) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT conductor_group = d.conductor_group AND interfaces @> d.wants
$$;

-- Returns the names of up to three conductors that would cover a need if they were not draining; null = there are none.
CREATE FUNCTION need_draining(d needs, timeout bigint) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT array_agg(x.hostname ORDER BY x.hostname) FROM (
        SELECT c.hostname FROM conductors c CROSS JOIN witness w
         WHERE c.draining AND conductor_covers(c.conductor_group, c.interfaces, d) AND conductor_alive(c, w, timeout) ORDER BY c.hostname LIMIT 3) x
$$;

-- Returns the last sign of life of any conductor that covers a need or covered it when it was alive; null = there never was one.
CREATE FUNCTION need_last_life(d needs) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT max(coalesce(c.stopped_at, c.heartbeat_at)) FROM conductors c WHERE conductor_covers(c.conductor_group, c.interfaces, d)
$$;

-- Returns since when the nodes of a need are in quarantine, if no conductor covers the need or if it is held. Reconciliation records
-- that time (lost_at). It does not change as long as the nodes are in quarantine, however often conductors come and go meanwhile. Until
-- it is recorded, it is the last sign of life of a conductor that covered the need; null = there never was one.
CREATE FUNCTION need_lost_at(d needs) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT coalesce(d.lost_at, need_last_life(d))
$$;

-- Returns the needs that a conductor covers now. Most conductors of a group have the same interfaces, so each set of interfaces is
-- compared once.
CREATE FUNCTION covered_needs(timeout bigint) RETURNS TABLE (id bigint) LANGUAGE sql STABLE AS $$
    WITH live AS MATERIALIZED (
        SELECT DISTINCT c.conductor_group, c.interfaces FROM conductors c CROSS JOIN witness w WHERE conductor_takes_work(c, w, timeout))
    SELECT d.id FROM needs d WHERE EXISTS (SELECT FROM live c WHERE conductor_covers(c.conductor_group, c.interfaces, d))
$$;

-- Returns the coverage of all needs, for a statement that reads many nodes. Nodes are in quarantine if no conductor covers their need,
-- or if the need is held because it lost coverage too often lately.
CREATE FUNCTION coverage(timeout bigint) RETURNS TABLE (
    id bigint, conductor_group text, driver text, held boolean, covered boolean, quarantined boolean, since timestamptz, draining text[]
) LANGUAGE sql STABLE AS $$
    WITH covered AS MATERIALIZED (SELECT c.id FROM covered_needs(timeout) c)
    SELECT d.id, d.conductor_group, d.driver, d.held, k.id IS NOT NULL, k.id IS NULL OR d.held,
        CASE WHEN k.id IS NULL OR d.held THEN need_lost_at(d) END,
        CASE WHEN k.id IS NULL THEN need_draining(d, timeout) END
      FROM needs d LEFT JOIN covered k ON k.id = d.id
$$;

-- Returns the coverage of one need, as coverage() does, for a statement about one node.
CREATE FUNCTION need_coverage(need bigint, timeout bigint) RETURNS TABLE (
    held boolean, covered boolean, quarantined boolean, since timestamptz, draining text[]
) LANGUAGE sql STABLE AS $$
    SELECT d.held, y.covered, NOT y.covered OR d.held,
        CASE WHEN NOT y.covered OR d.held THEN need_lost_at(d) END,
        CASE WHEN NOT y.covered THEN need_draining(d, timeout) END
      FROM needs d CROSS JOIN LATERAL (
        SELECT EXISTS (SELECT FROM conductors c CROSS JOIN witness w
            WHERE conductor_covers(c.conductor_group, c.interfaces, d) AND conductor_takes_work(c, w, timeout)) AS covered) y
     WHERE d.id = need
$$;

-- Reports whether reconciliation has to record the coverage of a need anew, because it has changed. hold is how long, in microseconds,
-- coverage must last until a held need is released.
CREATE FUNCTION need_changed(d needs, covered boolean, hold bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT CASE
        WHEN NOT covered THEN d.lost_at IS NULL OR d.covered_at IS NOT NULL
        ELSE d.lost_at IS NOT NULL AND (NOT d.held OR d.covered_at IS NULL OR d.covered_at <= clock_timestamp() - hold * interval '1 microsecond') END
$$;

-- Reports whether (seq, attempt) is the operation's newest claim. A step writes, and goes on, only while its claim is the newest one.
CREATE FUNCTION claim_held(o operations, seq bigint, attempt integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT o.claim_seq = seq AND o.claim_attempt = attempt
$$;

-- Returns the request to the node's BMC that may still take effect, with how long it may in microseconds (left_us 0 = there is none),
-- how long the answers of the BMC are awaited, and how many requests were recorded so far. It is volatile, so that a statement that has
-- waited for the lock of the operation sees what the holder of the lock has recorded.
CREATE FUNCTION bmc_request_under_way(node bigint) RETURNS TABLE (name text, conductor text, repeated boolean, left_us bigint, answer_within bigint, sent bigint) LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
BEGIN
    RETURN QUERY SELECT coalesce(r.name, ''), coalesce(r.conductor, ''), coalesce(r.repeated, false),
        greatest(coalesce(ceil(extract(epoch FROM r.until - clock_timestamp()) * 1000000), 0), 0)::bigint, coalesce(r.answer_within, 0), coalesce(r.sent, 0)
      FROM (SELECT) one LEFT JOIN bmc_requests r ON r.node_id = bmc_request_under_way.node;
END
$$;

-- PostgreSQL plans the body of a function in SQL anew with each call, unless it can put it into the statement that calls it. So
-- functions that it can't put there, and that each operation calls, are in PL/pgSQL.

-- Returns which kind of server a node is: manufacturer and model, from its properties or its inventory, or the driver if neither is
-- known.
CREATE FUNCTION node_model(n nodes) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    inspected jsonb := (SELECT i.inventory -> 'system_vendor' FROM node_inventory i WHERE i.node_id = n.id);
BEGIN
    RETURN left(coalesce(nullif(trim(concat_ws(' ',
        coalesce(nullif(n.properties ->> 'manufacturer', ''), nullif(n.properties ->> 'vendor', ''), inspected ->> 'manufacturer'),
        coalesce(nullif(n.properties ->> 'model', ''), inspected ->> 'product_name'))), ''), n.driver), 255);
END $$;

-- Returns a key of the image that an instance_info names: a hash of its digest or, if that is not given, of its URL without the query;
-- '' = it names none.
CREATE FUNCTION image_key(instance_info jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    image text := coalesce(
        lower(substring(coalesce(nullif(instance_info ->> 'image_os_hash_value', ''), instance_info ->> 'image_checksum') FROM '[0-9a-fA-F]{32,128}$')),
        split_part(instance_info ->> 'image_source', '?', 1), '');
BEGIN
    RETURN CASE WHEN image = '' THEN '' ELSE left(encode(sha256(convert_to(image, 'UTF8')), 'hex'), 32) END;
END $$;

-- Returns how long steps usually take with a model and an image. It uses the samples of both; if there are fewer than enough, those of
-- the model; and if there are fewer than enough of these, too, all samples. basis says which.
CREATE FUNCTION usual_times(of_model text, of_image text, enough integer) RETURNS TABLE (
    step text, usual_ms bigint, samples integer, basis text
) LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (t.step) t.step, t.usual_ms, t.samples, CASE WHEN t.image <> '' THEN 'image' WHEN t.model <> '' THEN 'model' ELSE 'step' END
      FROM step_times t
     WHERE t.model IN (of_model, '') AND t.image IN (of_image, '')
     ORDER BY t.step, t.samples >= enough DESC,
        CASE WHEN t.samples >= enough THEN t.image END DESC NULLS LAST, CASE WHEN t.samples >= enough THEN t.model END DESC NULLS LAST, t.image, t.model
$$;

-- Reports whether a person has put the node into maintenance, so that somebody looks after it.
CREATE FUNCTION node_looked_after(maintenance boolean, maintenance_by_fault boolean) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT maintenance AND NOT maintenance_by_fault
$$;

-- Returns the newest operation of a node that has failed, or that goes on after a failure.
CREATE FUNCTION last_failure(node bigint) RETURNS TABLE (operation_id bigint, cause text) LANGUAGE sql STABLE AS $$
    SELECT o.id, o.cause FROM operations o WHERE o.node_id = node AND o.cause IS NOT NULL ORDER BY o.id DESC LIMIT 1
$$;

-- Reports whether the instance is the one that is on the node.
CREATE FUNCTION instance_stands(i instances, n nodes) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT i.uuid = n.instance_uuid AND i.node_id = n.id
$$;

-- Reports whether the epoch was computed with the node's present conductor group and instance.
CREATE FUNCTION share_seen(s shares, n nodes, i instances) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT s.conductor_group = n.conductor_group AND s.instance_uuid IS NOT DISTINCT FROM n.instance_uuid AND s.service = coalesce(i.service, '')
$$;

-- Reports whether the service v is the one that the node has left, and does not publish it any more.
CREATE FUNCTION share_released(s shares, v compute_services) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT v.id = s.leaving_id AND v.acknowledged_epoch >= s.left_in AND coalesce(v.quiet_until <= clock_timestamp(), true)
$$;

-- Reports whether the lease of a compute service has not ended. lease is its length in microseconds. A lease that ends later than now
-- plus its length does not count, because it was given before the clock stepped back. As with conductors, no lease ends while no
-- witness writes, nor within the length of a lease after such a gap.
CREATE FUNCTION compute_live(v compute_services, lease bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (v.lease_until BETWEEN clock_timestamp() AND clock_timestamp() + lease * interval '1 microsecond' + interval '1 second'
        OR EXISTS (SELECT FROM witness w
            WHERE in_witness_gap(w.seen_at, witness_longest_gap()) AND v.lease_until > w.seen_at
               OR w.gap_until BETWEEN clock_timestamp() - lease * interval '1 microsecond' AND clock_timestamp() + interval '1 second' AND v.lease_until > w.gap_from)) IS TRUE
$$;
-- +goose StatementEnd

-- The functions of triggers, which write columns and tables that follow from other ones, so that no statement can forget to.

-- +goose StatementBegin
-- Sets need_id of a node that is new, or has got another driver, group or interface. It adds a row to needs if no node had the same
-- requirements before. There is no foreign key, because with it many nodes would lock the same row of needs.
CREATE FUNCTION node_need() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    wanted jsonb := jsonb_build_object(NEW.driver, (
        SELECT coalesce(jsonb_object_agg(i.key, jsonb_build_array(i.value)), '{}') FROM jsonb_each_text(NEW.interfaces) i));
BEGIN
    SELECT w.id INTO NEW.need_id FROM needs w WHERE w.conductor_group = NEW.conductor_group AND w.wants = wanted;
    IF NOT FOUND THEN
        INSERT INTO needs (conductor_group, driver, wants) VALUES (NEW.conductor_group, NEW.driver, wanted) ON CONFLICT DO NOTHING;
        SELECT w.id INTO STRICT NEW.need_id FROM needs w WHERE w.conductor_group = NEW.conductor_group AND w.wants = wanted;
    END IF;
    RETURN NEW;
END $$;

-- Sets since when a node is in maintenance. That time stays if maintenance is set once more, with another reason or by a fault.
CREATE FUNCTION node_maintained() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.maintenance_since = CASE WHEN NEW.maintenance THEN clock_timestamp() END;
    RETURN NEW;
END $$;

-- Reports whether the database was away since then and until a moment ago, so that conductors could not record that they stopped
-- working on a step.
CREATE FUNCTION database_was_away(since timestamptz) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT FROM outages x WHERE x.part = 'postgresql' AND x.until_at > greatest(since, clock_timestamp() - interval '30 seconds'))
        OR EXISTS (SELECT FROM witness w WHERE in_witness_gap(w.seen_at, witness_longest_gap()) AND w.seen_at > since - witness_longest_gap())
$$;

-- Counts new nodes (TG_ARGV[0] = 1) or deleted ones (-1).
CREATE FUNCTION count_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO node_counts (need_id, resource_class, provision_state, looked_after, nodes)
    SELECT c.need_id, coalesce(c.resource_class, ''), c.provision_state, node_looked_after(c.maintenance, c.maintenance_by_fault), TG_ARGV[0]::bigint * count(*)
      FROM changed c GROUP BY 1, 2, 3, 4;
    RETURN NULL;
END $$;

-- Counts a node that has changed.
CREATE FUNCTION count_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO node_counts (need_id, resource_class, provision_state, looked_after, nodes)
    VALUES (OLD.need_id, coalesce(OLD.resource_class, ''), OLD.provision_state, node_looked_after(OLD.maintenance, OLD.maintenance_by_fault), -1),
        (NEW.need_id, coalesce(NEW.resource_class, ''), NEW.provision_state, node_looked_after(NEW.maintenance, NEW.maintenance_by_fault), 1);
    RETURN NULL;
END $$;

-- Record the needs of new nodes, of a node that has got another need, and of deleted nodes, for the computation of the ring.
CREATE FUNCTION note_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) SELECT DISTINCT need_id FROM changed;
    RETURN NULL;
END $$;

CREATE FUNCTION note_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) VALUES (OLD.need_id), (NEW.need_id);
    RETURN NULL;
END $$;

-- Also deletes what would refer to a deleted node, and keeps its name and uuid for its history.
CREATE FUNCTION note_nodes_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ring_changes (need_id) SELECT DISTINCT need_id FROM changed;
    DELETE FROM ring_owners o USING changed c WHERE o.node_id = c.id;
    DELETE FROM quarantines q USING changed c WHERE q.node_id = c.id;
    INSERT INTO deleted_nodes (node_id, uuid, name, driver, conductor_group, resource_class, provision_state, created_at)
    SELECT c.id, c.uuid, c.name, c.driver, c.conductor_group, c.resource_class, c.provision_state, c.created_at FROM changed c;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER node_need_made BEFORE INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION node_need();
CREATE TRIGGER node_need_changed BEFORE UPDATE ON nodes FOR EACH ROW
    WHEN (NEW.need_id IS NULL OR (OLD.conductor_group, OLD.driver, OLD.interfaces) IS DISTINCT FROM (NEW.conductor_group, NEW.driver, NEW.interfaces))
    EXECUTE FUNCTION node_need();
CREATE TRIGGER node_maintained_made BEFORE INSERT ON nodes FOR EACH ROW WHEN (NEW.maintenance) EXECUTE FUNCTION node_maintained();
CREATE TRIGGER node_maintained_changed BEFORE UPDATE ON nodes FOR EACH ROW
    WHEN (OLD.maintenance <> NEW.maintenance) EXECUTE FUNCTION node_maintained();
CREATE TRIGGER count_created AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_nodes('1');
CREATE TRIGGER count_deleted AFTER DELETE ON nodes REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_nodes('-1');
CREATE TRIGGER count_changed AFTER UPDATE OF conductor_group, driver, interfaces, resource_class, provision_state, maintenance, maintenance_by_fault ON nodes FOR EACH ROW
    WHEN ((OLD.need_id, OLD.resource_class, OLD.provision_state, OLD.maintenance, OLD.maintenance_by_fault)
        IS DISTINCT FROM (NEW.need_id, NEW.resource_class, NEW.provision_state, NEW.maintenance, NEW.maintenance_by_fault))
    EXECUTE FUNCTION count_node();
CREATE TRIGGER ring_new AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_nodes();
CREATE TRIGGER ring_gone AFTER DELETE ON nodes REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_nodes_gone();
CREATE TRIGGER ring_moved AFTER UPDATE OF conductor_group, driver, interfaces ON nodes FOR EACH ROW
    WHEN (OLD.need_id IS DISTINCT FROM NEW.need_id) EXECUTE FUNCTION note_node();

-- Events: what happened to nodes and operations. Streams, webhooks, the histories of nodes and the timelines of operations are queries
-- on them; docs/events.md describes them.

-- PostgreSQL gives an event its number before the transaction commits, so an event with a higher number may be visible before one with
-- a lower number. Package events describes how readers miss none of them. There are no foreign keys, because events outlive what they
-- tell of.
CREATE TABLE events (
    seq           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    type          text        NOT NULL DEFAULT '', -- '' = streams and webhooks do not have it
    node_id       bigint,
    node_uuid     uuid,
    node_name     text        NOT NULL DEFAULT '',
    owner         text,                            -- of the node at that time
    lessee        text,                            -- the same
    operation_id  bigint,
    kind          text        NOT NULL DEFAULT '', -- of the operation
    cause         text        NOT NULL DEFAULT '', -- why it failed: a code of package fault
    data          jsonb       NOT NULL DEFAULT '{}',
    -- The entry of the operation's timeline, without its number and, if that is the event's, its time (node.TimelineEntry).
    operation_seq integer     NOT NULL DEFAULT 0,  -- its number, from 1; 0 = the timeline does not have it
    entry         jsonb,
    -- The line of the node's history (node.HistoryEvent). Without a text of its own it has that of the entry.
    event_type    text        NOT NULL DEFAULT '', -- '' = the history does not have it
    severity      text        NOT NULL DEFAULT 'INFO',
    conductor     text        NOT NULL DEFAULT '',
    username      text        NOT NULL DEFAULT '',
    text          text        NOT NULL DEFAULT '',
    state         text        NOT NULL DEFAULT '', -- the node's provision state after it
    target_state  text        NOT NULL DEFAULT '', -- the provision state that the node was on its way to
    lasted        double precision,                -- seconds that the node had been in the state that it left; null = it left none
    CONSTRAINT events_entry_has_number CHECK ((operation_seq = 0) = (entry IS NULL))
);
COMMENT ON TABLE events IS 'What happened. The statement that changes something writes it. Events have no values of secrets, and no dictionaries of nodes.';
CREATE INDEX events_of_node      ON events (node_id, seq) WHERE event_type <> '';
CREATE INDEX events_of_operation ON events (operation_id, operation_seq) WHERE operation_seq > 0;

CREATE TABLE event_feed (
    one              boolean PRIMARY KEY DEFAULT true CHECK (one),
    deleted_through  bigint NOT NULL DEFAULT 0, -- of the events up to this number only those are left that a history or a timeline keeps
    followed_until   timestamptz,               -- until then somebody may follow the events and has to be notified; null = nobody ever did
    ends_heard_until timestamptz                -- until then requests may wait for the end of an operation; null = none ever did
) WITH (fillfactor = 10);
COMMENT ON TABLE event_feed IS 'One row: what readers and writers of events have to know of each other.';
INSERT INTO event_feed DEFAULT VALUES;

CREATE TABLE event_retention (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    swept_through bigint NOT NULL DEFAULT 0 -- events up to this number were judged
);
COMMENT ON TABLE event_retention IS 'One row: how far the events were judged that streams need no more. Who judges locks it.';
INSERT INTO event_retention DEFAULT VALUES;

-- +goose StatementBegin
-- Notifies those who follow the events. PostgreSQL commits transactions that send a notification one after the other, so none is sent
-- while nobody follows.
CREATE FUNCTION events_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM event_feed f WHERE f.followed_until > clock_timestamp()) THEN
        NOTIFY temper_events;
    END IF;
    RETURN NULL;
END $$;

-- +goose StatementEnd

CREATE TRIGGER events_written AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION events_written();

-- Webhooks: endpoints to which orchestrators send events. docs/events.md describes them.

CREATE TABLE webhooks (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name              text        NOT NULL UNIQUE,
    url               text        NOT NULL,
    key_id            bigint      NOT NULL, -- of the keyset's key that the secret is sealed with
    seal              smallint    NOT NULL, -- version of the seal, which binds the secret to the name and the url
    ciphertext        bytea       NOT NULL,
    -- Which events it wants. An empty column wants all.
    node_uuid         uuid,
    kinds             text[]      NOT NULL DEFAULT '{}',
    causes            text[]      NOT NULL DEFAULT '{}',
    types             text[]      NOT NULL DEFAULT '{}',
    enabled           boolean     NOT NULL DEFAULT true,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by        text        NOT NULL DEFAULT '',
    delivered_through bigint      NOT NULL, -- it has had every event up to this number that it wants, or it was given up
    delivered_at      timestamptz,
    failing_since     timestamptz,          -- the first failure after the last success
    attempts          integer     NOT NULL DEFAULT 0, -- failed ones since then
    last_error        text        NOT NULL DEFAULT '',
    deliveries        bigint      NOT NULL DEFAULT 0,
    failures          bigint      NOT NULL DEFAULT 0,
    -- The lease: who may send. Writes name its number, which grows with each new holder.
    lease             bigint      NOT NULL DEFAULT 0,
    leased_by         text        NOT NULL DEFAULT '',
    leased_until      timestamptz,
    CONSTRAINT webhooks_failing CHECK ((failing_since IS NULL) = (attempts = 0))
) WITH (fillfactor = 50);
COMMENT ON TABLE webhooks IS 'Endpoints to which events are sent, and how far each has got.';

CREATE TABLE webhook_dead_letters (
    webhook_id  bigint      NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    seq         bigint      NOT NULL, -- of the event
    message_id  text        NOT NULL,
    type        text        NOT NULL,
    body        text        NOT NULL, -- as it was sent. It has no secrets, as events have none
    at          timestamptz NOT NULL,
    given_up_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error       text        NOT NULL,
    redeliver   boolean     NOT NULL DEFAULT false, -- it is to be sent once more
    PRIMARY KEY (webhook_id, seq)
);
COMMENT ON TABLE webhook_dead_letters IS 'Events that no endpoint took in time.';
CREATE INDEX webhook_dead_letters_redeliver ON webhook_dead_letters (webhook_id, seq) WHERE redeliver;

-- Who changed what. docs/audit.md describes it.

CREATE SEQUENCE audit_seq;

-- A partition ends when it is old or large (audit_rotate), so that dropping whole partitions bounds the table. The numbers are the key,
-- because they only grow, whatever the clock does.
CREATE TABLE audit (
    seq          bigint      NOT NULL DEFAULT nextval('audit_seq'), -- the key of each partition: pg_restore --clean can't drop one that they inherit
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    username     text        NOT NULL,
    method       text        NOT NULL, -- how the user proved who he is
    source       text        NOT NULL, -- the client's address
    request_id   text        NOT NULL,
    rule         text        NOT NULL,
    route        text        NOT NULL,
    node_uuid    uuid,
    node_name    text        NOT NULL,
    kind         text        NOT NULL, -- of another target
    target       text        NOT NULL,
    operation_id bigint,
    what         text[]      NOT NULL, -- names of fields, or a verb; never values
    reason       text        NOT NULL,
    outcome      text        NOT NULL CHECK (outcome IN ('accepted', 'refused', 'failed')),
    status       integer     NOT NULL, -- 0 = the change was committed before the request was answered
    count        integer     NOT NULL DEFAULT 1
) PARTITION BY RANGE (seq);
COMMENT ON TABLE audit IS 'Who asked for which change, and what came of it. Rows are added and never changed.';
CREATE INDEX audit_by_time      ON audit (at);
CREATE INDEX audit_by_user      ON audit (username, seq);
CREATE INDEX audit_by_node      ON audit (node_uuid, seq);
CREATE INDEX audit_by_node_name ON audit (node_name, seq);
CREATE INDEX audit_by_rule      ON audit (rule, seq);
CREATE INDEX audit_by_outcome   ON audit (outcome, seq);
CREATE TABLE audit_newest PARTITION OF audit (PRIMARY KEY (seq)) DEFAULT;

CREATE TABLE audit_parts (
    through bigint      PRIMARY KEY, -- the highest number in it, which its name has, too: audit_through_N
    rows    bigint      NOT NULL,
    newest  timestamptz NOT NULL     -- the time of its newest row
);
COMMENT ON TABLE audit_parts IS 'The partitions of the audit that have ended.';

CREATE TABLE audit_logins (
    source text        NOT NULL,
    minute timestamptz NOT NULL,
    status integer     NOT NULL, -- of the last one
    route  text        NOT NULL, -- of the last one
    count  integer     NOT NULL,
    PRIMARY KEY (source, minute)
);
COMMENT ON TABLE audit_logins IS 'Refused log-ins of the last minutes. When its minute is over, each row moves to the audit.';

CREATE TABLE audit_sinks (
    name         text        PRIMARY KEY,           -- file or syslog
    sent_through bigint      NOT NULL DEFAULT 0,
    holder       text        NOT NULL DEFAULT '',   -- the process that sends
    held_until   timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE audit_sinks IS 'How far the audit was sent, and who sends it.';

-- +goose StatementBegin
CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;

-- Only the owner of the tables, and who owns them, may do more with the audit than read and add rows. What was granted to others when the
-- partition was made is taken back.
CREATE FUNCTION audit_protect(part regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    who text;
BEGIN
    FOR who IN
        SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
          FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE c.oid = part AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON TABLE %s FROM %s', part, who);
    END LOOP;
    EXECUTE format('CREATE TRIGGER audit_kept BEFORE TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()', part);
END $$;

-- Ends the newest partition if its first row is older than a twelfth of age, in microseconds, or if it has more than a tenth of most
-- rows. Then it drops the partitions whose rows are all older than age, and the oldest ones as long as there are more rows than most. It
-- returns how many rows it has dropped. Its owner's rights are for those who may call it and own no table.
CREATE FUNCTION audit_rotate(age bigint, most bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    first_seq bigint; last_seq bigint; first_at timestamptz; begins text; part record; dropped bigint := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock('audit'::regclass::oid::bigint) THEN
        RETURN 0; -- another process is at it
    END IF;
    SELECT min(a.seq), max(a.seq) INTO first_seq, last_seq FROM audit_newest a;
    SELECT a.at INTO first_at FROM audit_newest a WHERE a.seq = first_seq;
    IF first_at < clock_timestamp() - age * interval '1 microsecond' / 12 OR last_seq - first_seq >= most / 10 THEN
        ALTER TABLE audit DETACH PARTITION audit_newest; -- waits for those who write, so that all numbers up to now are in it
        last_seq := pg_sequence_last_value('audit_seq');
        SELECT coalesce((max(p.through) + 1)::text, 'MINVALUE') INTO begins FROM audit_parts p;
        EXECUTE format('ALTER TABLE audit_newest RENAME TO audit_through_%s', last_seq);
        EXECUTE format('ALTER TABLE audit ATTACH PARTITION audit_through_%s FOR VALUES FROM (%s) TO (%s)', last_seq, begins, last_seq + 1);
        EXECUTE format('INSERT INTO audit_parts SELECT %s, count(*), max(a.at) FROM audit_through_%s a', last_seq, last_seq);
        CREATE TABLE audit_newest PARTITION OF audit (PRIMARY KEY (seq)) DEFAULT;
        PERFORM audit_protect('audit_newest');
    END IF;
    FOR part IN
        SELECT p.* FROM (
            SELECT p.*, sum(p.rows) OVER (ORDER BY p.through DESC) AS kept FROM audit_parts p) p
         WHERE p.newest < clock_timestamp() - age * interval '1 microsecond' OR p.kept > most - most / 10
         ORDER BY p.through
    LOOP
        EXECUTE format('DROP TABLE audit_through_%s', part.through);
        DELETE FROM audit_parts p WHERE p.through = part.through;
        dropped := dropped + part.rows;
    END LOOP;
    RETURN dropped;
END $$;

-- +goose StatementEnd

CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_append_only();
SELECT audit_protect('audit'), audit_protect('audit_newest');
REVOKE EXECUTE ON FUNCTION audit_protect(regclass), audit_rotate(bigint, bigint) FROM PUBLIC;

-- Service accounts. docs/tokens.md describes them.

CREATE TABLE tokens (
    id         text        PRIMARY KEY, -- public: the token begins with it
    hash       bytea       NOT NULL,    -- SHA-256 of the whole token, which is not kept
    name       text        NOT NULL,    -- of the service account
    role       text        NOT NULL,
    project    text        NOT NULL,    -- '' = the whole system
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text        NOT NULL,
    expires_at timestamptz,
    used_at    timestamptz,             -- to the hour
    revoked_at timestamptz,
    revoked_by text        NOT NULL DEFAULT ''
);
COMMENT ON TABLE tokens IS 'Tokens of service accounts. A token that was revoked stays as a record.';
CREATE INDEX tokens_by_time ON tokens (created_at, id);

-- PostgreSQL takes a table that was never analyzed for ten full pages. A statement that joins conductors and the witness
-- then seems so expensive that PostgreSQL plans it anew for each execution, which takes longer than the execution itself.
ANALYZE witness, conductors;
