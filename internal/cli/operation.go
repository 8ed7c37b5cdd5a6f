package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func newOperationCommand() *cobra.Command {
	return newGroup("operation", "Show and steer operations on nodes", "  temper operation list\n  temper operation watch 12",
		func(s *session) []*cobra.Command {
			all := []*cobra.Command{newOperationList(s), newOperationShow(s), newOperationCancel(s), newOperationWatch(s), newOperationRecover(s)}
			return append(append(all, newDecisions(s)...), newOperationUnpause(s))
		})
}

func newOperationShow(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "show ID", Short: "Show an operation, its steps and what happened to it", Args: cobra.ExactArgs(1),
		Example: "  temper operation show 12", ValidArgsFunction: s.completeOperations(1, false),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		parts := s.parts(ctx)
		o, err := s.Operation(ctx, args[0])
		if err != nil {
			return err
		}
		return s.show(o, func(w io.Writer) error {
			timeline, err := s.Timeline(ctx, args[0])
			if err != nil {
				return err
			}
			if o.EndedAt == nil {
				writeBroken(w, <-parts)
			}
			if err := operationFields(o, s.now()).Print(w); err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "\n%s\n\n%s\n", stepTable(o, timeline, s.now()), timelineTable(o, timeline))
			return err
		})
	})
	return c
}

func operationFields(o *client.Operation, now time.Time) table.Table {
	g := table.New()
	for _, f := range [][2]string{
		{"operation", o.ID},
		{"node", strings.TrimSpace(o.NodeName + " " + o.NodeUUID)},
		{"kind", o.Kind},
		{"state", watch.State(o)},
		{"error", o.Error},
		{"cause", o.Cause},
		{"requested by", o.RequestedBy},
		{"accepted", table.Time(o.AcceptedAt)},
		{"begun", table.Time(o.BegunAt)},
		{"ended", table.Time(o.EndedAt)},
		{"took", table.Elapsed(o.AcceptedAt, o.EndedAt, now)},
		{"conductor", o.Conductor},
		{"waiting until", waitingUntil(o)},
		{"usual time", o.Usual},
		{"step", stepWait(o)},
		{"on failure", o.OnFailure},
		{"retry of", o.RetryOf},
		{"asked", describeRequest(o)},
		{"workflow", o.WorkflowURL},
	} {
		if f[1] != "" {
			g.Add(f[0], f[1])
		}
	}
	return g
}

// waitingUntil says until when an operation waits, and what happens then; "" if that is not known, or the line about its step says it.
func waitingUntil(o *client.Operation) string {
	if w := o.StepWait; w != nil && w.Until != nil && o.WaitingUntil != nil && w.Until.Equal(*o.WaitingUntil) {
		return ""
	}
	return table.Time(o.WaitingUntil) + table.Optional(", then ", o.AtLimit)
}

// stepWait says what the running step of an operation waits for, "" if that is not known.
func stepWait(o *client.Operation) string {
	s := o.Current()
	if s == nil || o.StepWait == nil {
		return ""
	}
	return s.Name() + ": " + o.StepWait.Sentence
}

func stepTable(o *client.Operation, timeline []client.Moment, now time.Time) table.Table {
	waits := stepWait(o)
	g := table.New("STEP", "NAME", "STATE", "ATTEMPTS", "CONDUCTOR", "STARTED", "TOOK", "LAST ERROR").Wrap("LAST ERROR")
	for _, s := range o.Steps {
		why := withoutError(s.LastError, o)
		if why == "" && s.LastError != "" {
			why = "the error above"
		}
		if why != "" && strings.Contains(waits, table.Clause(why)) { // the line about the step has it
			why = "the error above"
		}
		g.Add(fmt.Sprint(s.Index+1), s.Name(), s.State, describeAttempts(s), s.Conductor, table.Time(s.StartedAt),
			watch.StepDuration(o, s, now), cmp.Or(why, s.Note, describeLate(s), overcome(s, timeline)))
	}
	return g
}

// overcome says of a step that has no error any more why the last of its attempts failed that did; "" if none did, or nobody knows.
func overcome(s client.Step, timeline []client.Moment) string {
	if s.Failures == 0 {
		return ""
	}
	for _, m := range slices.Backward(timeline) {
		if why, failed := strings.CutPrefix(m.Text, "an attempt at step "+s.Name()+" failed: "); failed && m.What == string(node.TimelineFailed) {
			return "before: " + why
		}
	}
	return ""
}

// withoutError returns words without the error of o, which stands above them.
func withoutError(words string, o *client.Operation) string {
	why := table.Clause(o.Error)
	if why == "" || !strings.Contains(words, why) {
		return words
	}
	if table.Clause(words) == why {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(words, ": "+why, ""), why, "the error above"))
}

