-- +goose Up

-- Who told the inventory of this boot: MACs and address, as token_source.
ALTER TABLE agents ADD COLUMN inspected_source text NOT NULL DEFAULT '';
