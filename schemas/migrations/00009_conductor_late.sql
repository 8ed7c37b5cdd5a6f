-- +goose Up

-- +goose StatementBegin
-- Reports whether the conductor is alive, and its heartbeat is overdue: older than the time that is late. After a gap in which nobody could
-- send heartbeats none is overdue until the conductor had its time to send one.
CREATE FUNCTION conductor_late(c conductors, w witness, timeout bigint, late bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT conductor_alive(c, w, timeout) AND heard(c.heartbeat_at, w, late) IS NOT TRUE AND (w.gap_seen AND graced(c.heartbeat_at, w, timeout)) IS NOT TRUE
$$;
-- +goose StatementEnd
