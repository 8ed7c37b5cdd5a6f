package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newNodeRecover(s *session) *cobra.Command {
	var force, dryRun bool
	var reason string
	c := &cobra.Command{
		Use: "recover NODE...", Short: "Show who holds nodes, and end orphaned operations; with --force also live ones", Args: cobra.MinimumNArgs(1),
		Long: `Show who holds nodes, and end orphaned operations; with --force also live ones. It says which operation holds a node, whether
the owner is alive, and what will happen without you. An orphaned operation is ended at once: one whose workflow has
ended, or one that waits because no live conductor covers its node. What it left half done is undone as soon as a conductor
covers the node. With --force and --reason an operation is ended even if its owner is alive. --dry-run ends nothing, and says what
would be ended and undone, and who would hold the node then.`,
		Example: "  temper node recover n1 --dry-run\n  temper node recover n1\n  temper node recover n1 --force --reason \"rack 7 burns\"", ValidArgsFunction: s.completeNodes("", 0),
	}
	c.Flags().BoolVar(&force, "force", false, "end the operation even if its owner is alive; requires --reason")
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the node's history")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done; ends nothing")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if force && !dryRun && strings.TrimSpace(reason) == "" {
			return errors.New("--force needs a --reason")
		}
		names := unique(args)
		return s.report(names, forEach(ctx, names, defaultParallel, "", func(ctx context.Context, name string) (string, error) {
			r, err := s.Recover(ctx, name, force, dryRun, reason)
			if err != nil {
				return "", err
			}
			return recoveryWords(r, name, dryRun), nil
		}))
	})
	return c
}

// recoveryWords says what a recovery did to a node or, of a dry run, what it would do.
func recoveryWords(r *client.Recovery, name string, dryRun bool) string {
	holder := fmt.Sprintf("operation %s (%s), its workflow is %s. By itself: %s", r.Operation, r.Kind, r.Workflow, r.Next)
	effects := strings.Join(r.Effects, "; ")
	switch {
	case r.Operation == "":
		return r.Why
	case r.Done == "" && dryRun:
		return holder + ". This command would end nothing; temper node why " + name + " says more"
	case r.Done == "":
		return holder + ". Nothing was ended; temper node why " + name + " says more"
	case dryRun:
		return fmt.Sprintf("%s. The operation would be %s. Then: %s. Nothing was done", holder, r.Done, effects)
	}
	return fmt.Sprintf("operation %s %s. Now: %s", r.Operation, r.Done, effects)
}

func newOperationRecover(s *session) *cobra.Command {
	var lost bool
	var reason string
	c := &cobra.Command{
		Use: "recover", Short: "End all operations that Temporal does not know any more, because it lost its data", Args: cobra.NoArgs,
		Example: "  temper operation recover --lost-temporal --reason \"its database was restored from yesterday\"",
	}
	c.Flags().BoolVar(&lost, "lost-temporal", false, "confirm that Temporal has lost its data (required)")
	c.Flags().StringVar(&reason, "reason", "", "`why` (required)")
	must(c.MarkFlagRequired("lost-temporal"))
	must(c.MarkFlagRequired("reason"))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if !lost {
			return errors.New("--lost-temporal=false ends nothing: use --lost-temporal to confirm that Temporal has lost its data")
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
