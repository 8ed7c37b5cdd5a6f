-- +goose Up

-- Tells whether a request to a BMC was recorded after something else was: so an insertion that was only announced is not waited for.
ALTER TABLE bmc_requests ADD COLUMN sent bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN bmc_requests.sent IS 'How many requests were recorded for the node so far.';

DROP FUNCTION bmc_request_under_way(bigint);

-- +goose StatementBegin
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
-- +goose StatementEnd
