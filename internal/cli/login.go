package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/jsonvalue"
)

// login are the flags that make parts of a config drive: who may log in to the instance, and how it finds its name and its network.
type login struct {
	sshKeys                     []string
	userData, hostname, network string
}

func (l *login) addTo(f *pflag.FlagSet) {
	f.StringArrayVar(&l.sshKeys, "ssh-key", nil, "`FILE` with public keys that may log in, as ssh-keygen writes it; can be repeated")
	f.StringVar(&l.userData, "user-data", "", "`FILE` with user data for cloud-init or Ignition")
	f.StringVar(&l.hostname, "hostname", "", "host `name` of the instance; only for one node (default: the node's name)")
	f.StringVar(&l.network, "network", "", "`FILE` with the network_data.json of the instance: links, networks and services as OpenStack describes them")
}

func (l *login) given() bool {
	return len(l.sshKeys) > 0 || l.userData != "" || l.hostname != "" || l.network != ""
}

// check refuses one host name for several nodes.
func (l *login) check(nodes []string) error {
	if l.hostname != "" && len(nodes) != 1 {
		return exit.Usage(errors.New("--hostname: name one node, because each needs a name of its own"))
	}
	return nil
}

// drive returns the config drive with the parts of the flags. drive is nil or what readConfigDrive has returned. Only parts can be
// added to: an image or a URL has all that it will have.
func (l *login) drive(drive any) (any, error) {
	if !l.given() {
		return drive, nil
	}
	parts, isParts := drive.(map[string]any)
	if drive != nil && !isParts {
		return nil, errors.New("--ssh-key, --user-data, --hostname and --network add to a config drive of parts: leave them out, or give --config-drive a folder or a JSON object")
	}
	if parts == nil {
		parts = map[string]any{}
	}
	if err := l.metaData(parts); err != nil {
		return nil, err
	}
	if l.userData != "" {
		if parts["user_data"] != nil {
			return nil, errors.New("--user-data: the config drive has user data already")
		}
		raw, err := input.File(l.userData, configdrive.MaxSize)
		if err != nil {
			return nil, fmt.Errorf("--user-data: %w", err)
		}
		if !utf8.Valid(raw) {
			return nil, fmt.Errorf("--user-data: %s is not text", l.userData)
		}
		parts["user_data"] = string(raw)
	}
	if l.network != "" {
		network, err := readNetwork(l.network)
		if err != nil {
			return nil, fmt.Errorf("--network: %w", err)
		}
		parts["network_data"] = network
	}
	if _, err := configdrive.Parse(parts); err != nil {
		return nil, err
	}
	return parts, nil
}

// metaData adds keys and host name to the part meta_data, under the names that OpenStack's metadata service gives them and cloud-init
// reads (sources/helpers/openstack.py).
func (l *login) metaData(parts map[string]any) error {
	meta, _ := parts["meta_data"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	if len(l.sshKeys) > 0 {
		keys, _ := meta["public_keys"].(map[string]any)
		if keys == nil {
			keys = map[string]any{}
		}
		for _, file := range l.sshKeys {
			more, err := readKeys(file)
			if err != nil {
				return fmt.Errorf("--ssh-key: %w", err)
			}
			for _, key := range more {
				keys[fmt.Sprintf("key-%d", len(keys)+1)] = key
			}
		}
		meta["public_keys"] = keys
	}
	if l.hostname != "" {
		meta["hostname"], meta["name"] = l.hostname, l.hostname
	}
	if len(meta) > 0 {
		parts["meta_data"] = meta
	}
	return nil
}

// maxKeys bounds a file with public keys, in bytes.
const maxKeys = 64 << 10

// readKeys returns the public keys of a file, one a line, as in authorized_keys.
func readKeys(file string) (keys []string, err error) {
	raw, err := input.File(file, maxKeys)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(raw), "PRIVATE KEY-----") {
		return nil, fmt.Errorf("%s has a private key: name the file with the public one (.pub)", file)
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if words := strings.Fields(line); len(words) < 2 || !strings.Contains(line, "AAAA") {
			return nil, fmt.Errorf("%s has a line that is no public key", file)
		}
		keys = append(keys, line)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key", file)
	}
	return keys, nil
}

// readNetwork reads a network_data.json (OpenStack's nova/api/metadata/network_data.json).
func readNetwork(file string) (map[string]any, error) {
	raw, err := input.File(file, configdrive.MaxSize)
	if err != nil {
		return nil, err
	}
	var network map[string]any
	if err := jsonvalue.Unmarshal(raw, &network); err != nil {
		return nil, fmt.Errorf("%s is no JSON object: %w", file, err)
	}
	for _, list := range []string{"links", "networks"} {
		if _, ok := network[list].([]any); !ok {
			return nil, fmt.Errorf("%s has no list %q, which a network_data.json needs", file, list)
		}
	}
	return network, nil
}
