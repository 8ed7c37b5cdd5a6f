package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

// hasty is a conductor group with a short wait_for_conductor.
const (
	hasty     = "hasty"
	hastyWait = "3s"
	refuge    = "refuge"
)

// atOnceIs how long an answer may take that needs only the database. Each attempt to reach Temporal, which is away, takes
// up to a second of it.
const atOnceIs = 5 * time.Second

// outageRows are the rows in which all conductors of an operation were killed.
var outageRows = []row{
	{
		name: "every conductor killed, one comes back under another name", holds: "waits, says for what, and goes on at the same step", points: points,
		happen: func(ctx context.Context, r *round) error {
			return r.orphaned(ctx, func() error { _, err := r.another(ctx, "heir"); return err })
		},
	},
	{
		name: "every conductor killed, one comes back under its old name", holds: "the same", points: points,
		happen: func(ctx context.Context, r *round) error {
			return r.orphaned(ctx, func() error { return r.revive(ctx) })
		},
	},
	{
		name:   "every conductor killed, none comes back within wait_for_conductor",
		holds:  "fails into the state that the table names, and says so; what it left is owed, and undone as soon as somebody covers the node",
		points: points, group: hasty, judge: paid,
		happen: func(ctx context.Context, r *round) error { return r.given(ctx) },
	},
	{
		name:  "every conductor killed, then cancelled; Temporal and the orchestrator are away",
		holds: "ended at once, from the database alone; what it left is owed, and undone as soon as somebody covers the node", points: points,
		within: atOnceIs, judge: paid,
		happen: func(ctx context.Context, r *round) error {
			return r.alone(ctx, func(t *trial) error {
				err := r.Call(ctx, http.MethodPost, "/temper/v1/operations/"+t.id+"/cancel", map[string]any{"reason": "a test says so"}, nil)
				return errors.Join(err, r.gone(ctx, t))
			})
		},
	},
	{
		name: "every conductor killed, then aborted; Temporal and the orchestrator are away", holds: "the same", points: provisioning,
		within: atOnceIs, judge: paid,
		happen: func(ctx context.Context, r *round) error {
			return r.alone(ctx, func(t *trial) error {
				if _, err := r.ask(ctx, t.s, kind{verb: "abort"}); err != nil {
					return err
				}
				return r.gone(ctx, t)
			})
		},
	},
	{
		name:  "every conductor killed, then moved to another conductor group; Temporal and the orchestrator are away",
		holds: "moved at once, from the database alone; goes on at the same step there", points: points,
		happen: func(ctx context.Context, r *round) error {
			heir, err := r.conductor(ctx, r.name("heir"), inGroup(refuge))
			if err != nil {
				return err
			}
			r.others = append(r.others, heir)
			err = r.alone(ctx, func(t *trial) error { return r.move(ctx, t.s, refuge) })
			r.happen()
			return errors.Join(err, r.taken(ctx, elsewhere), r.over(ctx, patience))
		},
	},
	{
		name:  "every conductor killed, then deleted in maintenance; Temporal and the orchestrator are away",
		holds: "gone at once, from the database alone; its server can be enrolled anew", points: points, within: atOnceIs, judge: enrolled,
		happen: func(ctx context.Context, r *round) error {
			err := r.alone(ctx, func(t *trial) error {
				if err := r.Call(ctx, http.MethodPut, "/v1/nodes/"+t.s.uuid+"/maintenance", nil, nil); err != nil {
					return err
				}
				if err := r.Call(ctx, http.MethodDelete, "/v1/nodes/"+t.s.uuid, nil, nil); err != nil {
					return err
				}
				t.s.uuid = ""
				return nil
			})
			return errors.Join(err, r.anew(ctx))
		},
	},
}

func inGroup(name string) string { return "TEMPER_CONDUCTOR_GROUP=" + name }

// provisioning returns the points of operations that move the provision state.
func provisioning(k kind) ([]point, error) {
	if !k.column.Provisions() {
		return nil, nil
	}
	return points(k)
}

// orphaned kills the only conductor, and starts one again when all operations say that they wait for one.
func (r *round) orphaned(ctx context.Context, back func() error) error {
	if err := r.bereave(ctx); err != nil {
		return err
	}
	if err := r.allWait(ctx, "a conductor with driver redfish"); err != nil {
		return err
	}
	if err := back(); err != nil {
		return err
	}
	r.happen() // the time is counted from the conductor's return
	return errors.Join(r.taken(ctx, elsewhere), r.over(ctx, patience))
}

// bereave brings all operations to their points, and kills the only conductor.
func (r *round) bereave(ctx context.Context) error {
	if err := r.begin(ctx, false); err != nil {
		return err
	}
	r.happen()
	return r.victim.signal(syscall.SIGKILL)
}

// revive starts a conductor with the victim's name, which stops at no point.
func (r *round) revive(ctx context.Context) error {
	p, err := newPost(r.folder(r.name("heir")))
	if err != nil {
		return err
	}
	c, err := r.join(ctx, r.victim.name, p)
	if err == nil {
		r.others = append(r.others, c)
	}
	return err
}

