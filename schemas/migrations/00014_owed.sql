-- +goose Up

-- Why the last try to undo what a node owes failed, and whether its hardware
-- refused it for good: then it is not tried again before something changes.
ALTER TABLE nodes
    ADD COLUMN owed_error   text,
    ADD COLUMN owed_refused boolean NOT NULL DEFAULT false;

-- Operations whose error says that what they left is still to be undone. It is
-- mended when that is undone or waived.
CREATE INDEX operations_left ON operations (node_uuid) WHERE error LIKE '%; what it left is still to be undone: %';
UPDATE operations o SET error = split_part(o.error, '; what it left is still to be undone: ', 1) || '; what it left is undone since'
  FROM nodes n
 WHERE n.id = o.node_id AND n.owed = '[]' AND o.ended_at IS NOT NULL AND o.error LIKE '%; what it left is still to be undone: %';

-- Since when a node is in maintenance: set again, with another reason or by a
-- fault, it is so since the first time. Kept here, because many statements write
-- maintenance. Of nodes that are in maintenance already nobody knows.
ALTER TABLE nodes ADD COLUMN maintenance_since timestamptz;
-- +goose StatementBegin
CREATE FUNCTION node_maintained() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.maintenance_since = CASE WHEN NEW.maintenance THEN clock_timestamp() END;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER node_maintained_made BEFORE INSERT ON nodes FOR EACH ROW WHEN (NEW.maintenance) EXECUTE FUNCTION node_maintained();
CREATE TRIGGER node_maintained_changed BEFORE UPDATE ON nodes FOR EACH ROW
    WHEN (OLD.maintenance <> NEW.maintenance) EXECUTE FUNCTION node_maintained();

-- Operations are listed by how they ended.
CREATE INDEX operations_by_outcome ON operations (outcome, id) WHERE outcome IS NOT NULL;
