-- +goose Up

ALTER TABLE bmc_silences ADD COLUMN asking boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN bmc_silences.asking IS 'asked_by asks the BMC since asked_at, and nobody knows yet what becomes of that; then next_at is until when its answer is awaited';
