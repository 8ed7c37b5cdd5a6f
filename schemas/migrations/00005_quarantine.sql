-- +goose Up

-- What nodes need of a conductor: a driver with all their interfaces, in their
-- group. Few rows for many nodes, so that who is covered is computed once for
-- each of them. A conductor covers it where its interfaces contain wants.
-- lost_at to held are what reconciliation saw, and change only when that does.
CREATE TABLE needs (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conductor_group text        NOT NULL,
    driver          text        NOT NULL,
    wants           jsonb       NOT NULL, -- {driver: {interface: [implementation]}}
    lost_at         timestamptz,          -- nobody covers it since; null = in order
    covered_at      timestamptz,          -- held, and covered again since
    losses          timestamptz[] NOT NULL DEFAULT '{}', -- the latest, oldest first
    held            boolean     NOT NULL DEFAULT false,  -- lost too often: released only when it has lasted
    CONSTRAINT needs_once UNIQUE (conductor_group, wants)
);

ALTER TABLE nodes ADD COLUMN need_id bigint;

-- The database keeps a node's need: no writer can forget it. No foreign key,
-- which would lock one row of needs for each of many nodes; needs are never deleted.
-- +goose StatementBegin
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
-- +goose StatementEnd

CREATE TRIGGER node_need_made BEFORE INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION node_need();
CREATE TRIGGER node_need_changed BEFORE UPDATE ON nodes FOR EACH ROW
    WHEN (NEW.need_id IS NULL OR (OLD.conductor_group, OLD.driver, OLD.interfaces) IS DISTINCT FROM (NEW.conductor_group, NEW.driver, NEW.interfaces))
    EXECUTE FUNCTION node_need();

UPDATE nodes SET need_id = NULL;
ALTER TABLE nodes ALTER COLUMN need_id SET NOT NULL;
CREATE INDEX nodes_by_need ON nodes (need_id, id);

-- Free nodes, as a scheduler asks for them. Power state and fault change more
-- often than they matter here, and are no part of the predicate.
CREATE INDEX nodes_free          ON nodes (id) WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT retired;
CREATE INDEX nodes_free_by_class ON nodes (resource_class, id) WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT retired;
CREATE INDEX nodes_free_by_trait ON nodes USING gin (traits) WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT retired;

-- When each node was in quarantine, and why. Whether it is now is computed from
-- the conductors when it is read; reconciliation writes this beside it.
CREATE TABLE quarantines (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id         bigint      NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    need_id         bigint      NOT NULL,
    conductor_group text        NOT NULL,
    driver          text        NOT NULL,
    reason          text        NOT NULL,
    since           timestamptz NOT NULL,
    released_at     timestamptz
);
CREATE UNIQUE INDEX quarantines_one_open_per_node ON quarantines (node_id) WHERE released_at IS NULL;
CREATE INDEX quarantines_by_node  ON quarantines (node_id, id);
CREATE INDEX quarantines_released ON quarantines (released_at) WHERE released_at IS NOT NULL;
