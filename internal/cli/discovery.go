package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func newDiscoveryCommand() *cobra.Command {
	return newGroup("discovery", "List servers that Temper does not know, and make nodes of them", "  temper discovery list\n  temper discovery accept --rules rules.yaml",
		func(s *session) []*cobra.Command {
			return []*cobra.Command{newDiscoveryList(s), newDiscoveryShow(s), newDiscoveryAccept(s), newDiscoveryDelete(s)}
		})
}

func newDiscoveryList(s *session) *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use: "list", Short: "List servers that are not enrolled", Args: cobra.NoArgs, Example: "  temper discovery list",
		Long: `List servers that are not enrolled. With the setting discovery of temper boot such a server boots the ramdisk once, by network, and
is listed here with what the agent found. Its next boots are left alone, until it is accepted or deleted here.`,
	}
	c.Flags().IntVar(&limit, "limit", 0, "list at most so many")
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		list, err := s.Discoveries(ctx, limit)
		if err != nil {
			return err
		}
		return s.show(map[string]any{"discoveries": orEmpty(list.Items)}, func(w io.Writer) error {
			g := table.New("UUID", "SERVER", "BMC", "MAC", "CPUS", "MEMORY", "DISK", "FOUND").Whole("UUID")
			for i := range list.Items {
				d := &list.Items[i]
				g.Add(d.UUID, describe(d), d.BMCAddress, firstMAC(d), fmt.Sprint(d.CPUs), fmt.Sprintf("%d MiB", d.MemoryMB), fmt.Sprintf("%d GiB", d.DiskGB), d.FoundAt.Local().Format(time.DateTime))
			}
			return g.Print(w)
		})
	})
	return c
}

// firstMAC is the MAC from which a server booted, or the first one.
func firstMAC(d *client.Discovery) string {
	switch {
	case d.BootMAC != "":
		return d.BootMAC
	case len(d.MACs) > 0:
		return d.MACs[0]
	}
	return ""
}

func newDiscoveryShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show DISCOVERY", Short: "Show a server that is not enrolled, with its inventory", Args: cobra.ExactArgs(1),
		Example: "  temper discovery show 6f9d9f3a-50a1-4f62-8f3a-1f6b2a4b7c11", ValidArgsFunction: s.completeDiscoveries(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			d, err := s.Discovery(ctx, args[0])
			if err != nil {
				return err
			}
			return s.show(d, func(w io.Writer) error { return table.Fields(d.Fields(), nil, hiddenFields, true).Print(w) })
		}),
	}
}

func newDiscoveryDelete(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "delete DISCOVERY...", Short: "Forget servers that are not enrolled", Args: cobra.MinimumNArgs(1),
		Long:    "Forget servers that are not enrolled. When one of them boots again, it boots the ramdisk and is found anew.",
		Example: "  temper discovery delete 6f9d9f3a-50a1-4f62-8f3a-1f6b2a4b7c11", ValidArgsFunction: s.completeDiscoveries(0),
		RunE: s.run(func(ctx context.Context, args []string) error {
			return s.report(args, forEach(ctx, args, defaultParallel, "", func(ctx context.Context, uuid string) (string, error) {
				return "deleted", s.DeleteDiscovery(ctx, uuid)
			}))
		}),
	}
}

// discoveryPause is the pause between two looks of accept --watch.
const discoveryPause = 10 * time.Second

