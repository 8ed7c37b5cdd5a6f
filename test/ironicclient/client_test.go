// Package ironicclient_test has Debian's python-ironicclient, the command baremetal, do with a server of the rack what an operator does
// beside deploying it.
package ironicclient_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/stack"
)

const settings = `
power_timeout: 20s
rack_power_delay: 20ms
rack_boot_delay: 50ms
rack_step_delay: 10ms
`

// limit is how long a command may take, on a machine that may be very busy.
const limit = 2 * time.Minute

func TestTheCommandBaremetal(t *testing.T) {
	testenv.OnlyInAll(t, "each command starts Python, which takes a second")
	testenv.Need(t, "baremetal", "python3-ironicclient")
	s := stack.Config{Settings: settings, Args: []string{"--nodes", "1", "--conductors", "1", "--drivers", "redfish"}}.For(t)
	all, err := s.Nodes(t.Context())
	require.NoError(t, err)
	n := all[0].Name
	baremetal := func(want string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		c := exec.CommandContext(ctx, "baremetal", args...)
		c.Env = append(c.Environ(), "OS_AUTH_TYPE=none", "OS_ENDPOINT="+s.APIURL, "PYTHONWARNINGS=ignore")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "baremetal %v: %s", args, out)
		require.Regexp(t, want, string(out), "baremetal %v", args)
	}
	show := func(want string, fields ...string) {
		t.Helper()
		args := []string{"node", "show", n, "-f", "value"}
		for _, f := range fields {
			args = append(args, "-c", f)
		}
		baremetal(want, args...)
	}
	// settled waits for the end of an operation that the command does not wait for.
	settled := func() {
		t.Helper()
		stack.Eventually(t, limit, func() error {
			now, err := s.Show(t.Context(), n)
			if err == nil && now.Reservation != "" {
				err = context.DeadlineExceeded
			}
			return err
		})
	}

	baremetal("", "node", "manage", n, "--wait", "60")
	baremetal(`ProcTurboMode +Enabled`, "node", "bios", "setting", "list", n, "-f", "value")
	baremetal("Enabled", "node", "bios", "setting", "show", n, "ProcTurboMode", "-f", "value", "-c", "value")
	baremetal("", "node", "set", n, "--target-raid-config", "testdata/raid.json")
	baremetal("", "node", "clean", n, "--wait", "120", "--clean-steps",
		`[{"interface": "raid", "step": "create_configuration"}, {"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "ProcTurboMode", "value": "Disabled"}]}}]`)
	baremetal("Disabled", "node", "bios", "setting", "show", n, "ProcTurboMode", "-f", "value", "-c", "value")
	show("mirror.*raid_level': '1'|raid_level': '1'.*mirror", "raid_config")

	baremetal("", "node", "secure", "boot", "on", n)
	settled()
	baremetal("", "node", "secure", "boot", "off", n)
	settled()
	show("(?i)false", "secure_boot")
	baremetal("", "node", "boot", "mode", "set", n, "uefi")
	settled()
	show("uefi", "boot_mode")

	baremetal("", "node", "adopt", n, "--wait", "60")
	show("active", "provision_state")
	baremetal("", "node", "undeploy", n, "--wait", "120")
	show("available", "provision_state")
}
