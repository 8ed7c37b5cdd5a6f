package ironic

import (
	"fmt"
	"slices"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// setNetworkData sets network_data: empty, or the metadata of a network as Nova's JSON schema has it
// (Ironic api/controllers/v1/network-data-schema.json).
func setNetworkData(n *node.Node, v any) error {
	if err := nodeSet.Dict("network_data", func(n *node.Node) *map[string]any { return &n.NetworkData })(n, v); err != nil {
		return err
	}
	if len(n.NetworkData) == 0 {
		return nil
	}
	if err := checkNetworkData(n.NetworkData); err != nil {
		return fault.New(fault.Invalid, "Invalid network_data: %w", err)
	}
	return nil
}

func checkNetworkData(data map[string]any) error {
	for _, list := range []struct {
		name  string
		check func(map[string]any) error
	}{{"links", checkLink}, {"networks", checkNetwork}, {"services", checkService}} {
		all, given := data[list.name]
		items, isList := all.([]any)
		switch {
		case !given:
			return fmt.Errorf("'%s' is a required property", list.name)
		case !isList:
			return fmt.Errorf("%s is not of type 'array'", list.name)
		}
		for i, item := range items {
			one, isObject := item.(map[string]any)
			if !isObject {
				return fmt.Errorf("%s[%d] is not of type 'object'", list.name, i)
			}
			if err := list.check(one); err != nil {
				return fmt.Errorf("%s[%d]: %w", list.name, i, err)
			}
		}
	}
	return nil
}

// The types of links that need no fields of their own, and the types of networks.
var (
	linkTypes    = []string{"bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"}
	networkTypes = []string{"ipv4", "ipv4_dhcp", "ipv6", "ipv6_dhcp", "ipv6_slaac"}
)

func checkLink(link map[string]any) error {
	address := "ethernet_mac_address"
	var err error
	switch t := link["type"]; t {
	case "vlan":
		address = "vlan_mac_address"
		err = requireTexts(link, "vlan_link")
		if _, isInteger := jsonvalue.Int(link["vlan_id"]); err == nil && !isInteger {
			err = fmt.Errorf("vlan_id must be an integer")
		}
	case "bond":
		err = requireTexts(link, "bond_mode")
		if _, isList := link["bond_links"].([]any); err == nil && !isList {
			err = fmt.Errorf("bond_links must be a list")
		}
	default:
		err = requireOneOf(link, "type", linkTypes)
	}
	if err == nil {
		err = requireTexts(link, "id", address)
	}
	if err != nil {
		return err
	}
	if _, err := node.ValidMAC(link[address].(string)); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

func checkNetwork(network map[string]any) error {
	if err := requireTexts(network, "id", "link", "network_id"); err != nil {
		return err
	}
	return requireOneOf(network, "type", networkTypes)
}

func checkService(service map[string]any) error {
	if err := requireTexts(service, "address"); err != nil {
		return err
	}
	return requireOneOf(service, "type", []string{"dns"})
}

func requireTexts(in map[string]any, names ...string) error {
	for _, name := range names {
		v, given := in[name]
		if !given {
			return fmt.Errorf("'%s' is a required property", name)
		}
		if _, isText := v.(string); !isText {
			return fmt.Errorf("%s: %s is not of type 'string'", name, format.Describe(v))
		}
	}
	return nil
}

func requireOneOf(in map[string]any, name string, values []string) error {
	if err := requireTexts(in, name); err != nil {
		return err
	}
	if !slices.Contains(values, in[name].(string)) {
		return fmt.Errorf("%s: %s is not one of %v", name, format.Describe(in[name]), values)
	}
	return nil
}
