package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

// passwordVariable is the environment variable with a BMC's password.
const passwordVariable = "TEMPER_BMC_PASSWORD"

func newBMCCommand() *cobra.Command {
	c := &cobra.Command{Use: "bmc", Short: "Ask a BMC directly, without a node or an API", Args: cli.OnlySubcommands, RunE: cli.ShowHelp, Example: "  temper bmc probe 10.0.0.7 --username admin"}
	c.AddCommand(newBMCProbeCommand(), newBMCEventsCommand(), newBMCIdentifyCommand(), newBMCNMICommand(), newBMCRestartCommand(), newBMCConsoleCommand())
	return c
}

// probeFlags are the flags of "temper bmc probe".
type probeFlags struct {
	username, passwordFile, system, verifyCA, auth, record string
	asJSON                                                 bool
	timeout                                                time.Duration
}

func newBMCProbeCommand() *cobra.Command {
	var f probeFlags
	c := &cobra.Command{
		Use:   "probe ADDRESS",
		Short: "Tell what a BMC is, and what Temper can do with it",
		Long: `Ask a BMC over Redfish what it is, which rows of the table of quirks are about it (docs/hardware.md), which
operations will work and how fast it answers. It reads only and changes nothing, except that it logs in and out. The exit
code is 0 if all operations will work, 1 if one of them won't or the BMC can't be asked.

The password is read from --password-file, from ` + passwordVariable + `, or from the terminal. Without --username nothing is sent for
a login, and most BMCs show their service root only: vendor, product and version of Redfish.

With --record it also reads every resource of the BMC, which takes minutes, and writes them to a file. Passwords, serial
numbers, UUIDs, MAC and IP addresses, names of hosts and users are masked in it. Read the file before you give it to
somebody. The simulated rack answers from it: temper rack --persona FILE.`,
		Example: "  temper bmc probe 10.0.0.7 --username admin\n  temper bmc probe https://bmc-17.example --username admin --password-file pw --record bmc-17.json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return runProbe(c, args[0], f) },
	}
	c.Flags().StringVar(&f.username, "username", "", "user of the BMC")
	c.Flags().StringVar(&f.passwordFile, "password-file", "", "file with the password; - is standard input")
	c.Flags().StringVar(&f.system, "system", "", "path of the system, as in redfish_system_id; needed if the BMC has more than one")
	c.Flags().StringVar(&f.verifyCA, "verify-ca", "true", "true, false, or a file with the CA of the BMC's certificate, in PEM")
	c.Flags().StringVar(&f.auth, "auth-type", "auto", "auto, basic or session, as in redfish_auth_type")
	c.Flags().StringVar(&f.record, "record", "", "write all resources of the BMC, masked, to this new file")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the BMC may take for one answer")
	return c
}

// errNotAll makes the exit code 1 after a report that tells why.
var errNotAll = errors.New("not every operation will work with this BMC")

func runProbe(c *cobra.Command, address string, f probeFlags) (err error) {
	if f.timeout <= 0 {
		return exit.Usage(fmt.Errorf("--timeout is %s: it must be above 0, such as 30s", f.timeout))
	}
	target, err := f.target(address, c.ErrOrStderr())
	if err != nil {
		return exit.Usage(err)
	}
	var file *os.File // of the recording
	if c.Flags().Changed("record") {
		if file, err = newFile(f.record); err != nil {
			return exit.Usage(fmt.Errorf("--record: %w", err))
		}
		defer func() {
			if file.Close() != nil || err != nil {
				_ = os.Remove(f.record) // half a recording is of no use
			}
		}()
	}
	ask := newAsking(c.ErrOrStderr(), address+" over Redfish", f.timeout, tellEvery)
	defer ask.end()
	d := redfish.New(redfish.Config{
		// Nothing is learned of a BMC that is asked once: an answer is awaited as long as --timeout says, connecting included.
		Settings: bmc.Settings{RequestTimeout: f.timeout, MostTimeout: f.timeout, Reach: dial.Reach{Loopback: true, Allow: everywhere}},
		Observer: ask.answered,
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), logoutTimeout)
		defer cancel()
		d.Close(ctx)
	}()
	p, err := d.Probe(c.Context(), target)
	ask.end()
	if err != nil {
		return inFlags(err)
	}
	report := probeReport{Probe: p, Answers: ask.summary()}
	if err := report.write(c.OutOrStdout(), f.asJSON); err != nil {
		return err
	}
	if file != nil {
		if err := record(c.Context(), d, target, file, c.ErrOrStderr()); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(p.Findings, func(o redfish.Finding) bool { return !o.Works }) {
		return errNotAll
	}
	return nil
}

