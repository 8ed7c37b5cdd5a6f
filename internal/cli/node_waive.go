package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

func newNodeWaive(s *session) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "waive NODE...", Short: "Waive what earlier operations left to be undone on nodes", Args: cobra.MinimumNArgs(1),
		Long: `Waive what earlier operations left to be undone on nodes, because the BMC refuses it for good or because somebody has
done it by hand. "temper node why" shows what a node owes: switch the server off, eject the medium from the virtual drive,
or clear the one-time boot device. The node's history records who waived it and why.`,
		Example: "  temper node waive n1 --reason \"the virtual drive is broken\"", ValidArgsFunction: s.completeNodes("", 0),
	}
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the node's history (required)")
	must(c.MarkFlagRequired("reason"))
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if strings.TrimSpace(reason) == "" {
			return errors.New("--reason is empty")
		}
		names := unique(args)
		return s.report(names, forEach(ctx, names, defaultParallel, "", func(ctx context.Context, name string) (string, error) {
			w, err := s.Waive(ctx, name, reason)
			if err != nil {
				return "", err
			}
			return "waived: " + strings.Join(w.Waived, ", "), nil
		}))
	})
	return c
}
