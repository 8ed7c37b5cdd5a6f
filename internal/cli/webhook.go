package cli

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newWebhookCommand() *cobra.Command {
	return newGroup("webhook", "Have events sent to HTTP endpoints", "  temper webhook create chat --url https://chat.example.org/hook --type operation.ended",
		func(s *session) []*cobra.Command {
			return []*cobra.Command{
				newWebhookList(s), newWebhookShow(s), newWebhookCreate(s), newWebhookSet(s), newWebhookEnable(s, true), newWebhookEnable(s, false), newWebhookDelete(s),
				newWebhookTest(s), newWebhookDeadLetters(s), newWebhookRedeliver(s),
			}
		})
}

func newWebhookList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List webhooks, and how their deliveries go", Args: cobra.NoArgs, Example: "  temper webhook list",
		RunE: s.run(func(ctx context.Context, _ []string) error {
			list, err := s.Webhooks(ctx)
			if err != nil {
				return err
			}
			return s.show(map[string]any{"webhooks": orEmpty(list)}, func(w io.Writer) error {
				g := table.New("NAME", "STATE", "URL", "DELIVERED", "DEAD", "LAST ERROR").Whole("STATE").Wrap("LAST ERROR")
				for _, h := range list {
					g.Add(h.Name, h.State, h.URL, fmt.Sprint(h.Deliveries), fmt.Sprint(h.DeadLetters), h.LastError)
				}
				return g.Print(w)
			})
		}),
	}
}

func (s *session) showWebhook(h *client.Webhook) error {
	return s.show(h, func(w io.Writer) error {
		return table.Fields(h.Fields(), []string{"name", "state", "url", "last_error"}, hiddenFields, false).Print(w)
	})
}

func newWebhookShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show WEBHOOK", Short: "Show a webhook, and how its deliveries go", Args: cobra.ExactArgs(1),
		Example: "  temper webhook show chat", ValidArgsFunction: s.completeWebhooks(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			h, err := s.Webhook(ctx, args[0])
			if err != nil {
				return err
			}
			return s.showWebhook(h)
		}),
	}
}

func newWebhookCreate(s *session) *cobra.Command {
	var to, of, secretFile string
	var kinds, causes, types []string
	var disabled bool
	c := &cobra.Command{
		Use: "create WEBHOOK", Short: "Have events sent to an HTTP endpoint from now on", Args: cobra.ExactArgs(1),
		Long: `Have events sent to an HTTP endpoint from now on. Each is a POST, signed as Standard Webhooks (standardwebhooks.com) says. The
command makes the secret with which the endpoint checks signatures, and shows it once, on standard error; Temper never shows it
again. With --secret-file it reads the secret from a file. docs/events.md has the types of events and the form of the messages.`,
		Example: "  temper webhook create chat --url https://chat.example.org/hook --type operation.ended,operation.holding\n" +
			"  temper webhook create cmdb --url https://cmdb.example.org/temper --secret-file ./secret",
	}
	c.Flags().StringVar(&to, "url", "", "`url` of the endpoint (required)")
	c.Flags().StringVar(&secretFile, "secret-file", "", "`file` with the secret: whsec_ and the base64 of 24 to 64 random bytes")
	c.Flags().StringVar(&of, "node", "", "only events of this `node`")
	c.Flags().StringSliceVar(&kinds, "kind", nil, "only events of operations of these `kinds`")
	c.Flags().StringSliceVar(&causes, "cause", nil, "only events with these `causes`")
	c.Flags().StringSliceVar(&types, "type", nil, "only events of these `types`; baremetal.node stands for all that begin with it")
	c.Flags().BoolVar(&disabled, "disabled", false, "send nothing before temper webhook enable")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	var words []string
	for _, k := range node.Kinds() {
		words = append(words, string(k))
	}
	completeWords(c, "kind", words...)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if to == "" {
			return exit.Usage(errors.New("say where the endpoint is with --url"))
		}
		secret, err := webhookSecret(secretFile)
		if err != nil {
			return err
		}
		fields := map[string]any{"name": args[0], "url": to, "secret": secret, "kinds": orEmpty(kinds), "causes": orEmpty(causes), "types": orEmpty(types), "enabled": !disabled}
		if of != "" {
			fields["node"] = of
		}
		h, err := s.CreateWebhook(ctx, fields)
		if err != nil {
			return err
		}
		if secretFile == "" {
			if _, err := fmt.Fprintf(s.err, "the secret of webhook %s, which is not shown again: %s\n", h.Name, secret); err != nil {
				return err
			}
		}
		return s.showWebhook(h)
	})
	return c
}

