package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/client"
)

// discoveryRule says of which discovered servers nodes are made, and what nodes.
type discoveryRule struct {
	// Match are patterns by field, in which * stands for anything: all of them must match.
	Match map[string]string `yaml:"match"`
	// Node are the fields of the node, as in a file of temper node create, and its traits.
	Node map[string]any `yaml:"node"`
}

// matchable are the fields of a discovery that rules compare.
var matchable = map[string]func(*client.Discovery) []string{
	"uuid":         func(d *client.Discovery) []string { return []string{d.UUID} },
	"serial":       func(d *client.Discovery) []string { return []string{d.Serial} },
	"manufacturer": func(d *client.Discovery) []string { return []string{d.Manufacturer} },
	"product":      func(d *client.Discovery) []string { return []string{d.Product} },
	"bmc_address":  func(d *client.Discovery) []string { return []string{d.BMCAddress} },
	"cpu_arch":     func(d *client.Discovery) []string { return []string{d.Arch} },
	"mac":          func(d *client.Discovery) []string { return d.MACs },
}

// readDiscoveryRules reads a file of rules.
func readDiscoveryRules(file string) ([]discoveryRule, error) {
	raw, err := input.File(file, maxFile)
	if err != nil {
		return nil, err
	}
	var in struct {
		Rules []discoveryRule `yaml:"rules"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(raw)))
	d.KnownFields(true)
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(in.Rules) == 0 {
		return nil, fmt.Errorf("%s has no rules", file)
	}
	for i, r := range in.Rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s: rule %d: %w", file, i+1, err)
		}
	}
	return in.Rules, nil
}

func (r discoveryRule) check() error {
	if len(r.Match) == 0 {
		return errors.New("it has no match: match: {serial: \"*\"} takes every server that has a serial number")
	}
	for name, pattern := range r.Match {
		if matchable[name] == nil {
			return fmt.Errorf("servers have no %q to match: they have %s", name, strings.Join(slices.Sorted(maps.Keys(matchable)), ", "))
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is no pattern: %w", pattern, err)
		}
	}
	for _, name := range []string{"name", "driver"} {
		if v, _ := r.Node[name].(string); v == "" {
			return fmt.Errorf("its node has no %s", name)
		}
	}
	return nil
}

// matches reports whether the rule is for a server. What a server does not tell matches nothing.
func (r discoveryRule) matches(d *client.Discovery) bool {
	for name, pattern := range r.Match {
		if !slices.ContainsFunc(matchable[name](d), func(v string) bool {
			ok, err := path.Match(folded(pattern), folded(v))
			return v != "" && ok && err == nil
		}) {
			return false
		}
	}
	return true
}

// folded returns a pattern or a value as they are compared: without upper case, and without the slash, which * would not match.
func folded(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", "\x01") }

// nodeFor returns the node for a server: the fields that were given, in which {serial}, {bmc_address}, {mac}, {manufacturer}
// and {product} stand for what was found, with the server's ports and, unless they were given, the properties that schedulers read.
func nodeFor(d *client.Discovery, given map[string]any) (n fileNode, err error) {
	found := map[string]string{
		"serial": d.Serial, "bmc_address": bracketed(d.BMCAddress), "mac": d.MACs[0], "manufacturer": d.Manufacturer, "product": d.Product,
	}
	if d.BootMAC != "" {
		found["mac"] = d.BootMAC
	}
	filled, err := filledIn(given, found)
	if err != nil {
		return n, err
	}
	fields, _ := filled.(map[string]any)
	properties, _ := fields["properties"].(map[string]any)
	of := map[string]any{"cpu_arch": d.Arch, "cpus": d.CPUs, "memory_mb": d.MemoryMB, "local_gb": d.DiskGB}
	maps.DeleteFunc(of, func(_ string, v any) bool { return v == "" || v == int64(0) })
	maps.Copy(of, properties)
	fields["properties"] = of
	if fields["ports"] == nil {
		fields["ports"] = portsOf(d)
	}
	return nodeOfFile(fields)
}

// portsOf are the ports of a server. Only that from which it booted is for booting, if it is known.
func portsOf(d *client.Discovery) (ports []any) {
	for _, mac := range d.MACs {
		port := map[string]any{"address": mac}
		if d.BootMAC != "" {
			port["pxe_enabled"] = mac == d.BootMAC
		}
		ports = append(ports, port)
	}
	return ports
}

// bracketed is an address as URLs have it.
func bracketed(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_:\[\]-][A-Za-z0-9._:\[\]-]*$`)

// filledIn returns v with what was found in place of {name} in its strings. Something that was not found is an error.
func filledIn(v any, found map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		for name, value := range found {
			if strings.Contains(v, "{"+name+"}") {
				if value == "" {
					return nil, fmt.Errorf("the agent found no %s, which %q needs", strings.ReplaceAll(name, "_", " "), v)
				}
				// What an agent says must not lead a URL, and the password that goes there, to another host.
				if strings.Contains(v, "://") && !plainWord.MatchString(value) {
					return nil, fmt.Errorf("the agent says that the %s is %q, which can't be a part of %q", strings.ReplaceAll(name, "_", " "), value, v)
				}
				v = strings.ReplaceAll(v, "{"+name+"}", value)
			}
		}
		return v, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			filled, err := filledIn(e, found)
			if err != nil {
				return nil, err
			}
			out[k] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			filled, err := filledIn(e, found)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return v, nil
}

// describe names a server for people.
func describe(d *client.Discovery) string {
	return strings.Join(strings.Fields(cmp.Or(d.Manufacturer, "?")+" "+d.Product+" "+d.Serial), " ")
}
