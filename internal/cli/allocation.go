package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newAllocationCommand() *cobra.Command {
	return newGroup("allocation", "Allocate nodes by resource class and traits", "  temper allocation create --resource-class gold",
		func(s *session) []*cobra.Command {
			return []*cobra.Command{newAllocationList(s), newAllocationShow(s), newAllocationCreate(s), newAllocationDelete(s)}
		})
}

func newAllocationList(s *session) *cobra.Command {
	var of, class, state, owner string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List allocations", Args: cobra.NoArgs,
		Example: "  temper allocation list --state error",
	}
	c.Flags().StringVar(&of, "node", "", "only the allocation of this `node`")
	c.Flags().StringVar(&class, "resource-class", "", "only allocations of this resource `class`")
	c.Flags().StringVar(&state, "state", "", "only allocations in this `state`")
	c.Flags().StringVar(&owner, "owner", "", "only allocations of this `project`")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	completeWords(c, "state", allocationStates()...)
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		q := nonEmpty(map[string]string{"node": of, "resource_class": class, "state": state, "owner": owner})
		list, err := s.Allocations(ctx, q, limit)
		if err != nil {
			return withAdvice(err)
		}
		s.reportMore(list.More, limit, "allocations")
		return s.show(map[string]any{"allocations": orEmpty(list.Items)}, func(w io.Writer) error {
			g := table.New("UUID", "NAME", "CLASS", "STATE", "NODE", "OWNER", "LAST ERROR").Wrap("LAST ERROR")
			for _, x := range list.Items {
				g.Add(x.UUID, x.Name, x.ResourceClass, x.State, x.NodeUUID, x.Owner, x.LastError)
			}
			return g.Print(w)
		})
	})
	return c
}

func allocationStates() (out []string) {
	for _, s := range node.AllocationStates {
		out = append(out, string(s))
	}
	return out
}

// showAllocation shows all fields of an allocation.
func (s *session) showAllocation(x *client.Allocation) error {
	return s.show(x, func(w io.Writer) error {
		return table.Fields(x.Fields(), []string{"uuid", "name", "state", "node_uuid", "resource_class", "last_error"}, hiddenFields, false).Print(w)
	})
}

func newAllocationShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show ALLOCATION", Short: "Show an allocation", Args: cobra.ExactArgs(1),
		Example: "  temper allocation show web", ValidArgsFunction: s.completeAllocations(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			x, err := s.Allocation(ctx, args[0])
			if err != nil {
				return err
			}
			return s.showAllocation(x)
		}),
	}
}

// allocationFields are the fields of an allocation that a client sets.
var allocationFields = []field{
	{flag: "resource-class", name: "resource_class", help: "`class` that the node must have; required unless --node is given"},
	{flag: "name", name: "name", help: "`name` of the allocation; a node of the same name is preferred"},
	{flag: "uuid", name: "uuid", help: "`uuid` of the allocation, which becomes the node's instance_uuid"},
	{flag: "owner", name: "owner", help: "`project` that must be owner or lessee of the node"},
	{flag: "node", name: "node", help: "active `node` to record the allocation for, instead of finding one"},
	{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
}

func newAllocationCreate(s *session) *cobra.Command {
	var traits, candidates []string
	c := &cobra.Command{
		Use: "create", Short: "Allocate a node", Args: cobra.NoArgs,
		Long: `Allocate a node. With the trait ` + node.TraitMaintenance + ` and --candidate-node it may be a node that an operator keeps
in maintenance. If no node fits, the command fails and says why. The allocation stays in state error until it is deleted.`,
		Example: `  temper allocation create --resource-class gold --trait CUSTOM_GPU --name web
  temper allocation create --resource-class gold --candidate-node n7 --trait ` + node.TraitMaintenance,
	}
	flags := addFields(c, allocationFields)
	c.Flags().StringArrayVar(&traits, "trait", nil, "`trait` that the node must have; repeat for more")
	c.Flags().StringArrayVar(&candidates, "candidate-node", nil, "`node` that may be chosen; repeat for more")
	must(c.RegisterFlagCompletionFunc("candidate-node", s.completeNodes("", 0)))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		fields := flags.values()
		if len(traits) > 0 {
			fields["traits"] = traits
		}
		if len(candidates) > 0 {
			fields["candidate_nodes"] = candidates
		}
		if fields["resource_class"] == nil && fields["node"] == nil {
			return errors.New("say which --resource-class the node is to have")
		}
		x, err := s.CreateAllocation(ctx, fields)
		if err != nil {
			return err
		}
		if err := s.showAllocation(x); err != nil {
			return err
		}
		if x.State == string(node.AllocError) {
			return fmt.Errorf("%s; temper allocation delete %s forgets it", strings.TrimSuffix(x.LastError, "."), x.Label())
		}
		return nil
	})
	return c
}

func newAllocationDelete(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "delete ALLOCATION...", Short: "Delete allocations and free their nodes", Args: cobra.MinimumNArgs(1),
		Example: "  temper allocation delete web", ValidArgsFunction: s.completeAllocations(0),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		return s.deleteEach(ctx, args, s.DeleteAllocation)
	})
	return c
}

func (s *session) completeAllocations(most int) cobra.CompletionFunc {
	return s.completing(most, func(ctx context.Context, _ *cobra.Command, _ []string) ([]string, error) {
		list, err := s.Allocations(ctx, url.Values{"fields": {"uuid,name,state"}}, client.DefaultLimit)
		var out []string
		for i := range list.Items {
			out = append(out, cobra.CompletionWithDesc(list.Items[i].Label(), list.Items[i].State))
		}
		return out, err
	})
}
