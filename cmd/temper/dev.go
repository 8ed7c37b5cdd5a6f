package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/dev/devfile"
)

func newDevCommand() *cobra.Command {
	r := &config.Dev{}
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run all roles, PostgreSQL, Temporal and a simulated rack on this machine",
		Long: `Run all roles, PostgreSQL, Temporal and a simulated rack on this machine, as child processes.

PostgreSQL is the one that TEMPER_DATABASE_URL names, else a private cluster in the data folder. Ctrl-C ends all of it;
when it is started again, it goes on with its data. The settings of --config are for the roles. If they require a login,
TEMPER_API_USER and TEMPER_API_PASSWORD say who enrols the nodes.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runDev(c, r) },
	}
	config.Flags(c.Flags(), r)
	url := c.Flags().Lookup("database-url")
	url.Usage = strings.Replace(url.Usage, "(required)", "(without it: a private cluster in the data folder)", 1)
	c.AddCommand(newPrepareCommand())
	return c
}

func runDev(c *cobra.Command, r *config.Dev) error {
	environ := os.Environ()
	if _, err := config.Load(r, c.Flags(), environ); err != nil {
		return fmt.Errorf("dev: settings:\n%w", err)
	}
	temper, temporal, err := dev.Programs()
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	out := c.OutOrStdout()
	err = dev.Run(c.Context(), dev.Options{
		Dev: *r, ConfigFile: config.FilePath(c.Flags(), environ), Temper: temper, Temporal: temporal, Environ: environ,
		Say: func(format string, args ...any) { fmt.Fprintf(out, "dev: "+format+"\n", args...) },
	}, func(i devfile.Info) { greet(out, r, i) })
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	fmt.Fprintln(out, "dev: everything has ended")
	return nil
}

// greet prints where everything is, and commands to try.
func greet(out io.Writer, r *config.Dev, i devfile.Info) {
	program, node := os.Args[0], "sim-0001"
	if !dev.HasRack(r.Drivers) {
		node = "fake-0001"
	}
	image := i.RackURL + "/images/disk.raw --checksum " + i.RackURL + "/images/SHA256SUMS"
	if r.Machines == config.MachinesQEMU {
		image = "URL-OF-AN-IMAGE --checksum DIGEST --ssh-key ~/.ssh/id_ed25519.pub"
	}
	lines := []string{
		"",
		"Temper runs until Ctrl-C; started again it goes on.",
		"",
		"  API           " + i.APIURL,
		"  Temporal UI   " + i.TemporalUIURL,
		"  rack          " + i.RackURL + "/servers",
		"  data, logs    " + r.Data,
		"",
		"Try next, in another terminal:",
		"",
		"  export TEMPER_API_URL=" + i.APIURL,
		"  " + program + " node list",
	}
	if r.Enroll && r.Nodes > 0 {
		lines = append(lines,
			"  "+program+" node manage "+node+" --watch",
			"  "+program+" node provide "+node+" --watch",
			"  "+program+" node deploy "+node+" --image "+image+" --watch",
			"  "+program+" node undeploy "+node+" --watch",
		)
	}
	lines = append(lines,
		fmt.Sprintf("  %s conductor --data %s --name conductor-%d    # one more joins", program, r.Data, r.Conductors+1),
		"",
	)
	fmt.Fprintln(out, strings.Join(lines, "\n"))
}
