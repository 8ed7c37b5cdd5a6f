package cli

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// deployFlags are the flags of deploy and rebuild.
type deployFlags struct {
	image, checksum, drive, steps string
	login                         login
	terms                         client.Terms
	info                          keyValues
}

func (d *deployFlags) addTo(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.image, "image", "", "`URL` of the image (default: the one in instance_info)")
	f.StringVar(&d.checksum, "checksum", "", "`DIGEST|URL`: sha256, sha384 or sha512 of the image in hexadecimal, or the URL of a file with it")
	f.StringVar(&d.drive, "config-drive", "", "`URL|FILE|DIR`: an image, a JSON object of parts, or a folder with meta_data.json, user_data, ...")
	d.login.addTo(f)
	f.StringVar(&d.steps, "deploy-steps", "", "`FILE|JSON`: a list of steps")
	addTerms(c, &d.terms)
	f.Var(&d.info, "instance-info", "other fields of instance_info, such as root_gb=20; @FILE: an object; KEY=-: the value is asked for")
}

const deployHelp = "The request also writes the image to instance_info, where a later rebuild finds it. A request that is refused changes nothing. A VALUE that is valid JSON is read as JSON, any other as text."

func newNodeDeploy(s *session) *cobra.Command {
	v := verb{name: "deploy", target: "active", event: node.EventDeploy, what: "deploy"}
	return newDeploy(s, v, &cobra.Command{
		Use: "deploy NODE...", Short: "Write an image to available nodes and boot them", Long: "Write an image to available nodes and boot them.\n\n" + deployHelp,
		Example: "  temper node deploy n1 --image http://images/debian.raw --checksum http://images/SHA256SUMS --ssh-key ~/.ssh/id_ed25519.pub --watch\n" +
			"  temper node deploy n1 --image http://images/debian.raw --checksum http://images/SHA256SUMS --config-drive ./cloud",
	})
}

func newNodeRebuild(s *session) *cobra.Command {
	v := verb{name: "rebuild", target: "rebuild", event: node.EventRebuild, what: "rebuild"}
	return newDeploy(s, v, &cobra.Command{
		Use: "rebuild NODE...", Short: "Deploy active nodes again, with their image or another",
		Long:    "Deploy active nodes again, with their image or another. The data on their disks is lost.\n\n" + deployHelp,
		Example: "  temper node rebuild n1 --wait 30m",
	})
}

func newDeploy(s *session, v verb, c *cobra.Command) *cobra.Command {
	var d deployFlags
	d.addTo(c)
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := d.info.ask(c.InOrStdin(), c.ErrOrStderr()); err != nil {
			return err
		}
		return d.login.check(args)
	}
	return v.command(s, c, func() (client.Work, error) {
		drive, err := readConfigDrive(d.drive)
		if err == nil {
			drive, err = d.login.drive(drive)
		}
		if err != nil {
			return client.Work{}, err
		}
		steps, err := readSteps("deploy-steps", d.steps)
		if err != nil {
			return client.Work{}, err
		}
		return client.Work{Verb: v.target, InstanceInfo: d.instanceInfo(), ConfigDrive: drive, Steps: steps, Terms: d.terms}, nil
	})
}

// checksumKeys are the keys in instance_info of an image's checksum, which Ironic takes in two forms.
var checksumKeys = []string{"image_checksum", "image_os_hash_algo", "image_os_hash_value"}

// instanceInfo returns what the flags change in instance_info. A new image or checksum removes the checksum of the old image.
func (d *deployFlags) instanceInfo() map[string]any {
	info := map[string]any{}
	if d.image != "" || d.checksum != "" {
		for _, key := range checksumKeys {
			info[key] = nil
		}
	}
	if d.image != "" {
		info["image_source"] = d.image
	}
	switch algo := node.HashOf(d.checksum); {
	case d.checksum == "":
	case strings.Contains(d.checksum, "://") || algo == "":
		info["image_checksum"] = d.checksum // the API says what is wrong with it
	default:
		info["image_os_hash_algo"], info["image_os_hash_value"] = algo, strings.ToLower(d.checksum)
	}
	maps.Copy(info, d.info.values)
	return info
}
