//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Files of a medium: its parameters, separated by white space, as the ironic-python-agent reads them, the server's network, and the
// authorities of certificates, PEM. A file that has only white space is as none.
const (
	mediumParameters = "parameters.txt"
	mediumNetwork    = "openstack/latest/network_data.json"
	mediumCA         = "etc/ironic-python-agent/ironic.crt"
)

// mediumLimit is the most bytes of a file of a medium.
const mediumLimit = 64 << 10

// Files for the agent, with what must not stand on a command line or has no room there.
const (
	tokenFile = "/run/temper/token"
	caFile    = "/run/temper/ca.pem"
)

// tokenParameter names the agent's token. It is not among the parameters that others read.
const tokenParameter = "ipa-agent-token"

// bootMedium is what is on a medium.
type bootMedium struct {
	parameters []string // without the token
	token      string   // "" = none
	ca         []byte   // nil = none
	network    []byte   // network_data.json; nil = none
}

// readMedium mounts a medium and reads it. The error is fs.ErrNotExist if it has no parameters.
func readMedium(device, kind string) (m *bootMedium, err error) {
	const at = "/run/temper/medium"
	if err := os.MkdirAll(at, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount(device, at, kind, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Unmount(at, unix.MNT_DETACH)) }()
	return readFolder(at)
}

// readFolder reads what is on a medium that is mounted.
func readFolder(at string) (*bootMedium, error) {
	b, err := readLimited(filepath.Join(at, mediumParameters))
	if err != nil {
		return nil, err
	}
	m := &bootMedium{}
	for _, p := range strings.Fields(string(b)) {
		if token, ok := strings.CutPrefix(p, tokenParameter+"="); ok {
			m.token = token
			continue
		}
		m.parameters = append(m.parameters, p)
	}
	if m.network, err = readOptional(filepath.Join(at, mediumNetwork)); err != nil {
		return nil, err
	}
	if m.ca, err = readOptional(filepath.Join(at, mediumCA)); err != nil {
		return nil, err
	}
	if m.ca != nil {
		m.parameters = append(m.parameters, "ipa-ca-file="+caFile)
	}
	return m, nil
}

// readOptional returns nil if the file is not there or has only white space.
func readOptional(name string) ([]byte, error) {
	b, err := readLimited(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return nil, nil
	}
	return b, nil
}

func readLimited(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mediumLimit))
}

// keep writes what the agent reads from files. The token comes with the first medium only: a BMC may put in another one later, and
// the agent goes on as the one that it is.
func (m *bootMedium) keep() error {
	if m.token != "" {
		if err := os.WriteFile(tokenFile, []byte(m.token+"\n"), 0o600); err != nil {
			return err
		}
	}
	if m.ca != nil {
		return os.WriteFile(caFile, append(m.ca, '\n'), 0o644) //nolint:gosec // certificates are for everybody
	}
	return nil
}
