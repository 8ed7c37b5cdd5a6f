package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newNodeSet(a *asker) *cobra.Command {
	var s chosen
	var interfaces interfaceFlags
	c := &cobra.Command{
		Use: "set NODE...", Short: "Set fields of nodes",
		Long: `Set fields of nodes. Of a dictionary only the keys that are named change. VALUE is JSON where it is JSON, else text;
passwords are always text. To change the BMC's address or how its certificate is verified, give the password, too.`,
		Example: "  temper node set n1 --driver-info redfish_address=https://10.0.0.2 --driver-info @secret.json\n" +
			"  temper node set n1 --property cpu_arch=x86_64 --extra 'rack={\"row\": 3}'",
	}
	s.addFlags(c, a, "")
	flags := addFields(c, nodeFields)
	interfaces.addTo(c, true)
	must(c.RegisterFlagCompletionFunc("driver", a.completeDrivers(0)))
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		changes, err := flags.patch()
		if err := errors.Join(err, interfaces.check()); err != nil {
			return err
		}
		return a.patchNodes(ctx, &s, args, append(changes, interfaces.patch()...), interfaces.reset, "set fields of")
	})
	return c
}

func newNodeUnset(a *asker) *cobra.Command {
	var s chosen
	var kinds []string
	c := &cobra.Command{
		Use: "unset NODE...", Short: "Take fields of nodes away, or give them their default",
		Example: "  temper node unset n1 --extra rack --instance-uuid --interface deploy",
	}
	s.addFlags(c, a, "")
	keys, plain := map[string]*[]string{}, map[string]*bool{}
	for _, one := range nodeFields {
		switch {
		case one.keep:
		case one.dict:
			keys[one.flag] = c.Flags().StringSlice(one.flag, nil, "`keys` of "+one.name+", with commas")
		default:
			plain[one.flag] = c.Flags().Bool(one.flag, false, "take it away")
		}
	}
	c.Flags().StringSliceVar(&kinds, "interface", nil, "`kinds` of interfaces that get the driver's default, with commas")
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		var changes client.Patch
		for _, one := range nodeFields {
			if on := plain[one.flag]; on != nil && *on {
				changes = append(changes, client.Remove("/"+one.name))
			}
			if named := keys[one.flag]; named != nil {
				for _, key := range *named {
					if err := goodKey(one, key); err != nil {
						return err
					}
					changes = append(changes, client.Remove("/"+one.name+"/"+key))
				}
			}
		}
		for _, kind := range kinds {
			changes = append(changes, client.Remove("/"+kind+"_interface"))
		}
		return a.patchNodes(ctx, &s, args, changes, false, "take fields away of")
	})
	return c
}

// patchNodes changes nodes in the same way and shows what they became.
func (a *asker) patchNodes(ctx context.Context, s *chosen, args []string, changes client.Patch, reset bool, what string) error {
	if len(changes) == 0 {
		return errors.New("say what is to change: --help shows which flags there are")
	}
	names, err := s.nodes(ctx, a, args, what)
	if err != nil {
		return err
	}
	if len(names) > 1 && slices.ContainsFunc(changes, func(c client.Change) bool { return c.Path == "/name" && c.Value != nil }) {
		return fmt.Errorf("one name does not fit %d nodes", len(names))
	}
	all := each(ctx, names, s.parallel, "", func(ctx context.Context, name string) (*client.Node, error) {
		return a.PatchNode(ctx, name, changes, reset)
	})
	if a.format != asTable {
		return errors.Join(a.showNodes(values(all), len(names) == 1, false), failed(all))
	}
	words := make([]done[string], len(all))
	for i, d := range all {
		words[i] = done[string]{d.name, changedWords(changes), d.err}
	}
	return a.report(names, words)
}

// changedWords says what a PATCH did, without its values, which may be secrets.
func changedWords(changes client.Patch) string {
	byOp := map[string][]string{}
	for _, c := range changes {
		word := strings.ReplaceAll(strings.TrimPrefix(c.Path, "/"), "/", ".")
		if b, ok := c.Value.(bool); ok {
			word = fmt.Sprintf("%s=%t", word, b)
		}
		byOp[c.Op] = append(byOp[c.Op], word)
	}
	var out []string
	if set := byOp["add"]; set != nil {
		out = append(out, "set "+strings.Join(set, ", "))
	}
	if removed := byOp["remove"]; removed != nil {
		out = append(out, "took away "+strings.Join(removed, ", "))
	}
	return strings.Join(out, "; ")
}