func newDiscoveryAccept(s *session) *cobra.Command {
	var rules string
	var watch bool
	var interfaces interfaceFlags
	c := &cobra.Command{
		Use: "accept [DISCOVERY NAME]", Short: "Make nodes of discovered servers", Args: cobra.MaximumNArgs(2),
		Long: `Make nodes of discovered servers: of one, with the fields that the flags give, or of all that a rule of a file matches. The node gets a
port for each MAC, and the properties that schedulers read. It begins in the state enroll; temper node manage goes on.

In the fields {serial}, {bmc_address}, {mac}, {manufacturer} and {product} stand for what the agent found. A file of rules is

  rules:
  - match: {manufacturer: "Dell*", serial: "7XK*", bmc_address: "10.7.*"}
    node:
      name: "rack7-{serial}"
      driver: redfish
      resource_class: baremetal
      conductor_group: rack7
      traits: [CUSTOM_RACK7]
      driver_info: {redfish_address: "https://{bmc_address}", redfish_username: root, redfish_password: calvin}

The first rule counts whose patterns all match; they may name uuid, serial, manufacturer, product, bmc_address, cpu_arch and mac. With
--watch the command goes on, and applies the rules to each server that is found.`,
		Example: `  temper discovery accept 6f9d9f3a-50a1-4f62-8f3a-1f6b2a4b7c11 n1 --driver redfish \
      --driver-info redfish_address=https://{bmc_address} --driver-info redfish_username=admin --driver-info redfish_password=-
  temper discovery accept --rules rules.yaml --watch`,
		ValidArgsFunction: s.completeDiscoveries(1),
	}
	var accepted []field
	for _, f := range nodeFields {
		if !f.setOnly && f.name != "name" {
			accepted = append(accepted, f)
		}
	}
	flags := addFields(c, accepted)
	interfaces.addTo(c, false)
	c.Flags().StringVar(&rules, "rules", "", "accept what the rules of this `file` match")
	c.Flags().BoolVar(&watch, "watch", false, "go on, and accept what is found from now on, too; with --rules")
	must(c.RegisterFlagCompletionFunc("driver", s.completeDrivers(0)))
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		fields := flags.values()
		if err := interfaces.check(); err != nil {
			return err
		}
		for kind, impl := range interfaces.given {
			fields[kind+"_interface"] = impl
		}
		switch {
		case rules != "" && (len(args) > 0 || len(fields) > 0):
			return exit.Usage(errors.New("--rules has all that nodes need: leave the arguments and the other flags out"))
		case rules != "":
			return s.acceptByRules(ctx, rules, watch)
		case watch:
			return exit.Usage(errors.New("--watch is for rules: add --rules"))
		case len(args) != 2:
			return exit.Usage(errors.New("say which server, and how its node is called; or give --rules"))
		case fields["driver"] == nil:
			return errors.New("say which driver the node has with --driver: temper driver list shows which there are")
		}
		d, err := s.Discovery(ctx, args[0])
		if err != nil {
			return err
		}
		fields["name"] = args[1]
		return s.report(args[:1], forEach(ctx, args[:1], 1, "", func(ctx context.Context, _ string) (string, error) { return s.accept(ctx, d, fields) }))
	})
	return c
}

// accept makes a node of a server. It can be repeated after an error: the ports come last, and with them the server is no discovery any more.
func (s *session) accept(ctx context.Context, d *client.Discovery, fields map[string]any) (string, error) {
	if len(d.MACs) == 0 {
		return "", errors.New("the agent found no MAC")
	}
	n, err := nodeFor(d, fields)
	if err == nil {
		err = s.onlyOf(ctx, n.label, d)
	}
	if err != nil {
		return "", err
	}
	words, err := s.createFileNode(ctx, n)
	return fmt.Sprintf("node %s %s", n.label, words), err
}

// onlyOf refuses a node that is there already, unless an earlier attempt has made it of this very server: whoever sends an inventory
// must not get a port of another node.
func (s *session) onlyOf(ctx context.Context, name string, d *client.Discovery) error {
	have, err := s.Node(ctx, name)
	if client.CodeOf(err) == fault.NodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	ports, err := s.Ports(ctx, url.Values{"node": {have.UUID}}, maxPortsOfNode)
	if err != nil {
		return err
	}
	other := slices.ContainsFunc(ports.Items, func(p client.Port) bool { return !slices.Contains(d.MACs, p.Address) })
	if other || have.ProvisionState != string(node.Enroll) {
		return fmt.Errorf("there is a node %s already, and it is not of this server", name)
	}
	return nil
}

// acceptByRules makes nodes of the servers that a rule matches.
func (s *session) acceptByRules(ctx context.Context, file string, watch bool) error {
	rules, err := readDiscoveryRules(file)
	if err != nil {
		return err
	}
	if !watch {
		uuids, results, err := s.applyRules(ctx, rules)
		if err != nil {
			return err
		}
		return s.report(uuids, results)
	}
	told := map[string]string{} // errors by uuid: the command prints the same one once
	for {
		_, results, err := s.applyRules(ctx, rules)
		if err != nil {
			results = append(results, result[string]{name: "the list of discoveries", err: withAdvice(err)})
		}
		for _, r := range results {
			switch {
			case r.err == nil:
				if _, err := fmt.Fprintf(s.out, "%s: %s\n", r.name, r.value); err != nil {
					return err
				}
			case told[r.name] != r.err.Error() && ctx.Err() == nil:
				told[r.name] = r.err.Error()
				fmt.Fprintf(s.err, "temper: %s: %s\n", r.name, r.err)
			}
		}
		select {
		case <-time.After(discoveryPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// applyRules makes nodes of the servers that a rule matches now.
func (s *session) applyRules(ctx context.Context, rules []discoveryRule) (uuids []string, all []result[string], err error) {
	list, err := s.Discoveries(ctx, client.MaxLimit)
	if err != nil {
		return nil, nil, err
	}
	found, of := map[string]*client.Discovery{}, map[string]map[string]any{}
	for i := range list.Items {
		d := &list.Items[i]
		for _, r := range rules {
			if r.matches(d) {
				found[d.UUID], of[d.UUID] = d, r.Node
				uuids = append(uuids, d.UUID)
				break
			}
		}
	}
	return uuids, forEach(ctx, uuids, defaultParallel, "", func(ctx context.Context, uuid string) (string, error) {
		return s.accept(ctx, found[uuid], of[uuid])
	}), nil
}