// everywhere are all networks: whoever runs the command may reach what he can reach.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// target returns the BMC in the terms of driver_info.
func (f probeFlags) target(address string, prompt io.Writer) (bmc.Target, error) {
	info := map[string]any{"redfish_address": address, "redfish_auth_type": f.auth, "redfish_verify_ca": f.verifyCA}
	if f.system != "" {
		info["redfish_system_id"] = f.system
	}
	switch f.verifyCA {
	case "true", "false":
	default:
		pem, err := input.File(f.verifyCA, 1<<20)
		if err != nil {
			return bmc.Target{}, fmt.Errorf("--verify-ca is true, false or a file: %w", err)
		}
		info["redfish_verify_ca"] = string(pem)
	}
	if f.username == "" {
		return bmc.Target{Node: "the BMC", Info: info}, nil
	}
	password, err := readPassword(f.username, f.passwordFile, prompt)
	if err != nil {
		return bmc.Target{}, err
	}
	info["redfish_username"], info["redfish_password"] = f.username, password
	return bmc.Target{Node: "the BMC", Info: info}, nil
}

// readPassword reads the password of a user from the file, if one is named, from the environment or from the terminal.
func readPassword(username, file string, prompt io.Writer) (string, error) {
	if file != "" {
		raw, err := input.File(file, 4<<10)
		if err != nil {
			return "", fmt.Errorf("--password-file: %w", err)
		}
		return strings.TrimRight(string(raw), "\r\n"), nil
	}
	if password, ok := os.LookupEnv(passwordVariable); ok {
		return password, nil
	}
	if !input.IsTerminal(os.Stdin) {
		return "", fmt.Errorf("no password of %s, and standard input is no terminal that can be asked for it: add --password-file FILE (- is standard input), or set %s", username, passwordVariable)
	}
	return input.Secret("Password of "+username, os.Stdin, prompt)
}

// properties are the names in driver_info of what the command has flags for.
var properties = strings.NewReplacer("driver_info: ", "", "redfish_address", "the address", "redfish_system_id", "--system",
	"redfish_auth_type", "--auth-type", "redfish_verify_ca", "--verify-ca", "redfish_username", "--username", "redfish_password", "the password")

// inFlags returns the error of a probe in the words of the command.
func inFlags(err error) error {
	switch {
	case fault.Is(err, fault.Invalid):
		return exit.Usage(errors.New(properties.Replace(err.Error())))
	case fault.CauseOf(err) == fault.BMCWrongPassword:
		return fmt.Errorf("the BMC refuses this user with this password: %w", err)
	}
	return err
}

// newFile makes a file that is not there yet.
func newFile(path string) (*os.File, error) {
	if strings.TrimSpace(path) == "" || path == "-" {
		return nil, fmt.Errorf("%q is no name of a file", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s is there already; name a new file", path)
	}
	return f, err
}

// record writes a recording of the BMC.
func record(ctx context.Context, d *redfish.Driver, target bmc.Target, file *os.File, to io.Writer) error {
	told := time.Now()
	r, err := d.Record(ctx, target, func(read, known int) {
		if time.Since(told) > tellEvery {
			told = time.Now()
			fmt.Fprintf(to, "temper: read %d of %d resources that are known so far\n", read, known)
		}
	})
	if err != nil {
		return err
	}
	if err := r.Write(file); err != nil {
		return err
	}
	fmt.Fprintf(to, "temper: wrote %d resources to %s; %d could not be read, %d were left out\n", len(r.Resources), file.Name(), len(r.Refused), r.LeftOut)
	return nil
}

// probeReport is what the command prints.
type probeReport struct {
	*redfish.Probe
	Answers answers `json:"answers"`
}

func (r probeReport) write(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	about := table.New()
	for _, row := range [][2]string{
		{"vendor", r.Vendor},
		{"product", r.Product},
		{"manufacturer", r.Manufacturer},
		{"model", r.Model},
		{"manager", r.Manager},
		{"firmware", r.Firmware},
		{"Redfish", r.Redfish},
		{"system", r.System},
		{"login", r.Login},
		{"answers", fmt.Sprintf("%d requests, median %.0f ms, p99 %.0f ms, longest %.0f ms", r.Answers.Count, r.Answers.Median, r.Answers.P99, r.Answers.Longest)},
	} {
		if row[1] != "" {
			about.Add(row[0], row[1])
		}
	}
	operations := table.New("OPERATION", "WORKS", "DETAIL").Wrap("DETAIL")
	for _, o := range r.Findings {
		operations.Add(o.Operation, map[bool]string{true: "yes", false: "no"}[o.Works], o.Words)
	}
	quirks := table.New("QUIRK", "WHAT THE BMC DOES", "WHAT TEMPER DOES").Wrap("WHAT THE BMC DOES", "WHAT TEMPER DOES")
	for _, q := range r.Quirks {
		quirks.Add(q.Name, q.Seen, q.Done)
	}
	parts := []table.Table{about, operations}
	if len(r.Quirks) > 0 {
		parts = append(parts, quirks)
	}
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := part.Print(w); err != nil {
			return err
		}
	}
	return nil
}
