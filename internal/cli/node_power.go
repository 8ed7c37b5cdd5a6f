package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
)

func newNodePower(s *session) *cobra.Command {
	c := newParent("power", "Power nodes on, off, or off and on", "  temper node power on n1\n  temper node power reboot n1 --soft --timeout 2m")
	c.AddCommand(
		newPower(s, "on", "Power nodes on", "power on", ""),
		newPower(s, "off", "Power nodes off", "power off", "soft power off"),
		newPower(s, "reboot", "Power nodes off and on", "rebooting", "soft rebooting"),
	)
	return c
}

// newPower returns a power command. target and softTarget are Ironic's; softTarget asks the operating system first, "" = there
// is none.
func newPower(s *session, name, short, target, softTarget string) *cobra.Command {
	var soft bool
	var timeout time.Duration
	var terms client.Terms
	c := &cobra.Command{Use: name + " NODE...", Short: short, Example: "  temper node power " + name + " n1 --wait 2m"}
	if softTarget != "" {
		c.Flags().BoolVar(&soft, "soft", false, "ask the operating system to shut down first")
		// Here --timeout is not the one of a session, because it is the timeout that people know from Ironic.
		c.Flags().DurationVar(&timeout, "timeout", 0, "with --soft: how long the operating system may take (default: the API's setting)")
	}
	addPatience(c, &terms)
	v := verb{name: name, target: target, what: "power " + name, goal: watch.ChangePower}
	return v.command(s, c, func() (client.Work, error) {
		target := target
		if soft {
			target = softTarget
		}
		switch {
		case timeout != 0 && !soft:
			return client.Work{}, errors.New("--timeout is for --soft")
		case timeout < 0 || timeout != timeout.Truncate(time.Second):
			return client.Work{}, errors.New("--timeout must be whole seconds")
		}
		return client.Work{Verb: target, Timeout: int(timeout / time.Second), Terms: terms}, nil
	})
}
