-- +goose Up

ALTER TABLE nodes ADD COLUMN prepared_since timestamptz; -- when somebody last changed what is deployed, or to which disk
