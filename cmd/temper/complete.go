package main

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

// completeWithin bounds what a shell waits for names.
const completeWithin = 2 * time.Second

// completing is a completion that asks the API; where that fails there is nothing to offer.
func (a *asker) completing(most int, ask func(ctx context.Context, c *cobra.Command, args []string) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if most > 0 && len(args) >= most {
			return nil, nothing
		}
		a.timeout = min(a.timeout, completeWithin)
		if a.open(c, nil) != nil {
			return nil, nothing
		}
		defer a.Close()
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

// completeNodes offers the nodes that event is possible for ("" = all), for at most so many arguments (0 = any number).
func (a *asker) completeNodes(event node.Event, most int) cobra.CompletionFunc {
	return a.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := a.Nodes(ctx, url.Values{"fields": {"uuid,name,provision_state"}}, client.DefaultLimit)
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

// completeOperations offers the newest operations, where open only those that are.
func (a *asker) completeOperations(most int, open bool) cobra.CompletionFunc {
	return a.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := a.Operations(ctx, client.OperationFilter{}, 100)
		var out []string
		for i := range list.Items {
			if o := &list.Items[i]; !open || !o.Ended() {
				out = append(out, cobra.CompletionWithDesc(o.ID, o.Kind+" "+o.Label()+" "+o.State))
			}
		}
		return out, err
	})
}

func (a *asker) completeDrivers(most int) cobra.CompletionFunc {
	return a.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		drivers, err := a.Drivers(ctx)
		var out []string
		for _, d := range drivers {
			out = append(out, d.Name)
		}
		return out, err
	})
}

func (a *asker) completeConductors(most int) cobra.CompletionFunc {
	return a.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := a.Conductors(ctx, client.DefaultLimit)
		var out []string
		for _, k := range list.Items {
			out = append(out, k.Hostname)
		}
		return out, err
	})
}

func (a *asker) completePorts(most int) cobra.CompletionFunc {
	return a.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := a.Ports(ctx, url.Values{"fields": {"uuid,address"}}, client.DefaultLimit)
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