func newWebhookSet(s *session) *cobra.Command {
	var to, of, secretFile string
	var kinds, causes, types []string
	var newSecret bool
	c := &cobra.Command{
		Use: "set WEBHOOK", Short: "Change the endpoint, the filter or the secret of a webhook", Args: cobra.ExactArgs(1),
		Long: `Change the endpoint, the filter or the secret of a webhook. Only what the flags name changes; an empty value removes a part of the
filter. The next message goes to the new endpoint and is signed with the new secret. With --new-secret the command makes the secret and
shows it once, on standard error.`,
		Example:           "  temper webhook set chat --url https://chat.example.org/new\n  temper webhook set chat --new-secret",
		ValidArgsFunction: s.completeWebhooks(1),
	}
	f := c.Flags()
	f.StringVar(&to, "url", "", "`url` of the endpoint")
	f.StringVar(&secretFile, "secret-file", "", "`file` with the new secret: whsec_ and the base64 of 24 to 64 random bytes")
	f.BoolVar(&newSecret, "new-secret", false, "make a new secret")
	f.StringVar(&of, "node", "", "only events of this `node`")
	f.StringSliceVar(&kinds, "kind", nil, "only events of operations of these `kinds`")
	f.StringSliceVar(&causes, "cause", nil, "only events with these `causes`")
	f.StringSliceVar(&types, "type", nil, "only events of these `types`; baremetal.node stands for all that begin with it")
	c.MarkFlagsMutuallyExclusive("new-secret", "secret-file")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		fields := map[string]any{}
		for flag, change := range map[string]struct {
			name  string
			value any
		}{
			"url": {"url", to}, "node": {"node", of}, "kind": {"kinds", orEmpty(kinds)}, "cause": {"causes", orEmpty(causes)}, "type": {"types", orEmpty(types)},
		} {
			if f.Changed(flag) {
				fields[change.name] = change.value
			}
		}
		if newSecret || secretFile != "" {
			secret, err := webhookSecret(secretFile)
			if err != nil {
				return err
			}
			fields["secret"] = secret
		}
		if len(fields) == 0 {
			return exit.Usage(errors.New("say what is to be changed, such as --url"))
		}
		h, err := s.ChangeWebhook(ctx, args[0], fields)
		if err != nil {
			return err
		}
		if newSecret {
			if _, err := fmt.Fprintf(s.err, "the secret of webhook %s, which is not shown again: %s\n", h.Name, fields["secret"]); err != nil {
				return err
			}
		}
		return s.showWebhook(h)
	})
	return c
}

// maxSecretFile is the size of the largest file with a secret, in bytes; a secret has at most 94.
const maxSecretFile = 4 << 10

// webhookSecret reads the secret from a file; without one it makes a new secret.
func webhookSecret(file string) (string, error) {
	if file != "" {
		text, err := input.File(file, maxSecretFile)
		return strings.TrimSpace(string(text)), err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key), nil
}

func newWebhookEnable(s *session, enabled bool) *cobra.Command {
	verb, short := "enable", "Send events to a webhook again, from where it was, within 5 seconds"
	if !enabled {
		verb, short = "disable", "Send nothing more to a webhook until it is enabled"
	}
	return &cobra.Command{
		Use: verb + " WEBHOOK", Short: short, Args: cobra.ExactArgs(1), Example: "  temper webhook " + verb + " chat", ValidArgsFunction: s.completeWebhooks(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			h, err := s.ChangeWebhook(ctx, args[0], map[string]any{"enabled": enabled})
			if err != nil {
				return err
			}
			return s.showWebhook(h)
		}),
	}
}

func newWebhookDelete(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "delete WEBHOOK", Short: "Delete a webhook with its dead letters", Args: cobra.ExactArgs(1),
		Example: "  temper webhook delete chat", ValidArgsFunction: s.completeWebhooks(1),
		RunE: s.run(func(ctx context.Context, args []string) error { return s.DeleteWebhook(ctx, args[0]) }),
	}
}

func newWebhookTest(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "test WEBHOOK", Short: "Send a webhook one message of the type webhook.test, and say what came of it", Args: cobra.ExactArgs(1),
		Example: "  temper webhook test chat", ValidArgsFunction: s.completeWebhooks(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			t, err := s.TestWebhook(ctx, args[0])
			if err != nil {
				return err
			}
			if !t.Delivered {
				return fmt.Errorf("webhook %s: %s", args[0], t.Error)
			}
			return s.show(t, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "the endpoint of webhook %s has taken the message\n", args[0])
				return err
			})
		}),
	}
}

func newWebhookDeadLetters(s *session) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "dead-letters WEBHOOK", Short: "List events that were given up for a webhook, oldest first", Args: cobra.ExactArgs(1),
		Example: "  temper webhook dead-letters chat", ValidArgsFunction: s.completeWebhooks(1),
	}
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		list, err := s.DeadLetters(ctx, args[0], limit)
		if err != nil {
			return err
		}
		s.reportMore(list.More, limit, "dead letters")
		return s.show(map[string]any{"dead_letters": orEmpty(list.Items)}, func(w io.Writer) error {
			g := table.New("EVENT", "TYPE", "HAPPENED", "GIVEN UP", "ERROR").Wrap("ERROR")
			for _, d := range list.Items {
				g.Add(fmt.Sprint(d.Event), d.Type, table.Time(d.At), table.Time(d.GivenUpAt), d.Error)
			}
			return g.Print(w)
		})
	})
	return c
}

func newWebhookRedeliver(s *session) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "redeliver WEBHOOK [EVENT]", Short: "Send a dead letter of a webhook once more, or all with --all", Args: cobra.RangeArgs(1, 2),
		Example: "  temper webhook redeliver chat 4712\n  temper webhook redeliver chat --all", ValidArgsFunction: s.completeWebhooks(1),
	}
	c.Flags().BoolVar(&all, "all", false, "send all of them")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		event := int64(0)
		if all == (len(args) == 2) {
			return exit.Usage(errors.New("say which event, or --all"))
		}
		if !all {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n <= 0 {
				return exit.Usage(fmt.Errorf("%s is not the number of an event", args[1]))
			}
			event = n
		}
		r, err := s.RedeliverEvents(ctx, args[0], event)
		if err != nil {
			return err
		}
		return s.show(r, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "dead letters that are sent once more, within seconds: %d; temper webhook dead-letters %s shows which were not taken\n", r.Redelivering, args[0])
			return err
		})
	})
	return c
}
