package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

// defaultAtOnce is how many BMCs get new passwords at a time.
const defaultAtOnce = 10

// errModelFailed is why nodes keep their passwords whose model has turned out not to take new ones.
var errModelFailed = errors.New("it keeps its password")

func newNodeBMCPassword(s *session) *cobra.Command {
	c := newParent("bmc-password", "Give BMCs new passwords", "  temper node bmc-password rotate n1 --watch")
	c.AddCommand(newBMCPasswordRotate(s))
	return c
}

func newBMCPasswordRotate(s *session) *cobra.Command {
	sel := selection{atOnce: true}
	var o watch.Options
	var terms client.Terms
	c := &cobra.Command{
		Use: "rotate NODE...", Short: "Give the BMCs of nodes new passwords that only Temper knows",
		Long: `Give the BMCs of nodes new passwords that only Temper knows. Each node gets an operation, which makes a random password, tries it with a
second account where the BMC can have one, changes the account of the node, logs in with it and makes it the node's. If anything dies on
the way, Temper knows both passwords and finds out which of them the BMC has.

Of several nodes, the first one of each hardware model gets its password alone. If that fails, the other nodes of the model keep theirs.
If it succeeds, they follow, at most --at-once of them at a time. The model is the one that the last inspection found; nodes that
were never inspected count as one model.`,
		Example: "  temper node bmc-password rotate n1 --watch\n  temper node bmc-password rotate --all-in-state available --yes --at-once 5",
	}
	sel.addFlags(c, s, "")
	o.AddFlags(c, watch.Succeed)
	addPatience(c, &terms)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		names, err := sel.nodes(ctx, s, args, "change the BMC passwords of")
		if err != nil {
			return err
		}
		r := rotation{session: s, options: o, atOnce: sel.parallel, follow: o.Enabled() || len(names) > 1, terms: terms}
		return s.conclude(r.all(ctx, names), o.Watch)
	})
	return c
}

// rotation gives the BMCs of several nodes new passwords.
type rotation struct {
	*session
	options watch.Options
	atOnce  int
	follow  bool // wait for the ends
	terms   client.Terms
}

// all begins with the first node of each model.
func (r rotation) all(ctx context.Context, names []string) []result[*watch.Target] {
	models := forEach(ctx, names, r.atOnce, "", r.model)
	var first, rest []string
	firstOf := map[string]string{}
	for _, m := range models {
		if _, begun := firstOf[m.value]; begun && m.err == nil {
			rest = append(rest, m.name)
			continue
		}
		if m.err == nil {
			firstOf[m.value] = m.name
		}
		first = append(first, m.name) // without a model it fails by itself
	}
	done := r.some(ctx, first)
	failed := map[string]error{}
	for _, d := range done {
		failed[d.name] = outcomeOf(d)
	}
	var next []string
	var stopped []result[*watch.Target]
	for _, m := range models {
		switch leader := firstOf[m.value]; {
		case !slices.Contains(rest, m.name):
		case failed[leader] == nil:
			next = append(next, m.name)
		default:
			stopped = append(stopped, result[*watch.Target]{name: m.name, err: fmt.Errorf("%w, because %s, which is of the same model, did not get a new one", errModelFailed, leader)})
		}
	}
	return slices.Concat(done, r.some(ctx, next), stopped)
}

// outcomeOf returns why a node did not get a new password, nil if it did.
func outcomeOf(d result[*watch.Target]) error {
	if d.err != nil {
		return d.err
	}
	return d.value.Err
}

// model returns the hardware model of a node, as its last inspection found it; "" = it was never inspected.
func (r rotation) model(ctx context.Context, name string) (string, error) {
	h, err := r.Hardware(ctx, name)
	switch {
	case client.StatusOf(err) == http.StatusNotFound && client.CodeOf(err) != fault.NodeNotFound:
		return "", nil
	case err != nil:
		return "", err
	}
	for _, f := range h.Facts {
		if f.Name == "model" {
			return f.Value, nil
		}
	}
	return "", nil
}

// some gives new passwords to these nodes, at most atOnce at a time.
func (r rotation) some(ctx context.Context, names []string) (all []result[*watch.Target]) {
	for part := range slices.Chunk(names, r.atOnce) {
		asked := forEach(ctx, part, r.atOnce, "", func(ctx context.Context, name string) (*watch.Target, error) {
			id, err := r.Work(ctx, name, client.Work{Verb: client.VerbRotate, Terms: r.terms})
			return &watch.Target{Name: name, ID: id, Goal: watch.Succeed}, whetherAccepted(err, name)
		})
		if targets := succeeded(asked); len(targets) > 0 && r.follow {
			r.watcher(r.options).Follow(ctx, targets, r.atOnce)
		} else {
			watch.PollOnce(ctx, r.Client, targets, r.atOnce)
		}
		all = append(all, asked...)
	}
	return all
}
