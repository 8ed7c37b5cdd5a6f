-- What a database of commit bf1a55d7 has in two of its tables, as pg_dump writes it: the versions of its migrations, and a node.
CREATE TABLE public.nodes (
    id bigint NOT NULL,
    uuid uuid NOT NULL,
    name text,
    driver text NOT NULL,
    interfaces jsonb DEFAULT '{}'::jsonb NOT NULL,
    driver_info jsonb DEFAULT '{}'::jsonb NOT NULL,
    driver_internal_info jsonb DEFAULT '{}'::jsonb NOT NULL,
    properties jsonb DEFAULT '{}'::jsonb NOT NULL,
    extra jsonb DEFAULT '{}'::jsonb NOT NULL,
    instance_info jsonb DEFAULT '{}'::jsonb NOT NULL,
    network_data jsonb DEFAULT '{}'::jsonb NOT NULL,
    conductor_group text DEFAULT ''::text NOT NULL,
    need_id bigint NOT NULL,
    resource_class text,
    owner text,
    lessee text,
    description text,
    shard text,
    parent_node uuid,
    chassis_uuid uuid,
    instance_uuid uuid,
    instance_name text,
    allocation_uuid uuid,
    provision_state text NOT NULL,
    target_provision_state text DEFAULT ''::text NOT NULL,
    provision_updated_at timestamp with time zone,
    last_error text,
    power_state text,
    target_power_state text,
    power_read_at timestamp with time zone,
    boot_mode text,
    secure_boot boolean,
    console_enabled boolean DEFAULT false NOT NULL,
    maintenance boolean DEFAULT false NOT NULL,
    maintenance_reason text,
    maintenance_by_fault boolean DEFAULT false NOT NULL,
    maintenance_since timestamp with time zone,
    fault text,
    protected boolean DEFAULT false NOT NULL,
    protected_reason text,
    retired boolean DEFAULT false NOT NULL,
    retired_reason text,
    automated_clean boolean,
    disable_power_off boolean DEFAULT false NOT NULL,
    raid_config jsonb DEFAULT '{}'::jsonb NOT NULL,
    target_raid_config jsonb DEFAULT '{}'::jsonb NOT NULL,
    traits text[] DEFAULT '{}'::text[] NOT NULL,
    inspection_started_at timestamp with time zone,
    inspection_finished_at timestamp with time zone,
    owed jsonb DEFAULT '[]'::jsonb NOT NULL,
    owed_tried_at timestamp with time zone,
    owed_tries integer DEFAULT 0 NOT NULL,
    owed_error text,
    owed_refused boolean DEFAULT false NOT NULL,
    reached_since timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone,
    prepared_since timestamp with time zone,
    CONSTRAINT nodes_conductor_group_check CHECK (((conductor_group ~ '^[a-z0-9_.-]*$'::text) AND (length(conductor_group) <= 255))),
    CONSTRAINT nodes_description_check CHECK ((length(description) <= 4096)),
    CONSTRAINT nodes_driver_check CHECK (((driver <> ''::text) AND (length(driver) <= 255))),
    CONSTRAINT nodes_fault_check CHECK ((fault = ANY (ARRAY['power failure'::text, 'clean failure'::text, 'rescue abort failure'::text, 'service failure'::text]))),
    CONSTRAINT nodes_instance_name_check CHECK ((length(instance_name) <= 255)),
    CONSTRAINT nodes_lessee_check CHECK ((length(lessee) <= 255)),
    CONSTRAINT nodes_name_check CHECK (((name <> ''::text) AND (length(name) <= 255))),
    CONSTRAINT nodes_owner_check CHECK ((length(owner) <= 255)),
    CONSTRAINT nodes_power_state_check CHECK ((power_state = ANY (ARRAY['power on'::text, 'power off'::text, 'error'::text]))),
    CONSTRAINT nodes_provision_state_check CHECK ((provision_state = ANY (ARRAY['enroll'::text, 'verifying'::text, 'manageable'::text, 'available'::text, 'active'::text, 'error'::text, 'deploying'::text, 'wait call-back'::text, 'deploy hold'::text, 'deploy failed'::text, 'deleting'::text, 'cleaning'::text, 'clean wait'::text, 'clean hold'::text, 'clean failed'::text, 'inspecting'::text, 'inspect wait'::text, 'inspect failed'::text, 'adopting'::text, 'adopt failed'::text, 'rescuing'::text, 'rescue wait'::text, 'rescue'::text, 'rescue failed'::text, 'unrescuing'::text, 'unrescue failed'::text, 'servicing'::text, 'service wait'::text, 'service hold'::text, 'service failed'::text]))),
    CONSTRAINT nodes_resource_class_check CHECK ((length(resource_class) <= 80)),
    CONSTRAINT nodes_shard_check CHECK ((length(shard) <= 255)),
    CONSTRAINT nodes_target_power_state_check CHECK ((target_power_state = ANY (ARRAY['power on'::text, 'power off'::text, 'rebooting'::text, 'soft rebooting'::text, 'soft power off'::text]))),
    CONSTRAINT nodes_traits_check CHECK ((cardinality(traits) <= 50))
)
WITH (fillfactor='85');
COMMENT ON TABLE public.nodes IS 'Servers. A dictionary has ****** where a secret was; the table secrets has the encrypted values. Reservation, deploy_step and clean_step are derived from the open operation.';
ALTER TABLE public.nodes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.nodes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.schema_migrations (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.schema_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.schema_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO public.nodes OVERRIDING SYSTEM VALUE VALUES (1, '5b0c7c9e-6a3e-4a55-9f43-3f4b1d1f0b01', 'kept', 'fake-hardware', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'active', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, false, NULL, NULL, false, NULL, false, NULL, NULL, false, '{}', '{}', '{}', NULL, NULL, '[]', NULL, 0, NULL, false, NULL, '2026-11-25 15:06:54.270889+00', NULL, NULL);
INSERT INTO public.schema_migrations VALUES (1, 0, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (2, 1, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (3, 2, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (4, 3, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (5, 4, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (6, 5, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (7, 6, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (8, 7, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (9, 8, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (10, 9, true, '2026-11-25 15:06:54.261032');
INSERT INTO public.schema_migrations VALUES (11, 10, true, '2026-11-25 15:06:54.261032');
SELECT pg_catalog.setval('public.nodes_id_seq', 1, true);
SELECT pg_catalog.setval('public.schema_migrations_id_seq', 11, true);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_name_taken UNIQUE (name);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_uuid_taken UNIQUE (uuid);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (id);
