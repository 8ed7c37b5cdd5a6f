package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

func newTokenCommand() *cobra.Command {
	return newGroup("token", "Make and revoke tokens of service accounts", "  temper token create ci --role member --project p1 --expires 720h",
		func(s *session) []*cobra.Command {
			return []*cobra.Command{newTokenCreate(s), newTokenList(s), newTokenRevoke(s)}
		})
}

func newTokenCreate(s *session) *cobra.Command {
	var role, project string
	var expires time.Duration
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a token for a service account", Args: cobra.ExactArgs(1),
		Long: `Make a token for a service account. The command shows it once, on standard output; Temper keeps its SHA-256 only. A program that has it
in TEMPER_TOKEN, or sends it as Authorization: Bearer TOKEN, may do what the role allows in the project, or in the whole system without
one. A token can't give more than its maker has.`,
		Example: "  temper token create ci --role member --project p1 --expires 720h\n  temper token create backup --role reader",
	}
	c.Flags().StringVar(&role, "role", "", "`role`: "+strings.Join(roleNames(), ", ")+" (required)")
	c.Flags().StringVar(&project, "project", "", "id of the `project` in which it has the role; without it, the whole system")
	c.Flags().DurationVar(&expires, "expires", 720*time.Hour, "how long it is valid")
	completeWords(c, "role", roleNames()...)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if role == "" {
			return exit.Usage(errors.New("say with --role what its holder may do"))
		}
		fields := map[string]any{"name": args[0], "role": role, "expires_in": int64(expires / time.Second)}
		if project != "" {
			fields["project"] = project
		}
		t, err := s.CreateToken(ctx, fields)
		if err != nil {
			return err
		}
		return s.show(t, func(w io.Writer) error {
			if _, err := fmt.Fprintf(s.err, "token %s of %s, which is not shown again:\n", t.ID, t.Name); err != nil {
				return err
			}
			_, err := fmt.Fprintln(w, t.Token)
			return err
		})
	})
	return c
}

func roleNames() (out []string) {
	for _, r := range access.Roles() {
		out = append(out, string(r))
	}
	return out
}

func newTokenList(s *session) *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use: "list", Short: "List the tokens of service accounts", Args: cobra.NoArgs, Example: "  temper token list",
		Long: "List the tokens of service accounts, the oldest first, with the hour of their last use. What their holders keep is not shown.",
	}
	c.Flags().IntVar(&limit, "limit", 0, "list at most so many")
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		list, err := s.Tokens(ctx, limit)
		if err != nil {
			return err
		}
		return s.show(map[string]any{"tokens": orEmpty(list.Items)}, func(w io.Writer) error {
			g := table.New("ID", "NAME", "ROLE", "PROJECT", "STATE", "EXPIRES", "USED", "MADE BY").Whole("ID", "STATE")
			for i := range list.Items {
				t := &list.Items[i]
				g.Add(t.ID, t.Name, t.Role, t.Project, tokenState(t, s.now()), cmp.Or(table.Time(t.ExpiresAt), "never"), cmp.Or(table.Time(t.UsedAt), "never"), t.CreatedBy)
			}
			return g.Print(w)
		})
	})
	return c
}

func tokenState(t *client.Token, now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return "expired"
	}
	return "valid"
}

func newTokenRevoke(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID...", Short: "Revoke tokens", Args: cobra.MinimumNArgs(1), Example: "  temper token revoke 3kTz9QmB1x",
		Long: "Revoke tokens. Every process of the API refuses them within 5 s.",
		RunE: s.run(func(ctx context.Context, args []string) error {
			return s.report(args, forEach(ctx, args, defaultParallel, "", func(ctx context.Context, id string) (string, error) {
				return "revoked", s.RevokeToken(ctx, id)
			}))
		}),
	}
}
