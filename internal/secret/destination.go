package secret

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// boundValues names the values of a node that decide where a secret is sent and how
// the other side is verified. The seal of the secret is bound to them: it opens only
// while they are as they were when the secret was given.
//
// For secrets in driver_info these are the properties that a hardware type marks
// with Decides. A path on the same BMC and the account are not among them: neither
// shows the password to anybody else.
func boundValues(secret string) []string {
	switch {
	case strings.HasPrefix(secret, inDriverInfo+"/"), secret == node.PendingPasswordSecret:
		names := []string{"driver"}
		for _, driver := range node.HardwareTypes() {
			h, _ := node.Hardware(driver)
			for _, p := range h.Properties {
				if p.Decides {
					names = append(names, inDriverInfo+"/"+p.Name)
				}
			}
		}
		return names
	case strings.HasPrefix(secret, inInstanceInfo+"/image_request_authorization_secret"), strings.HasPrefix(secret, inInstanceInfo+"/image_pull_secret"):
		return []string{
			"instance_info/image_source", "driver_info/image_http_proxy", "driver_info/image_https_proxy", "driver_info/image_no_proxy",
		}
	}
	return nil
}

// Destination is where a secret is sent and how the other side is verified: the
// values that decide this, as JSON, by name. Values that are missing, null or "" are
// left out.
type Destination map[string]string

// DestinationOf returns the destination of n's secret with this name. It is empty if
// no value of the node decides it.
func DestinationOf(n *node.Node, secret string) Destination {
	out := Destination{}
	for _, name := range boundValues(secret) {
		if v := boundValue(n, name); v != nil && v != "" {
			text, err := json.Marshal(v)
			if err != nil { // impossible for a value that came as JSON
				text = []byte("?")
			}
			out[name] = string(text)
		}
	}
	return out
}

func boundValue(n *node.Node, name string) any {
	if name == "driver" {
		return n.Driver
	}
	dict, key, _ := strings.Cut(name, "/")
	if dict == inDriverInfo {
		return n.DriverInfo[key]
	}
	return n.InstanceInfo[key]
}

// The dictionaries of a node that may hold secrets. A secret's name begins with that
// of its dictionary.
const (
	inDriverInfo   = "driver_info"
	inInstanceInfo = "instance_info"
)

// Destinations returns the destination of each secret for which n's dictionaries have a
// masked value, by the secret's name.
func Destinations(n *node.Node) map[string]Destination {
	out := map[string]Destination{}
	for prefix, dict := range map[string]map[string]any{inDriverInfo: n.DriverInfo, inInstanceInfo: n.InstanceInfo} {
		_, found := Mask(dict)
		for path := range found {
			out[prefix+path] = DestinationOf(n, prefix+path)
		}
	}
	return out
}

// CheckDestinations refuses a change of a secret's destination by somebody who does
// not give the secret itself. had are the Destinations before the change, after is the
// changed node, and given are the secrets in the request (nil: deleted). The error
// is fault.Invalid and names fields, never values.
func CheckDestinations(had map[string]Destination, after *node.Node, given node.Secrets) error {
	var kept, changed []string
	for name, now := range Destinations(after) {
		before, stays := had[name]
		if _, anew := given[name]; anew || !stays || maps.Equal(before, now) {
			continue
		}
		kept = append(kept, text.Cut(name))
		for _, field := range now.differences(before) {
			if !slices.Contains(changed, field) {
				changed = append(changed, field)
			}
		}
	}
	if kept == nil {
		return nil
	}
	slices.Sort(kept)
	slices.Sort(changed)
	return fault.Coded(fault.SecretRequired, "Node %s: changing %s changes where the secret %s is sent or how the other side is verified. "+
		"Give the secret itself in the same request, or remove it; %q is not enough, because it stands for the stored one.",
		after.UUID, strings.Join(changed, ", "), strings.Join(kept[:min(len(kept), maxFields)], ", "), mask.Masked)
}

// maxFields bounds the number of names in a sentence.
const maxFields = 20

func (d Destination) differences(other Destination) []string {
	var out []string
	for name, v := range d {
		if other[name] != v {
			out = append(out, name)
		}
	}
	for name := range other {
		if _, ok := d[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}
