package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/client"
)

// surveyParallel is how many BMCs are asked at a time: each waits alone, and a dead one takes seconds.
const surveyParallel = 32

func newNodeCreate(s *session, ask AskBMC) *cobra.Command {
	var interfaces interfaceFlags
	var uuid, file string
	var dryRun bool
	parallel := defaultParallel
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Enrol a node, or all of a file", Args: cobra.MaximumNArgs(1),
		Long: `Enrol a node, or all of a file. A file in YAML or JSON is a list of nodes with their fields and ports, as "baremetal create" takes it
(nodes: [{name: n1, driver: redfish, driver_info: {...}, ports: [{address: ...}]}]); one that ends in .csv is a table whose first line
has the fields (name,driver,driver_info.redfish_address,ports). What is there already stays as it is, so the command can be repeated.

With --dry-run this machine asks the BMC of every node in the file, with the address and the password there, and prints a table: whether
it can be reached and lets the user in, model, firmware, virtual media, and the license that its maker sells these with, as far as that
is known. It reads only, and needs no API. The exit code is 1 if one of them has a problem.

A VALUE that is valid JSON is read as JSON, any other as text; passwords are always text.`,
		Example: `  temper node create n1 --driver redfish --driver-info redfish_address=https://10.0.0.1 \
      --driver-info redfish_username=admin --driver-info redfish_password=-
  temper node create -f nodes.yaml --dry-run
  temper node create -f nodes.yaml`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	creatable := slices.DeleteFunc(slices.Clone(nodeFields), func(f field) bool { return f.setOnly || f.name == "name" })
	flags := addFields(c, creatable)
	interfaces.addTo(c, false)
	c.Flags().StringVar(&uuid, "uuid", "", "`uuid` of the node; default: a new one")
	c.Flags().StringVarP(&file, "file", "f", "", "enrol the nodes of this `FILE`, with their ports")
	c.Flags().IntVar(&parallel, "parallel", defaultParallel, "of a file: create or ask so many at the same time; default with --dry-run: 32")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "of a file: ask the BMC of every node what it is, and create nothing")
	must(c.RegisterFlagCompletionFunc("driver", s.completeDrivers(0)))
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		fields := flags.values()
		if file != "" {
			if len(args) > 0 || len(fields) > 0 || uuid != "" || len(interfaces.given) > 0 {
				return exit.Usage(errors.New("--file has all that its nodes need: leave the name and the other flags out"))
			}
			if dryRun {
				if !c.Flags().Changed("parallel") {
					parallel = surveyParallel
				}
				return s.survey(ctx, file, max(parallel, 1), ask)
			}
			return s.createNodes(ctx, file, max(parallel, 1))
		}
		if dryRun {
			return exit.Usage(errors.New("--dry-run is for the nodes of a file: add --file, or ask one BMC with temper bmc probe"))
		}
		if fields["driver"] == nil {
			return errors.New("say which driver the node has with --driver: temper driver list shows which there are")
		}
		if err := interfaces.check(); err != nil {
			return err
		}
		for kind, impl := range interfaces.given {
			fields[kind+"_interface"] = impl
		}
		if len(args) > 0 {
			fields["name"] = args[0]
		}
		if uuid != "" {
			fields["uuid"] = uuid
		}
		n, err := s.CreateNode(ctx, fields)
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(strings.Join(args, ""), uuid, "the new node"), withAdvice(err))
		}
		return s.showNodes([]*client.Node{n}, nil, true, false)
	})
	return c
}
