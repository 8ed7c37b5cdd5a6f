package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// passwordVariable is the environment variable with a BMC's password.
const passwordVariable = "TEMPER_BMC_PASSWORD"

func newBMCCommand() *cobra.Command {
	c := &cobra.Command{Use: "bmc", Short: "Ask a BMC directly, without a node or an API", Args: cli.OnlySubcommands, RunE: cli.ShowHelp, Example: "  temper bmc probe 10.0.0.7 --username admin"}
	c.AddCommand(newBMCProbeCommand(), newBMCEventsCommand(), newBMCIdentifyCommand(), newBMCNMICommand(), newBMCRestartCommand(), newBMCConsoleCommand())
	return c
}

// bmcFlags say how a BMC is reached. ipmi, port and info are for IPMI; system, verifyCA and auth for Redfish.
type bmcFlags struct {
	username, passwordFile string
	timeout                time.Duration

	ipmi bool
	port int
	info []string

	system, verifyCA, auth string
}

// howPasswordIsRead is a part of the help of every command that asks a BMC.
const howPasswordIsRead = "\n\nThe password is read from --password-file, from " + passwordVariable + ", or from the terminal."

// add adds the flags of a command that asks over Redfish, or over IPMI with --ipmi.
func (f *bmcFlags) add(c *cobra.Command) *cobra.Command {
	f.addIPMI(c)
	f.ipmi = false
	c.Flags().BoolVar(&f.ipmi, "ipmi", false, "ask over IPMI instead of Redfish")
	c.Flags().StringVar(&f.system, "system", "", "Redfish: path of the system, as in redfish_system_id; needed if the BMC has more than one")
	c.Flags().StringVar(&f.verifyCA, "verify-ca", "true", "Redfish: true, false, or a file with the CA of the BMC's certificate, in PEM")
	c.Flags().StringVar(&f.auth, "auth-type", "auto", "Redfish: auto, basic or session, as in redfish_auth_type")
	return c
}

// addIPMI adds the flags of a command that asks over IPMI only.
func (f *bmcFlags) addIPMI(c *cobra.Command) *cobra.Command {
	f.ipmi = true
	c.Args = cobra.ExactArgs(1)
	c.Long += howPasswordIsRead
	c.Flags().StringVar(&f.username, "username", "", "user of the BMC")
	c.Flags().StringVar(&f.passwordFile, "password-file", "", "file with the password; - is standard input")
	c.Flags().IntVar(&f.port, "port", node.DefaultIPMIPort, "UDP port of the BMC (IPMI)")
	c.Flags().StringArrayVar(&f.info, "driver-info", nil, "NAME=VALUE: further properties of the driver ipmi (temper driver show ipmi), such as ipmi_cipher_suite and ipmi_priv_level")
	c.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the BMC may take for one answer")
	return c
}

// check refuses flags that make no sense.
func (f *bmcFlags) check(c *cobra.Command) error {
	switch {
	case f.timeout <= 0:
		return fmt.Errorf("--timeout is %s: it must be above 0, such as 30s", f.timeout)
	case !f.ipmi && c.Flags().Changed("port"):
		return errors.New("--port is of IPMI: add --ipmi; over Redfish the port is a part of the address, as in https://10.0.0.7:8443")
	case !f.ipmi && c.Flags().Changed("driver-info"):
		return errors.New("--driver-info is of IPMI: add --ipmi")
	}
	for _, name := range []string{"system", "verify-ca", "auth-type", "record"} {
		if f.ipmi && c.Flags().Changed(name) {
			return fmt.Errorf("--%s is of Redfish: leave it or --ipmi out", name)
		}
	}
	return nil
}

// protocol is how the BMC is asked.
func (f *bmcFlags) protocol() string {
	if f.ipmi {
		return "IPMI"
	}
	return "Redfish"
}

// settings await an answer as long as --timeout says, connecting included: nothing is learned of a BMC that is asked once.
func (f *bmcFlags) settings() bmc.Settings {
	return bmc.Settings{RequestTimeout: f.timeout, MostTimeout: f.timeout, Reach: dial.Reach{Loopback: true, Allow: everywhere}}
}

// with calls do with a session with the BMC.
func (f *bmcFlags) with(c *cobra.Command, address string, do func(context.Context, bmc.Session) error) error {
	if err := f.check(c); err != nil {
		return exit.Usage(err)
	}
	target, err := f.target(address, c.ErrOrStderr())
	if err != nil {
		return exit.Usage(err)
	}
	var d bmc.Driver = redfish.New(redfish.Config{Settings: f.settings()})
	if f.ipmi {
		d = ipmi.New(ipmi.Config{Settings: f.settings()})
	}
	defer closeDriver(c, d)
	s, err := d.Open(c.Context(), target)
	if err != nil {
		return inFlags(err)
	}
	defer s.Close()
	return inFlags(do(c.Context(), s))
}

// closeDriver logs out.
func closeDriver(c *cobra.Command, d bmc.Driver) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), logoutTimeout)
	defer cancel()
	d.Close(ctx)
}

// everywhere are all networks: whoever runs the command may reach what he can reach.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// target returns the BMC in the terms of driver_info.
func (f *bmcFlags) target(address string, prompt io.Writer) (bmc.Target, error) {
	info, err := f.redfishInfo(address)
	if f.ipmi {
		info, err = f.ipmiInfo(address)
	}
	if err != nil || f.username == "" {
		return bmc.Target{Node: "the BMC", Info: info}, err
	}
	password, err := readPassword(f.username, f.passwordFile, prompt)
	driver := strings.ToLower(f.protocol())
	info[node.BMCProperty(driver, "username")], info[node.BMCProperty(driver, "password")] = f.username, password
	return bmc.Target{Node: "the BMC", Info: info}, err
}

func (f *bmcFlags) redfishInfo(address string) (map[string]any, error) {
	info := map[string]any{"redfish_address": address, "redfish_auth_type": f.auth, "redfish_verify_ca": f.verifyCA, "redfish_system_id": f.system}
	switch f.verifyCA {
	case "true", "false":
	default:
		pem, err := input.File(f.verifyCA, 1<<20)
		if err != nil {
			return nil, fmt.Errorf("--verify-ca is true, false or a file: %w", err)
		}
		info["redfish_verify_ca"] = string(pem)
	}
	return info, nil
}

func (f *bmcFlags) ipmiInfo(address string) (map[string]any, error) {
	info := map[string]any{"ipmi_address": address, "ipmi_port": f.port}
	for _, pair := range f.info {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, errors.New("--driver-info wants NAME=VALUE") // it may be a password, so it is not repeated
		}
		info[name] = value
	}
	return info, nil
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
	"redfish_auth_type", "--auth-type", "redfish_verify_ca", "--verify-ca", "redfish_username", "--username", "redfish_password", "the password",
	"ipmi_address", "the address", "ipmi_port", "--port", "ipmi_username", "--username", "ipmi_password", "the password")

// inFlags returns the error of a BMC in the words of the command.
func inFlags(err error) error {
	switch {
	case fault.Is(err, fault.Invalid):
		return exit.Usage(errors.New(properties.Replace(err.Error())))
	case err != nil && fault.CauseOf(err) == fault.BMCWrongPassword:
		return fmt.Errorf("the BMC refuses this user with this password: %w", err)
	}
	return err
}
