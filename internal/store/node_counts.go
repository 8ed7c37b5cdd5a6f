package store

import "context"

// nodeCountsAtOnce bounds the rows that one call adds up.
const nodeCountsAtOnce = 200_000

// addUpNodeCountsSQL leaves rows to the next call that another transaction adds up just now. The sum of all rows stays the same.
const addUpNodeCountsSQL = `
WITH many AS (
	SELECT c.need_id, c.resource_class, c.provision_state, c.looked_after FROM node_counts c
	 GROUP BY 1, 2, 3, 4 HAVING count(*) > 1 OR sum(c.nodes) = 0),
gone AS (
	DELETE FROM node_counts c WHERE c.id = ANY (ARRAY(
		SELECT c.id FROM node_counts c JOIN many m USING (need_id, resource_class, provision_state, looked_after)
		 LIMIT @limit FOR UPDATE OF c SKIP LOCKED))
	RETURNING c.*),
sums AS (
	INSERT INTO node_counts (need_id, resource_class, provision_state, looked_after, nodes)
	SELECT g.need_id, g.resource_class, g.provision_state, g.looked_after, sum(g.nodes) FROM gone g
	 GROUP BY 1, 2, 3, 4 HAVING sum(g.nodes) <> 0)
SELECT count(*) FROM gone`

// AddUpNodeCounts adds up the rows of node_counts that are about the same kind of nodes, and returns how many rows
// these were. Any number of processes may call it at once.
func (s *Store) AddUpNodeCounts(ctx context.Context) (rows int, err error) {
	c := s.call("add up the counts of nodes")
	ctx, cancel := c.within(ctx)
	defer cancel()
	err = s.pool.QueryRow(ctx, addUpNodeCountsSQL, args{"limit": nodeCountsAtOnce}).Scan(&rows)
	return rows, c.fail(err)
}
