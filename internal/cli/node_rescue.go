package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newNodeRescue(s *session) *cobra.Command {
	v := verb{name: "rescue", target: "rescue", event: node.EventRescue, what: "rescue"}
	var terms client.Terms
	var keyFiles []string
	c := &cobra.Command{
		Use: "rescue NODE...", Short: "Boot active nodes into a rescue system",
		Long: "Boot active nodes into a rescue system: the agent's ramdisk, where the user rescue can log in with a password. The disks are left as they are.\n\n" +
			"It needs a ramdisk that was built for rescues (docs/ramdisk.md). The command asks for the password, or reads the first line of standard input if that is no terminal. Temper keeps a hash of it until the node is rescued. temper node unrescue boots the disk again.",
		Example: "  temper node rescue n1 --watch\n  temper node rescue n1 --ssh-key ~/.ssh/id_ed25519.pub --watch",
	}
	addTerms(c, &terms)
	c.Flags().StringArrayVar(&keyFiles, "ssh-key", nil, "`FILE` with public keys that may log in as rescue, too, as ssh-keygen writes it; can be repeated")
	return v.command(s, c, func() (client.Work, error) {
		password, err := input.Secret("Password of the user rescue", c.InOrStdin(), c.ErrOrStderr())
		if err != nil {
			return client.Work{}, err
		}
		var keys []string
		for _, file := range keyFiles {
			more, err := readKeys(file)
			if err != nil {
				return client.Work{}, fmt.Errorf("--ssh-key: %w", err)
			}
			keys = append(keys, more...)
		}
		return client.Work{Verb: v.target, RescuePassword: password, RescueKeys: keys, Terms: terms}, nil
	})
}
