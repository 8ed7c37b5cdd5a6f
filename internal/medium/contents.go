package medium

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Contents is what a medium tells the agent that it boots.
type Contents struct {
	Node          string          // uuid
	Token         string          // with which the agent proves who it is
	APIURLs       []string        // of the API for agents, tried in this order
	InspectionURL string          // where the agent posts its inventory; "" = nowhere
	Append        string          // is added to the kernel's command line, as kernel_append_params
	Network       json.RawMessage // network_data of the node, in OpenStack's format; nil = the agent asks by DHCP
	CA            []byte          // PEM: authorities of the certificates of the API and of image servers; nil = the system's
	// OnCommandLine puts the parameters of the agent on the kernel's command line, too: the ironic-python-agent reads no other ones
	// from a CD of this label. Consoles show them, as they do with Ironic.
	OnCommandLine bool
}

// The files of an image that differ from medium to medium.
const (
	grubFile       = "boot/grub/grub.cfg"
	isolinuxFile   = "isolinux/isolinux.cfg"
	parametersFile = "parameters.txt" // as the ironic-python-agent reads it from media
	networkFile    = "openstack/latest/network_data.json"
	// The ironic-python-agent copies these two from a CD of this label to the same places of its file system, and reads them there.
	caFile  = "etc/ironic-python-agent/ironic.crt"
	tlsFile = "etc/ironic-python-agent.d/ironic-tls.conf"
)

// sizes are those of the files, which are filled up with spaces: 64 KiB in all.
var sizes = map[string]int{grubFile: 4 << 10, isolinuxFile: 4 << 10, parametersFile: 8 << 10, networkFile: 32 << 10, caFile: 15 << 10, tlsFile: 1 << 10}

// marker is the word of the kernel's command line in the files of the boot loaders in whose place the medium's words come.
const marker = "temper_medium=none"

// CommandLineLimit is the most bytes of a kernel's command line (COMMAND_LINE_SIZE on x86).
const CommandLineLimit = 2047

// Label is the label of the volume. By this one cloud-init and others find a config drive, so that they read network_data.
const Label = "config-2"

// Files returns the content of the files of an image that no server has booted from yet: of GRUB's and ISOLINUX's configuration,
// with the kernel's command line, and the files that are empty.
func Files(commandLine string) map[string][]byte {
	line := strings.TrimSpace(commandLine + " " + marker)
	return map[string][]byte{
		grubFile:       padded(fmt.Appendf(nil, "set timeout=0\nmenuentry temper {\nlinux /vmlinuz %s\ninitrd /initrd\n}\n", line), sizes[grubFile]),
		isolinuxFile:   padded(fmt.Appendf(nil, "DEFAULT temper\nPROMPT 0\nLABEL temper\nKERNEL /vmlinuz\nINITRD /initrd\nAPPEND %s\n", line), sizes[isolinuxFile]),
		parametersFile: padded(nil, sizes[parametersFile]),
		networkFile:    padded(nil, sizes[networkFile]),
		caFile:         padded(nil, sizes[caFile]),
		tlsFile:        padded(nil, sizes[tlsFile]),
	}
}

// padded fills content up with line ends, which have a meaning in none of the files.
func padded(content []byte, size int) []byte {
	return append(bytes.Clone(content), bytes.Repeat([]byte("\n"), max(0, size-len(content)))...)
}

// parameters are the words for the agent. They have the token, so that they stand in a file of the medium and not on the command
// line, which every console shows.
func (c Contents) parameters() []byte {
	words := []string{"ipa-api-url=" + strings.Join(c.APIURLs, ","), "ipa-node-uuid=" + c.Node, "ipa-agent-token=" + c.Token}
	if c.InspectionURL != "" {
		words = append(words, "ipa-inspection-callback-url="+c.InspectionURL)
	}
	return []byte(strings.Join(words, "\n") + "\n")
}

// words are those of the kernel's command line. boot_method makes the agent wait for the medium.
func (c Contents) words() string {
	words := "boot_method=vmedia "
	if c.OnCommandLine {
		words += strings.Join(strings.Fields(string(c.parameters())), " ") + " "
	}
	return strings.TrimSpace(words + c.Append)
}

// tlsSettings make the ironic-python-agent trust CA, as Ironic's conductor writes them (drivers/modules/deploy_utils.py).
func (c Contents) tlsSettings() []byte {
	if len(c.CA) == 0 {
		return nil
	}
	return []byte("[DEFAULT]\ncafile = /" + caFile + "\n")
}

// Check returns an error that names the field of which there is too much, or that a boot loader would not hand on as it is.
func (c Contents) Check() error {
	if err := CheckAppend(c.Append); err != nil {
		return err
	}
	if words := c.words(); c.OnCommandLine && len(words) > CommandLineLimit-256 {
		return fmt.Errorf("the kernel's command line has %d bytes, and can have %d: shorten kernel_append_params", len(words), CommandLineLimit-256)
	} else if r, bad := BadRune(words); c.OnCommandLine && bad {
		return fmt.Errorf("the addresses of the API can't have %q, which the boot loader would read as its own", r)
	}
	for _, f := range []struct {
		name, file string
		content    []byte
	}{
		{"the addresses of the API", parametersFile, c.parameters()},
		{"network_data", networkFile, c.Network},
		{"the authorities of certificates", caFile, c.CA},
	} {
		if len(f.content) > sizes[f.file] {
			return fmt.Errorf("%s has %d bytes, and a medium has room for %d", f.name, len(f.content), sizes[f.file])
		}
	}
	return nil
}

// CheckAppend checks kernel_append_params.
func CheckAppend(words string) error {
	const limit = CommandLineLimit - 256 // of Temper's own words
	if len(words) > limit {
		return fmt.Errorf("kernel_append_params has %d bytes, and can have %d", len(words), limit)
	}
	if r, bad := BadRune(words); bad {
		return fmt.Errorf("kernel_append_params can't have %q, which the boot loader would read as its own", r)
	}
	return nil
}

// BadRune returns the first character of a kernel's command line that GRUB's scripts would not hand on as it is.
func BadRune(line string) (r rune, found bool) {
	i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("'\"\\$;&|<>{}#", r) })
	if i < 0 {
		return 0, false
	}
	r, _ = utf8.DecodeRuneInString(line[i:])
	return r, true
}
