package cli

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newNodeRescue(s *session) *cobra.Command {
	v := verb{name: "rescue", target: "rescue", event: node.EventRescue, what: "rescue"}
	var terms client.Terms
	c := &cobra.Command{
		Use: "rescue NODE...", Short: "Boot active nodes into a rescue system",
		Long: "Boot active nodes into a rescue system: the agent's ramdisk, where the user rescue can log in with a password. The disks are left as they are.\n\n" +
			"The command asks for the password, or reads the first line of standard input if that is no terminal. Temper keeps a hash of it until the node is rescued. temper node unrescue boots the disk again.",
		Example: "  temper node rescue n1 --watch",
	}
	addTerms(c, &terms)
	return v.command(s, c, func() (client.Work, error) {
		password, err := input.Secret("Password of the user rescue", c.InOrStdin(), c.ErrOrStderr())
		return client.Work{Verb: v.target, RescuePassword: password, Terms: terms}, err
	})
}
