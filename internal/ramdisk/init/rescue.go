//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files that the agent leaves when a person is to log in (the ironic-python-agent has the same ones but for the keys).
const (
	rescueFolder   = "/etc/ipa-rescue-config"
	rescuePassword = rescueFolder + "/ipa-rescue-password" // the last that it writes
	rescueKeys     = rescueFolder + "/authorized_keys"
)

// Programs of a ramdisk that was built for rescues.
const (
	sshServer = "/usr/bin/dropbear"
	sshKeygen = "/usr/bin/dropbearkey"
	busybox   = "/usr/bin/busybox"
)

// hostKey is the SSH server's key, which is made anew in each boot. The server makes one of another kind when a client asks for it (-R).
const hostKey = "/etc/dropbear/dropbear_ed25519_host_key"

// rescuing says whether the server is a person's, and no agent may run any more.
func rescuing() bool {
	_, err := os.Stat(rescuePassword)
	return err == nil
}

// canRescue says whether somebody could log in.
func canRescue() bool {
	_, err := os.Stat(sshServer)
	return err == nil
}

// rescue becomes the SSH server, which lets the user rescue in as root: there is nothing in this system that is not his to see.
func rescue() error {
	password, err := os.ReadFile(rescuePassword)
	if err != nil {
		return err
	}
	keys, err := os.ReadFile(rescueKeys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, gone := range []string{tokenFile, agentState} { // of an operation that is over
		if err := os.Remove(gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range []struct {
		name, content string
		mode          fs.FileMode
	}{
		{"/etc/passwd", "rescue:x:0:0:rescue:/root:/bin/sh\nroot:x:0:0:root:/root:/bin/sh\n", 0o644},
		{"/etc/group", "root:x:0:\n", 0o644},
		{"/etc/shadow", fmt.Sprintf("rescue:%s:20000:0:99999:7:::\nroot:*:20000:0:99999:7:::\n", bytes.TrimSpace(password)), 0o600},
		{"/etc/shells", "/bin/sh\n", 0o644},
		{"/root/.ssh/authorized_keys", string(keys), 0o600},
		{"/etc/motd", "This server was booted for a rescue. Its disks are as they were; nothing is mounted.\n", 0o644},
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.name), 0o700), os.WriteFile(f.name, []byte(f.content), f.mode)); err != nil {
			return err
		}
	}
	// A link for each of its programs that is not there already; it complains of those that are.
	_ = exec.Command(busybox, "--install", "-s").Run() //nolint:noctx // it makes links, and returns
	if err := makeHostKey(); err != nil {
		return err
	}
	fmt.Println("the user rescue may log in by SSH")
	return unix.Exec(sshServer, []string{sshServer, "-F", "-E", "-R", "-p", "22"}, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"})
}

// makeHostKey makes the server's key, and prints its fingerprint, by which a person at the console can tell that it is this server.
func makeHostKey() error {
	if _, err := os.Stat(hostKey); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(hostKey), 0o700); err != nil {
		return err
	}
	out, err := exec.Command(sshKeygen, "-t", "ed25519", "-f", hostKey).CombinedOutput() //nolint:noctx // it computes, and returns
	if err != nil {
		return fmt.Errorf("make the SSH server's key: %w: %s", err, out)
	}
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte("Fingerprint")) {
			fmt.Printf("SSH host key: %s", line)
		}
	}
	return nil
}
