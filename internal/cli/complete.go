package cli

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// completionTimeout limits how long a shell waits for names.
const completionTimeout = 2 * time.Second

// completing returns a completion that asks the API. If that fails, it offers nothing.
func (s *session) completing(most int, ask func(ctx context.Context, c *cobra.Command, args []string) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if most > 0 && len(args) >= most {
			return nil, nothing
		}
		s.timeout.Duration = min(s.timeout.Duration, completionTimeout)
		if s.open(c, &delay{now: s.now}) != nil {
			return nil, nothing
		}
		defer s.Close()
		found, err := ask(c.Context(), c, args)
		if err != nil {
			return nil, nothing
		}
		return slices.DeleteFunc(found, func(s string) bool {
			name, _, _ := strings.Cut(s, "\t")
			return slices.Contains(args, name)
		}), nothing
	}
}

// completeNodes offers the nodes for which event is possible ("" = all), for at most so many arguments (0 = any number).
func (s *session) completeNodes(event node.Event, most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Nodes(ctx, url.Values{"fields": {"uuid,name,provision_state"}}, client.DefaultLimit)
		var out []string
		for i := range list.Items {
			n := &list.Items[i]
			if event == "" || node.Can(node.State(n.ProvisionState), event) {
				out = append(out, cobra.CompletionWithDesc(n.Label(), n.ProvisionState))
			}
		}
		return out, err
	})
}

// completeOperations offers the newest operations, or only those of them that are open.
func (s *session) completeOperations(most int, open bool) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Operations(ctx, client.OperationFilter{}, 100)
		var out []string
		for i := range list.Items {
			if o := &list.Items[i]; !open || !o.Ended() {
				out = append(out, cobra.CompletionWithDesc(o.ID, o.Kind+" "+o.Label()+" "+o.State))
			}
		}
		return out, err
	})
}

func (s *session) completeDrivers(most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		drivers, err := s.Drivers(ctx)
		var out []string
		for _, d := range drivers {
			out = append(out, d.Name)
		}
		return out, err
	})
}

func (s *session) completeConductors(most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Conductors(ctx, client.DefaultLimit)
		var out []string
		for _, k := range list.Items {
			out = append(out, k.Hostname)
		}
		return out, err
	})
}

func (s *session) completePorts(most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Ports(ctx, url.Values{"fields": {"uuid,address"}}, client.DefaultLimit)
		var out []string
		for _, p := range list.Items {
			out = append(out, cobra.CompletionWithDesc(p.UUID, p.Address))
		}
		return out, err
	})
}

func completeStates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, s := range node.States() {
		out = append(out, string(s))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeWords offers fixed words for a flag.
func completeWords(c *cobra.Command, flag string, words ...string) {
	must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

func (s *session) completeDiscoveries(most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Discoveries(ctx, 0)
		var out []string
		for i := range list.Items {
			out = append(out, cobra.CompletionWithDesc(list.Items[i].UUID, describe(&list.Items[i])))
		}
		return out, err
	})
}

func (s *session) completeWebhooks(most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Webhooks(ctx)
		var out []string
		for _, w := range list {
			out = append(out, cobra.CompletionWithDesc(w.Name, w.State))
		}
		return out, err
	})
}
