package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
)

// probeFlags are the flags of "temper bmc probe".
type probeFlags struct {
	bmcFlags
	record string
	asJSON bool
}

func newBMCProbeCommand() *cobra.Command {
	var f probeFlags
	c := f.add(&cobra.Command{
		Use:   "probe ADDRESS",
		Short: "Tell what a BMC is, and what Temper can do with it",
		Long: `Ask a BMC what it is, which operations will work and how fast it answers: over Redfish, or over IPMI with --ipmi. Over
Redfish it also tells which rows of the table of quirks are about the BMC (docs/hardware.md). It reads only and changes
nothing, except that it logs in and out. The exit code is 0 if all operations will work, 1 if one of them won't or the BMC
can't be asked.

Without --username nothing is sent for a login over Redfish, and most BMCs show their service root only: vendor, product and
version of Redfish. Over IPMI it logs in to the anonymous account.

With --record it also reads every resource of the BMC over Redfish, which takes minutes, and writes them to a file. Passwords,
serial numbers, UUIDs, MAC and IP addresses, names of hosts and users are masked in it. Read the file before you give it to
somebody. The simulated rack answers from it: temper rack --persona FILE.`,
		Example: "  temper bmc probe 10.0.0.7 --username admin\n" +
			"  temper bmc probe 10.0.0.7 --ipmi --username admin --driver-info ipmi_cipher_suite=3\n" +
			"  temper bmc probe https://bmc-17.example --username admin --password-file pw --record bmc-17.json",
		RunE: func(c *cobra.Command, args []string) error { return runProbe(c, args[0], f) },
	})
	c.Flags().StringVar(&f.record, "record", "", "Redfish: write all resources of the BMC, masked, to this new file")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

// errNotAll makes the exit code 1 after a report that tells why.
var errNotAll = errors.New("not every operation will work with this BMC")

func runProbe(c *cobra.Command, address string, f probeFlags) (err error) {
	if err := f.check(c); err != nil {
		return exit.Usage(err)
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
	ask := newAsking(c.ErrOrStderr(), address+" over "+f.protocol(), f.timeout, tellEvery)
	defer ask.end()
	if f.ipmi {
		return probeIPMI(c, f, target, ask)
	}
	return probeRedfish(c, f, target, ask, file)
}

// probeRedfish writes a recording, too, unless file is nil.
func probeRedfish(c *cobra.Command, f probeFlags, target bmc.Target, ask *asking, file *os.File) error {
	d := redfish.New(redfish.Config{Settings: f.settings(), Observer: ask.answered})
	defer closeDriver(c, d)
	p, err := d.Probe(c.Context(), target)
	ask.end()
	if err != nil {
		return inFlags(err)
	}
	report := probeReport{about: aboutRedfish(p), findings: p.Findings, quirks: p.Quirks, answers: ask.summary()}
	whole := struct {
		*redfish.Probe
		Answers answers `json:"answers"`
	}{p, report.answers}
	if err := report.write(c.OutOrStdout(), f.asJSON, whole); err != nil {
		return err
	}
	if file != nil {
		if err := record(c.Context(), d, target, file, c.ErrOrStderr()); err != nil {
			return err
		}
	}
	return report.verdict()
}

func probeIPMI(c *cobra.Command, f probeFlags, target bmc.Target, ask *asking) error {
	d := ipmi.New(ipmi.Config{Settings: f.settings(), Observer: ask.answered})
	defer closeDriver(c, d)
	p, err := d.Probe(c.Context(), target)
	ask.end()
	if err != nil {
		return inFlags(err)
	}
	report := probeReport{about: aboutIPMI(p), findings: p.Findings, answers: ask.summary()}
	whole := struct {
		*ipmi.Probe
		Answers answers `json:"answers"`
	}{p, report.answers}
	if err := report.write(c.OutOrStdout(), f.asJSON, whole); err != nil {
		return err
	}
	return report.verdict()
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
	about    [][2]string
	findings []bmc.Finding
	quirks   []redfish.Quirk
	answers  answers
}

func aboutRedfish(p *redfish.Probe) [][2]string {
	return [][2]string{
		{"vendor", p.Vendor},
		{"product", p.Product},
		{"manufacturer", p.Manufacturer},
		{"model", p.Model},
		{"manager", p.Manager},
		{"firmware", p.Firmware},
		{"Redfish", p.Redfish},
		{"system", p.System},
		{"login", p.Login},
	}
}

func aboutIPMI(p *ipmi.Probe) [][2]string {
	return [][2]string{
		{"manufacturer", fmt.Sprintf("%s (number %d)", p.Manufacturer, p.ManufacturerID)},
		{"product", fmt.Sprintf("number %d", p.Product)},
		{"device", fmt.Sprintf("id %#02x", p.Device)},
		{"firmware", p.Firmware},
		{"IPMI", p.IPMI},
		{"login", fmt.Sprintf("cipher suite %d, as %s", p.CipherSuite, p.Privilege)},
	}
}

// verdict is nil if every operation will work.
func (r probeReport) verdict() error {
	if slices.ContainsFunc(r.findings, func(o bmc.Finding) bool { return !o.Works }) {
		return errNotAll
	}
	return nil
}

// write prints the report, or whole as JSON.
func (r probeReport) write(w io.Writer, asJSON bool, whole any) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(whole)
	}
	about := table.New()
	speed := fmt.Sprintf("%d requests, median %.0f ms, p99 %.0f ms, longest %.0f ms", r.answers.Count, r.answers.Median, r.answers.P99, r.answers.Longest)
	for _, row := range append(slices.Clip(r.about), [2]string{"answers", speed}) {
		if row[1] != "" {
			about.Add(row[0], row[1])
		}
	}
	operations := table.New("OPERATION", "WORKS", "DETAIL").Wrap("DETAIL")
	for _, o := range r.findings {
		operations.Add(o.Operation, map[bool]string{true: "yes", false: "no"}[o.Works], o.Words)
	}
	quirks := table.New("QUIRK", "WHAT THE BMC DOES", "WHAT TEMPER DOES").Wrap("WHAT THE BMC DOES", "WHAT TEMPER DOES")
	for _, q := range r.quirks {
		quirks.Add(q.Name, q.Seen, q.Done)
	}
	parts := []table.Table{about, operations}
	if len(r.quirks) > 0 {
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