// describeLate says of a step that was ended, and has no error, why it took unusually long; "" if it did not.
func describeLate(s client.Step) string {
	if node.StepState(s.State) != node.StepCancelled || s.Cause == "" {
		return ""
	}
	return "it took unusually long: " + table.Clause(fault.Code(s.Cause).Meaning())
}

// timelineTable has a line for each thing that happened, with how long after the request that was.
func timelineTable(o *client.Operation, timeline []client.Moment) table.Table {
	g := table.New("AT", "AFTER", "WHAT HAPPENED")
	for _, m := range foldHandOvers(timeline) {
		g.Add(table.Time(m.At), table.Elapsed(o.AcceptedAt, m.At, time.Time{}), withoutError(m.Text, o))
	}
	return g
}

// describeRequest says what is asked of an operation, by whom and why. It is "" once the request is done.
func describeRequest(o *client.Operation) string {
	if o.Asked == "" {
		return ""
	}
	return o.Asked + table.Optional(" by ", o.AskedBy) + table.Optional(": ", o.AskedReason)
}

// describeAttempts says how often a step was started and how often it failed and, if more attempts may come, how often it may fail.
func describeAttempts(s client.Step) string {
	switch {
	case s.Failures == 0:
		return fmt.Sprint(s.Attempts)
	case s.FailureLimit() == 0:
		return fmt.Sprintf("%d, %d failed", s.Attempts, s.Failures)
	}
	return fmt.Sprintf("%d, failed %d of %d", s.Attempts, s.Failures, s.Limit)
}

func newOperationCancel(s *session) *cobra.Command {
	var reason string
	var o watch.Options
	c := &cobra.Command{
		Use: "cancel ID...", Short: "Cancel operations, undo what they left half done, and free their nodes", Args: cobra.MinimumNArgs(1),
		Example: "  temper operation cancel 12 --reason \"wrong image\" --wait 5m", ValidArgsFunction: s.completeOperations(0, true),
	}
	c.Flags().StringVar(&reason, "reason", "", "`why`")
	o.AddFlags(c, watch.Cancel)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		asked := forEach(ctx, unique(args), defaultParallel, "", func(ctx context.Context, id string) (*watch.Target, error) {
			op, err := s.CancelOperation(ctx, id, reason)
			if err != nil {
				return nil, err
			}
			return &watch.Target{Name: op.Label(), ID: id, Goal: watch.Cancel, Op: op}, nil
		})
		return s.finish(ctx, o, defaultParallel, asked)
	})
	return c
}

func newOperationWatch(s *session) *cobra.Command {
	var of string
	var o watch.Options
	c := &cobra.Command{
		Use: "watch ID...", Short: "Follow operations until they end or hold; exit code 0 only if they succeeded",
		Example: "  temper operation watch 12\n  temper operation watch --node n1 --timeout 1h", ValidArgsFunction: s.completeOperations(0, true),
	}
	c.Long = c.Short + ".\n\n" + watch.Help()
	c.Flags().StringVar(&of, "node", "", "follow the newest operation on this `node`, instead of operations by their ids")
	o.AddInterval(c)
	c.Flags().DurationVar(&o.Wait, "wait", 0, "follow them for this `DURATION` at most, as --timeout")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	o.Watch = true
	c.Args = func(_ *cobra.Command, args []string) error {
		if (of == "") == (len(args) == 0) {
			return errors.New("name operations by their ids, or one node with --node")
		}
		return nil
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		w := s.watcher(o)
		if of != "" {
			id, err := newestOperation(ctx, w, of)
			if err != nil {
				return err
			}
			args = []string{id}
		}
		var asked []result[*watch.Target]
		for _, id := range unique(args) {
			asked = append(asked, result[*watch.Target]{name: id, value: &watch.Target{ID: id}})
		}
		w.Follow(ctx, succeeded(asked), defaultParallel)
		return s.conclude(asked, true)
	})
	return c
}

// newestOperation returns the id of a node's newest operation. It waits while the API is away.
func newestOperation(ctx context.Context, w *watch.Watcher, of string) (id string, err error) {
	err = w.Await(ctx, "the newest operation of "+of, func(ctx context.Context, c *client.Client) error {
		list, err := c.Operations(ctx, client.OperationFilter{Node: of}, 1)
		switch {
		case err != nil:
			return err
		case len(list.Items) == 0:
			return fmt.Errorf("node %s never had an operation", of)
		}
		id = list.Items[0].ID
		return nil
	})
	return id, err
}
