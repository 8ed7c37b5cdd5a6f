//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// parametersFile has the agent's parameters, a line KEY=VALUE each: those of a virtual machine's host, of the kernel's command
// line and of the medium.
const parametersFile = "/run/temper/parameters"

// hostParameters has the parameters that QEMU hands to a guest (-fw_cfg name=opt/dev.temper/parameters,string=...), separated by
// white space. The host of a virtual machine knows what neither the CD nor DHCP tells a guest behind QEMU's own network: at
// which address and port of the host the agent can be reached. Servers that are no virtual machines don't have the file.
const hostParameters = "/sys/firmware/qemu_fw_cfg/by_name/opt/dev.temper/parameters/raw"

// Labels of media that may have parameters: a floppy of Ironic's, its boot ISO, a config drive, and our own ISO.
var labels = []string{"ir-vfd-dev", "vmedia_boot_iso", "config-2", "temper_ramdisk"}

// apiURL is the one parameter that no agent can do without.
const apiURL = "ipa-api-url"

// findParameters writes parametersFile, and returns the network_data.json of the medium, nil if there is none. It waits for a medium
// if the command line says that there is one (boot_method=vmedia) or does not name an API.
func findParameters(appear <-chan string) (network []byte, err error) {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, err
	}
	fromHost, err := os.ReadFile(hostParameters)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Println(err)
	}
	// The last of two counts: the host's are what all its guests get, and the others are for this boot.
	parameters := strings.Fields(string(fromHost) + " " + string(line))
	has := func(word string) bool {
		return slices.ContainsFunc(parameters, func(p string) bool { return strings.HasPrefix(p, word) })
	}
	for told := false; has("boot_method=vmedia") || !has(apiURL+"="); {
		found, from := findMedium()
		if found != nil {
			fmt.Printf("parameters from %s\n", from)
			if err := found.keep(); err != nil {
				return nil, err
			}
			parameters, network = append(parameters, found.parameters...), found.network
			break
		}
		if !told {
			fmt.Printf("waiting for a medium with parameters (%s): the kernel's command line has no %s\n", mediumParameters, apiURL)
			told = true
		}
		select {
		case <-appear:
		case <-time.After(10 * time.Second): // a medium may be put into a drive that tells nobody
		}
	}
	if err := os.MkdirAll(filepath.Dir(parametersFile), 0o755); err != nil {
		return nil, err
	}
	// Who boots by network has the authorities in an archive that was unpacked after the initrd.
	if given := "/" + mediumCA; !slices.Contains(parameters, "ipa-ca-file="+caFile) {
		if _, err := os.Stat(given); err == nil {
			parameters = append(parameters, "ipa-ca-file="+given)
		}
	}
	return network, os.WriteFile(parametersFile, []byte(strings.Join(parameters, "\n")+"\n"), 0o600)
}

// findMedium looks at all media, and returns what is on the first that has parameters; nil = none has.
func findMedium() (found *bootMedium, device string) {
	disks, _ := filepath.Glob("/sys/class/block/*")
	for _, disk := range disks {
		device := filepath.Join("/dev", filepath.Base(disk))
		kind, ok := labelled(device)
		if !ok {
			continue
		}
		found, err := readMedium(device, kind)
		switch {
		case errors.Is(err, os.ErrNotExist): // a medium for somebody else
		case err != nil:
			fmt.Printf("%s: %v\n", device, err)
		default:
			return found, device
		}
	}
	return nil, ""
}

// labelled says whether a medium has one of labels, and the kind of its file system.
func labelled(device string) (kind string, ok bool) {
	f, err := os.Open(device)
	if err != nil {
		return "", false
	}
	defer f.Close()
	b := make([]byte, 34<<10)
	if _, err := io.ReadFull(f, b); err != nil {
		return "", false
	}
	is := func(field []byte) bool {
		return slices.Contains(labels, strings.ToLower(strings.TrimRight(string(field), " \x00")))
	}
	const volume = 16 * 2048 // of ISO 9660: the primary volume descriptor
	switch {
	case bytes.Equal(b[volume+1:volume+6], []byte("CD001")):
		return "iso9660", is(b[volume+40 : volume+72])
	case bytes.Equal(b[510:512], []byte{0x55, 0xaa}) && bytes.HasPrefix(b[82:], []byte("FAT32")):
		return "vfat", is(b[71:82])
	case bytes.Equal(b[510:512], []byte{0x55, 0xaa}) && bytes.HasPrefix(b[54:], []byte("FAT")):
		return "vfat", is(b[43:54])
	}
	return "", false
}
