-- +goose Up

-- What requests with an idempotency key were accepted, so that the same request
-- sent again is answered with the same operation. digest is that of the request's
-- body, sealed with the keyset: the body may hold secrets, and a digest in the
-- clear would let them be guessed.
CREATE TABLE idempotency_keys (
    node_id      bigint      NOT NULL REFERENCES nodes ON DELETE CASCADE,
    key          text        NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    operation_id bigint      REFERENCES operations ON DELETE CASCADE, -- null = the node moved at once, nothing had to run
    seal         smallint    NOT NULL,
    digest       bytea       NOT NULL,
    accepted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (node_id, key)
);
CREATE INDEX idempotency_keys_by_age       ON idempotency_keys (accepted_at);
CREATE INDEX idempotency_keys_of_operation ON idempotency_keys (operation_id); -- for the foreign key
