package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newNodeWhy(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "why NODE", Short: "Say what happens to a node, for what it waits, and what you can do", Args: cobra.ExactArgs(1),
		Example: "  temper node why n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		w, err := s.Why(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(w, func(out io.Writer) error {
			_, err := fmt.Fprintln(out, w.Text)
			return err
		})
	})
	return c
}

func newNodeRecover(s *session) *cobra.Command {
	var force bool
	var reason string
	c := &cobra.Command{
		Use: "recover NODE...", Short: "Say who holds nodes, and end what is orphaned; with --force also what is alive", Args: cobra.MinimumNArgs(1),
		Long: `Say who holds nodes, and end what is orphaned; with --force also what is alive. It tells whether the owner is alive,
and what happens by itself. An operation that is orphaned is ended at
once, without --force: one whose workflow has ended, and one that waits because no live conductor covers its node. What it left
half done is undone as soon as somebody covers the node. With --force --reason one whose owner is alive is ended, too.`,
		Example: "  temper node recover n1\n  temper node recover n1 --force --reason \"rack 7 burns\"", ValidArgsFunction: s.completeNodes("", 0),
	}
	c.Flags().BoolVar(&force, "force", false, "end it even where its owner is alive; needs --reason")
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the node's history")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if force && strings.TrimSpace(reason) == "" {
			return errors.New("--force needs a --reason")
		}
		names := unique(args)
		return s.report(names, forEach(ctx, names, defaultParallel, "", func(ctx context.Context, name string) (string, error) {
			r, err := s.Recover(ctx, name, force, reason)
			switch {
			case err != nil:
				return "", err
			case r.Done != "":
				return "operation " + r.Operation + " " + r.Done, nil
			case r.Operation == "":
				return r.Why, nil
			}
			return fmt.Sprintf("operation %s (%s), its workflow is %s. By itself: %s. %s", r.Operation, r.Kind, r.Workflow, r.Next, r.Why), nil
		}))
	})
	return c
}

func newOperationRecover(s *session) *cobra.Command {
	var lost bool
	var reason string
	c := &cobra.Command{
		Use: "recover", Short: "End all operations that a Temporal which has lost its data does not know", Args: cobra.NoArgs,
		Example: "  temper operation recover --lost-temporal --reason \"its database was restored from yesterday\"",
	}
	c.Flags().BoolVar(&lost, "lost-temporal", false, "say that Temporal has lost its data (required)")
	c.Flags().StringVar(&reason, "reason", "", "`why` (required)")
	must(c.MarkFlagRequired("lost-temporal"))
	must(c.MarkFlagRequired("reason"))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if !lost {
			return errors.New("say --lost-temporal")
		}
		if strings.TrimSpace(reason) == "" {
			return errors.New("--lost-temporal needs a --reason")
		}
		if err := s.LostTemporal(ctx, reason); err != nil {
			return err
		}
		return s.show(map[string]bool{"lost_temporal": true}, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, "what Temporal does not know is ended by the next reconciliations")
			return err
		})
	})
	return c
}