// given waits until all operations have given up waiting for a conductor, and then starts one.
func (r *round) given(ctx context.Context) error {
	if err := r.bereave(ctx); err != nil {
		return err
	}
	if err := r.over(ctx, patience); err != nil {
		return err
	}
	err := each(r.subjects(), func(i int, _ *subject) error {
		t := r.trials[i]
		o, err := r.Operation(ctx, t.id)
		if err != nil {
			return err
		}
		if words := "took the operation within " + hastyWait; o.Outcome != string(node.Failed) || !strings.Contains(o.Error, words) {
			return fmt.Errorf("%s: it does not say %q: %s", t.point, words, o)
		}
		return r.owes(ctx, t)
	})
	if err == nil {
		_, err = r.another(ctx, "heir")
	}
	return err
}

// alone kills all conductors of the nodes, waits until they count as dead, and stops Temporal and the orchestrator. Then it
// steers each operation, and starts all of these processes again.
func (r *round) alone(ctx context.Context, steer func(*trial) error) error {
	if err := r.bereave(ctx); err != nil {
		return err
	}
	if err := r.dead(ctx, r.victim.name); err != nil {
		return err
	}
	err := errors.Join(r.signal("temporal", syscall.SIGSTOP), r.signal("orchestrator", syscall.SIGSTOP))
	if err == nil {
		err = each(r.subjects(), func(i int, _ *subject) error {
			t, began := r.trials[i], time.Now()
			err := steer(t)
			t.took = time.Since(began)
			if err != nil {
				err = fmt.Errorf("%s: %w", t.point, err)
			}
			return err
		})
	}
	err = errors.Join(err, r.signal("temporal", syscall.SIGCONT), r.signal("orchestrator", syscall.SIGCONT), r.answering(ctx))
	if err != nil || len(r.others) > 0 {
		return err
	}
	_, err = r.another(ctx, "heir")
	return err
}

// dead waits until a conductor counts as dead.
func (r *round) dead(ctx context.Context, name string) error {
	return stack.Await(ctx, time.Minute, func() error {
		names, err := r.Alive(ctx)
		if err == nil && has(names, name) {
			err = fmt.Errorf("%s is taken for alive", name)
		}
		return err
	})
}

// gone checks that the operation was cancelled, that nothing holds its node, and that what it left is owed.
func (r *round) gone(ctx context.Context, t *trial) error {
	o, err := r.Operation(ctx, t.id)
	if err != nil {
		return err
	}
	n, err := r.Show(ctx, t.s.uuid)
	if err != nil {
		return err
	}
	if o.State != "ended" || o.Outcome != string(node.Cancelled) || n.Reservation != "" {
		return fmt.Errorf("it was not ended at once: the node is held by %q; %s", n.Reservation, o)
	}
	return r.owes(ctx, t)
}

// owes checks that the node owes the undo of what was left in the server.
func (r *round) owes(ctx context.Context, t *trial) error {
	n, err := r.Show(ctx, t.s.uuid)
	if err != nil {
		return err
	}
	sv, err := r.Server(ctx, t.s.server)
	if err != nil {
		return err
	}
	owed, _ := n.Internal["temper_owed"].([]any)
	if sv.Media != t.s.before.Media && sv.Media != "" && t.k.column != node.KindAttachMedia && !slices.Contains(owed, any(string(node.UndoEjectMedia))) {
		return fmt.Errorf("%s: media is in the server, and the node owes %v", t.point, owed)
	}
	return nil
}

// paid judges an operation that was ended while nobody could undo what it left: by now that must be undone.
func paid(ctx context.Context, l *lab, t *trial) error {
	if err := failed("")(ctx, l, t); err != nil {
		return err
	}
	return becomes(ctx, func() error {
		n, err := l.Show(ctx, t.s.uuid)
		if err != nil {
			return err
		}
		if owed := n.Internal["temper_owed"]; owed != nil || n.Reservation != "" || strings.Contains(n.LastError, node.UndoLeft) {
			return fmt.Errorf("the node owes %v, is held by %q, and says %q", owed, n.Reservation, n.LastError)
		}
		return nil
	})
}

// anew enrols the servers of deleted nodes again, and cleans them.
func (r *round) anew(ctx context.Context) error {
	return each(r.subjects(), func(i int, s *subject) (err error) {
		if err = r.enrollClean(ctx, s); err != nil {
			err = fmt.Errorf("%s: %w", r.trials[i].point, err)
		}
		return err
	})
}

// enrolled judges an operation whose node was deleted.
func enrolled(ctx context.Context, l *lab, t *trial) error {
	o, err := l.Operation(ctx, t.id)
	if err != nil {
		return err
	}
	sv, err := l.Server(ctx, t.s.server)
	if err != nil {
		return err
	}
	if o.Outcome != string(node.Cancelled) || sv.Powered || sv.Media != "" || sv.BootOverride != "" {
		return fmt.Errorf("the server is left on %t, media %q, override %q; %s", sv.Powered, sv.Media, sv.BootOverride, o)
	}
	return nil
}
