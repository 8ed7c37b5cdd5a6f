package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newNodeSet(s *session) *cobra.Command {
	var sel selection
	var interfaces interfaceFlags
	c := &cobra.Command{
		Use: "set NODE...", Short: "Set fields of nodes",
		Long: `Set fields of nodes. In a dictionary only the keys that you name change. A VALUE that is valid JSON is read as JSON, any
other as text; passwords are always text, and "-" asks for one. To change the BMC's address, or how its certificate is verified, give the password
again.`,
		Example: "  temper node set n1 --driver-info redfish_address=https://10.0.0.2 --driver-info redfish_password=-\n" +
			"  temper node set n1 --property cpu_arch=x86_64 --extra 'rack={\"row\": 3}'",
	}
	sel.addFlags(c, s, "")
	flags := addFields(c, nodeFields)
	interfaces.addTo(c, true)
	must(c.RegisterFlagCompletionFunc("driver", s.completeDrivers(0)))
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		changes, err := flags.patch()
		if err := errors.Join(err, interfaces.check()); err != nil {
			return err
		}
		return s.patchNodes(ctx, &sel, args, append(changes, interfaces.patch()...), interfaces.reset, "set fields of")
	})
	return c
}

func newNodeUnset(s *session) *cobra.Command {
	var sel selection
	var kinds []string
	c := &cobra.Command{
		Use: "unset NODE...", Short: "Remove fields of nodes, or reset them to their defaults",
		Example: "  temper node unset n1 --extra rack --instance-uuid --interface deploy",
	}
	sel.addFlags(c, s, "")
	keys, plain := map[string]*[]string{}, map[string]*bool{}
	for _, one := range nodeFields {
		switch {
		case one.keep:
		case one.dict:
			keys[one.flag] = c.Flags().StringSlice(one.flag, nil, "remove these `keys` of "+one.name+", separated by commas")
		default:
			plain[one.flag] = c.Flags().Bool(one.flag, false, "remove it")
		}
	}
	c.Flags().StringSliceVar(&kinds, "interface", nil, "reset these `kinds` of interfaces to the driver's defaults, separated by commas")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		var changes client.Patch
		for _, one := range nodeFields {
			if on := plain[one.flag]; on != nil && *on {
				changes = append(changes, client.Remove("/"+one.name))
			}
			if named := keys[one.flag]; named != nil {
				for _, key := range *named {
					if err := checkKey(one, key); err != nil {
						return err
					}
					changes = append(changes, client.Remove("/"+one.name+"/"+key))
				}
			}
		}
		for _, kind := range kinds {
			changes = append(changes, client.Remove("/"+kind+"_interface"))
		}
		return s.patchNodes(ctx, &sel, args, changes, false, "remove fields of")
	})
	return c
}

// patchNodes makes the same changes to several nodes, and shows the result.
func (s *session) patchNodes(ctx context.Context, sel *selection, args []string, changes client.Patch, reset bool, what string) error {
	if len(changes) == 0 {
		return errors.New("say what is to change: --help shows which flags there are")
	}
	names, err := sel.nodes(ctx, s, args, what)
	if err != nil {
		return err
	}
	if len(names) > 1 && slices.ContainsFunc(changes, func(c client.Change) bool { return c.Path == "/name" && c.Value != nil }) {
		return fmt.Errorf("one name does not fit %d nodes", len(names))
	}
	all := forEach(ctx, names, sel.parallel, "", func(ctx context.Context, name string) (*client.Node, error) {
		return s.PatchNode(ctx, name, changes, reset)
	})
	if s.format != asTable {
		return errors.Join(s.showNodes(succeeded(all), nil, len(names) == 1, false), joinFailures(all))
	}
	words := make([]result[string], len(all))
	for i, d := range all {
		words[i] = result[string]{d.name, describeChanges(changes), d.err}
	}
	return s.report(names, words)
}

// describeChanges says what a PATCH changed. It leaves out values, which may be secrets, except booleans.
func describeChanges(changes client.Patch) string {
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
		out = append(out, "removed "+strings.Join(removed, ", "))
	}
	return strings.Join(out, "; ")
}
