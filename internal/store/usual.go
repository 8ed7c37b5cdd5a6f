package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/node"
)

const (
	// learnTimesSQL counts the steps of operations that have ended. Only steps count that were
	// done at the first attempt and waited for no person: any other took as long as its trouble did. Of the image
	// depends only what writes it.
	learnTimesSQL = `
WITH due AS (
	DELETE FROM ended_operations e USING (
		SELECT d.operation_id FROM ended_operations d ORDER BY d.operation_id LIMIT @limit FOR UPDATE SKIP LOCKED) x
	 WHERE e.operation_id = x.operation_id
	RETURNING e.operation_id),
took AS (
	SELECT o.model, o.image, s.value ->> 'interface' || '.' || (s.value ->> 'step') AS step, (s.value ->> 'ended_at')::timestamptz AS ended_at,
		(extract(epoch FROM (s.value ->> 'ended_at')::timestamptz - (s.value ->> 'started_at')::timestamptz) * 1000)::bigint AS ms
	  FROM due JOIN operations o ON o.id = due.operation_id CROSS JOIN LATERAL jsonb_array_elements(o.steps) s
	 WHERE s.value ->> 'state' = 'done' AND s.value ->> 'attempts' = '1' AND NOT s.value ?| ARRAY['failures', 'restarts', 'put_offs', 'note']
	   AND s.value ?& ARRAY['started_at', 'ended_at'] AND s.value ->> 'step' <> ALL (@held::text[])),
counted AS (
	SELECT b.model, b.image, t.step, (array_agg(greatest(t.ms, 0) ORDER BY t.ended_at DESC))[1:@kept] AS ms, max(t.ended_at) AS ended_at
	  FROM took t CROSS JOIN LATERAL (
		SELECT '' AS model, '' AS image UNION SELECT t.model, '' UNION SELECT t.model, t.image WHERE t.step = ANY (@written::text[])) b
	 GROUP BY b.model, b.image, t.step),
learned AS (
	INSERT INTO step_times AS k (model, image, step, took_ms, samples, usual_ms, ended_at)
	SELECT c.model, c.image, c.step, c.ms, cardinality(c.ms), (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY v) FROM unnest(c.ms) v), c.ended_at
	  FROM counted c ORDER BY c.model, c.image, c.step
	ON CONFLICT (model, image, step) DO UPDATE SET
		took_ms = (excluded.took_ms || k.took_ms)[1:@kept], samples = least(excluded.samples + k.samples, @kept),
		usual_ms = (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY v) FROM unnest((excluded.took_ms || k.took_ms)[1:@kept]) v),
		ended_at = greatest(excluded.ended_at, k.ended_at))
SELECT count(*), coalesce(array_agg(DISTINCT o.node_id) FILTER (WHERE o.node_id IS NOT NULL), '{}') FROM due JOIN operations o ON o.id = due.operation_id`

	// forgetTimesSQL forgets first what is most specific, and then what ended longest ago.
	forgetTimesSQL = `
DELETE FROM step_times t USING (
	SELECT k.model, k.image, k.step FROM step_times k ORDER BY k.image <> '', k.ended_at DESC OFFSET @most) x
 WHERE t.model = x.model AND t.image = x.image AND t.step = x.step`

	usualTimesSQL = `
SELECT u.step, u.usual_ms, u.samples, u.basis
  FROM nodes n CROSS JOIN LATERAL usual_times(node_model(n), image_key(@instance_info), @enough) u
 WHERE n.id = @node`

	// learnAtOnce bounds how many operations one reconciliation counts, and timesKept how
	// many usual times are stored.
	learnAtOnce = 2000
	timesKept   = 5000
)

// LearnTimes counts how long the steps of operations took that have ended since it was called
// last, of a bounded number of operations. It returns that number, and the ids of their nodes. Any number of
// processes may call it at once.
func (s *Store) LearnTimes(ctx context.Context) (operations int, nodes []int64, err error) {
	var written, held []string
	for _, r := range node.StepRules() {
		if r.WritesDisk {
			written = append(written, r.Name())
		}
		if r.Holds {
			held = append(held, r.Step)
		}
	}
	_, err = s.one(ctx, "learn how long steps take", learnTimesSQL, args{"limit": learnAtOnce, "kept": node.SamplesKept, "written": written, "held": held},
		func(r pgx.Row) error { return r.Scan(&operations, &nodes) })
	if err != nil || operations == 0 {
		return 0, nil, err
	}
	_, err = s.exec(ctx, "forget how long steps took", forgetTimesSQL, args{"most": timesKept})
	return operations, nodes, err
}

// UsualTimes returns how long steps usually take on n with the image that n's instance_info
// names, by the name of the step. A step that has no sample is not there.
func (s *Store) UsualTimes(ctx context.Context, n *node.Node) (map[string]node.Usual, error) {
	var d dicts
	a := args{"node": n.ID, "instance_info": d.dict(n.InstanceInfo), "enough": node.EnoughSamples}
	if d.err != nil {
		return nil, d.err
	}
	out := map[string]node.Usual{}
	_, err := list(ctx, s, "read how long steps usually take", usualTimesSQL, a, func(r pgx.Row) (struct{}, error) {
		var step string
		var u node.Usual
		err := r.Scan(&step, &u.MS, &u.Samples, &u.Basis)
		out[step] = u
		return struct{}{}, err
	})
	return out, err
}
