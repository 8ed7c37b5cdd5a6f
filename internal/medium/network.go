package medium

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.temper.dev/temper/internal/iso9660"
)

// Paths of what servers load that boot by network. iPXE begins with NetworkScript, which leads each server to the script of its MAC.
const (
	NetworkPrefix = "/netboot/"
	NetworkScript = NetworkPrefix + "boot.ipxe"
)

// Names of the files of a server, beside its script.
const (
	ScriptName = "script"
	KernelName = "kernel"
	InitrdName = "initrd"
	CAName     = "ca" // an archive with the authorities of certificates, which the kernel unpacks after the initrd
)

// FirstScript is the script for all servers.
const FirstScript = "#!ipxe\nchain --autofree ${netX/mac:hexhyp}/" + ScriptName + " || exit 1\n"

// NothingScript is the script of a server that Temper does not boot: its firmware goes on with what it has next.
const NothingScript = "#!ipxe\necho Temper boots nothing on the server with the MAC ${netX/mac} now.\nexit 1\n"

// LaterScript is the script of a server whose kernel and initrd are being fetched: it asks again.
const LaterScript = "#!ipxe\necho Temper fetches the kernel and the initrd of this server.\nsleep 5\nchain --autofree --replace " + ScriptName + " || exit 1\n"

// FailedScript is the script of a server whose kernel and initrd can't be had. It asks again, too: somebody may mend that.
const FailedScript = "#!ipxe\necho Temper can't have the kernel and the initrd of this server: its log says why.\nsleep 30\nchain --autofree --replace " + ScriptName + " || exit 1\n"

// parameters of a boot by network are words of the kernel's command line. The agent's token is not among them.
func (c Contents) networkWords() string {
	words := []string{"ipa-api-url=" + strings.Join(c.APIURLs, ",")}
	if c.Node != "" {
		words = append(words, "ipa-node-uuid="+c.Node)
	}
	if c.InspectionURL != "" {
		words = append(words, "ipa-inspection-callback-url="+c.InspectionURL)
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + c.Append)
}

// CheckNetwork refuses what has no room on the kernel's command line, or would be read by iPXE.
func (c Contents) CheckNetwork() error {
	if err := CheckAppend(c.Append); err != nil {
		return err
	}
	words := c.networkWords()
	if len(words) > CommandLineLimit-256 {
		return fmt.Errorf("the kernel's command line has %d bytes, and can have %d: shorten kernel_append_params", len(words), CommandLineLimit-256)
	}
	if r, bad := BadRune(words); bad {
		return fmt.Errorf("the addresses of the API can't have %q, which iPXE would read as its own", r)
	}
	return nil
}

// Script is the script of iPXE that boots the agent from this image. UEFI finds the initrds by the names that the command line has. After
// an error it begins anew, so that a process that was killed costs seconds; the script of a server that boots nothing any more ends that.
func (i *Image) Script(c Contents) (string, error) {
	if err := c.CheckNetwork(); err != nil {
		return "", err
	}
	line, err := i.commandLine()
	if err != nil {
		return "", err
	}
	names := []string{InitrdName}
	if len(c.CA) > 0 {
		names = append(names, CAName)
	}
	var b strings.Builder
	of := "of node " + c.Node
	if c.Node == "" {
		of = "on a server that it does not know"
	}
	fmt.Fprintf(&b, "#!ipxe\necho Temper boots the agent %s.\n", of)
	fmt.Fprintf(&b, "kernel --name %s %s initrd=%s BOOTIF=01-${netX/mac:hexhyp} %s || goto failed\n",
		KernelName, KernelName, strings.Join(names, " initrd="), strings.TrimSpace(strings.Replace(line, marker, "", 1)+c.networkWords()))
	for _, name := range names {
		fmt.Fprintf(&b, "initrd --name %s %s || goto failed\n", name, name)
	}
	b.WriteString("boot || goto failed\n:failed\necho Temper could not boot the agent: the lines above say why.\nsleep 5\n" +
		"chain --autofree --replace " + ScriptName + " || goto failed\n")
	return b.String(), nil
}

// commandLine is the kernel's, with the marker.
func (i *Image) commandLine() (string, error) {
	for line := range strings.Lines(string(i.loaders[isolinuxFile])) {
		if words, found := strings.CutPrefix(strings.TrimSpace(line), "APPEND "); found {
			return words, nil
		}
	}
	return "", errors.New("the ramdisk's isolinux.cfg has no command line for its kernel")
}

// File returns the kernel or the initrd of the image, by the name that scripts have for it. found is false for another name.
func (i *Image) File(name string) (content *io.SectionReader, found bool, err error) {
	path, found := map[string]string{KernelName: "vmlinuz", InitrdName: "initrd"}[name]
	if !found {
		return nil, false, nil
	}
	p, err := iso9660.Find(i.file, path)
	if err != nil {
		return nil, true, err
	}
	return io.NewSectionReader(i.file, p.Offset, p.Size), true, nil
}

// CAFiles are the files of the archive CAName: the authorities where the ironic-python-agent and Temper's ramdisk find them.
func CAFiles(ca []byte) map[string][]byte {
	return map[string][]byte{caFile: ca, tlsFile: Contents{CA: ca}.tlsSettings()}
}
