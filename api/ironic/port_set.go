package ironic

import (
	"cmp"
	"reflect"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// portSet makes the setters of ports.
var portSet = format.Setters[node.Port]{Resource: "port"}

var setNodeUUID = ownerField(portSet, func(p *node.Port) *string { return &p.NodeUUID })

func setAddress(p *node.Port, v any) error {
	s, ok := v.(string)
	if !ok {
		return portSet.WrongType("address", "'string'", v)
	}
	mac, ok := normalMAC(s)
	if !ok {
		return fault.New(fault.Invalid, "Expected valid MAC address for address: %s", format.Clip(s))
	}
	p.Address = mac
	return nil
}

func setPhysicalNetwork(p *node.Port, v any) error {
	if s, ok := v.(string); ok && s == "" {
		return fault.New(fault.Invalid, "A non-empty value is required when setting physical_network")
	}
	return portSet.Text("physical_network", 64, func(p *node.Port) *string { return &p.PhysicalNetwork })(p, v)
}

func setPortName(p *node.Port, v any) error {
	if s, ok := v.(string); ok && !node.ValidName(s, format.MaxMinor) {
		return fault.New(fault.Invalid, "Cannot create port with invalid name '%s'", format.Clip(s))
	}
	return portSet.Text("name", 255, func(p *node.Port) *string { return &p.Name })(p, v)
}

// localLinkKeys are what a local_link_connection may hold, all strings (Ironic
// utils.py LOCAL_LINK_SCHEMA). The two of an OVN VTEP are for the versions that have them.
var localLinkKeys = map[string]bool{
	"port_id": true, "switch_id": true, "switch_info": true, "hostname": true, "network_type": true, vtepLogical: true, vtepPhysical: true,
}

// An OVN VTEP stands for a switch from 1.90 on; 1.105 has taken that away.
const (
	vtepLogical  = "vtep-logical-switch"
	vtepPhysical = "vtep-physical-switch"
	minorVTEP    = 90
	minorNoVTEP  = 105
)

// datapathID is an OpenFlow datapath id.
var datapathID = regexp.MustCompile(`^0x[0-9a-f]{16}$`)

func setLocalLink(p *node.Port, v any) error {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return portSet.WrongType("local_link_connection", "'object', 'null'", v)
	}
	out := make(map[string]any, len(m))
	for k, val := range m {
		s, isText := val.(string)
		if !localLinkKeys[k] || !isText {
			return fault.New(fault.Invalid, "Schema error for local_link_connection: '%s' is unexpected or no string", format.Clip(k))
		}
		out[k] = s
	}
	if err := checkLocalLink(out); err != nil {
		return err
	}
	if id, ok := out["switch_id"].(string); ok {
		if mac, isMAC := normalMAC(id); isMAC {
			out["switch_id"] = mac
		} else {
			out["switch_id"] = strings.ToLower(id)
		}
	}
	p.LocalLinkConnection = out
	return nil
}

// checkLocalLink: nothing, a switch port, a smart NIC's port, the port of an OVN VTEP, or unmanaged.
func checkLocalLink(m map[string]any) error {
	has := func(k string) bool { _, ok := m[k]; return ok }
	switch t := m["network_type"]; {
	case len(m) == 0:
		return nil
	case t != nil && t != "managed" && t != "unmanaged":
		return fault.New(fault.Invalid, "Schema error for local_link_connection: network_type must be managed or unmanaged")
	case t == "unmanaged", has("port_id") && (has("switch_id") || has("hostname") || has(vtepLogical) && has(vtepPhysical)):
	default:
		return fault.New(fault.Invalid, "Schema error for local_link_connection: port_id and switch_id are required")
	}
	id, ok := m["switch_id"].(string)
	if _, mac := normalMAC(id); ok && !mac && !datapathID.MatchString(strings.ToLower(id)) {
		return fault.New(fault.Invalid, "Expected a MAC address or OpenFlow datapath ID but received %s.", format.Clip(id))
	}
	return nil
}

// checkPort are the rules over several fields. before is the port as it was; a new one was empty.
func checkPort(before, p *node.Port, minor int) error {
	if _, ok := p.LocalLinkConnection["network_type"]; ok && minor < 64 {
		return format.TooNew(64)
	}
	if !reflect.DeepEqual(before.LocalLinkConnection, p.LocalLinkConnection) {
		if err := checkVTEP(p.LocalLinkConnection, minor); err != nil {
			return err
		}
	}
	_, port := p.LocalLinkConnection["port_id"]
	_, host := p.LocalLinkConnection["hostname"]
	if p.IsSmartNIC && len(p.LocalLinkConnection) > 0 && (!port || !host) {
		return fault.New(fault.Invalid, "Smart NIC port must have port_id and hostname in local_link_connection")
	}
	return nil
}

// checkVTEP refuses the keys of a VTEP in versions that do not have them. A port keeps those that it has.
func checkVTEP(link map[string]any, minor int) error {
	for _, key := range []string{vtepLogical, vtepPhysical} {
		switch _, ok := link[key]; {
		case ok && minor < minorVTEP:
			return format.TooNew(minorVTEP)
		case ok && minor >= minorNoVTEP:
			return fault.New(fault.Invalid, "Schema error for local_link_connection: '%s' is unexpected; API version 1.%d has removed it", key, minorNoVTEP)
		}
	}
	return nil
}

// checkMember are the rules for a port of a port group: both belong to one node, and all ports of the group are connected to one
// physical network (Ironic conductor/utils.py, validate_port_physnet).
func (s *Server) checkMember(c *gin.Context, p *node.Port) error {
	if p.PortgroupUUID == "" {
		return nil
	}
	ctx := c.Request.Context()
	if _, err := s.Store.PortgroupOwners(ctx, p.PortgroupUUID, httpd.View(c, access.PortgroupGet)); err != nil {
		return format.NotFoundIsInvalid(err)
	}
	g, err := s.Store.Portgroup(ctx, p.PortgroupUUID)
	switch {
	case err != nil:
		return format.NotFoundIsInvalid(err)
	case g.NodeUUID != p.NodeUUID:
		return fault.New(fault.Invalid, "Port can not be added to a portgroup belonging to a different node.")
	}
	members, err := s.Store.Ports(ctx, node.PortFilter{Portgroup: &g.UUID}, node.Page{})
	for _, m := range members {
		if m.UUID != p.UUID && m.PhysicalNetwork != p.PhysicalNetwork {
			return fault.New(fault.Conflict, "Port with physical network %s cannot become a member of port group %s which has ports in physical network %s.",
				cmp.Or(p.PhysicalNetwork, "None"), g.UUID, cmp.Or(m.PhysicalNetwork, "None"))
		}
	}
	return err
}
