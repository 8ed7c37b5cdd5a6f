package dev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// rackDrivers are the hardware types of the nodes that the rack's servers become, in this order.
var rackDrivers = []rackDriver{
	{"redfish", true, func(sv Server, rackURL string) map[string]any {
		info := map[string]any{
			"redfish_address": sv.Address, "redfish_system_id": sv.SystemID, "redfish_username": sv.Username,
			"redfish_password": sv.Password, "deploy_iso": rackURL + "/images/deploy.iso",
		}
		if sv.VerifyCA != nil {
			info["redfish_verify_ca"] = sv.VerifyCA
		}
		return info
	}},
	{"ipmi", false, func(sv Server, _ string) map[string]any {
		return map[string]any{
			"ipmi_address": sv.IPMIAddress, "ipmi_port": sv.IPMIPort, "ipmi_username": sv.IPMIUsername, "ipmi_password": sv.IPMIPassword,
		}
	}},
}

// rackDriver is a hardware type that a server of the rack can have.
type rackDriver struct {
	name        string
	bootsAgents bool // without it a node can't be cleaned automatically, or rescued
	info        func(sv Server, rackURL string) map[string]any
}

// checkDrivers returns an error, before anything is started, if there is a driver that conductors don't have, or one
// whose nodes are to be enrolled and that neither the rack nor fake hardware is for.
func (s *Stack) checkDrivers(context.Context) error {
	for _, driver := range s.o.Drivers {
		hw, known := node.Hardware(driver)
		switch {
		case !known:
			return fmt.Errorf("there is no driver %q: want some of %s (--drivers)", driver, strings.Join(node.HardwareTypes(), ", "))
		case s.o.Enroll && !hw.IsFake() && !HasRack([]string{driver}):
			return fmt.Errorf("no way to enrol nodes of driver %q here: want %s, %s, or fake hardware, or --enroll=false",
				driver, rackDrivers[0].name, rackDrivers[1].name)
		}
	}
	return nil
}

// onRack returns how many of the nodes are servers of the rack.
func onRack(share map[string]int) (n int) {
	for _, d := range rackDrivers {
		n += share[d.name]
	}
	return n
}

// HasRack reports whether nodes of one of the hardware types are servers of the rack.
func HasRack(drivers []string) bool {
	return slices.ContainsFunc(rackDrivers, func(d rackDriver) bool { return slices.Contains(drivers, d.name) })
}

// Server is what enrolment needs of a server of the rack ({rack_url}/servers).
type Server struct {
	Name     string   `json:"name"`
	Address  string   `json:"redfish_address"`
	SystemID string   `json:"redfish_system_id"`
	Username string   `json:"redfish_username"`
	Password string   `json:"redfish_password"`
	VerifyCA any      `json:"redfish_verify_ca"`
	MACs     []string `json:"macs"`

	IPMIAddress  string `json:"ipmi_address"`
	IPMIPort     int    `json:"ipmi_port"`
	IPMIUsername string `json:"ipmi_username"`
	IPMIPassword string `json:"ipmi_password"`
}

// Node is a node to enrol.
type Node struct {
	Name           string
	Driver         string
	DriverInfo     map[string]any
	ConductorGroup string
	ResourceClass  string
	AutomatedClean bool
	Rescue         string   // its rescue interface; "" = the default
	MACs           []string // become ports
}

// fields are the node's fields in Ironic's API.
func (n Node) fields() map[string]any {
	f := map[string]any{"name": n.Name, "driver": n.Driver, "resource_class": n.ResourceClass, "automated_clean": n.AutomatedClean}
	if n.DriverInfo != nil {
		f["driver_info"] = n.DriverInfo
	}
	if n.Rescue != "" {
		f["rescue_interface"] = n.Rescue
	}
	if n.ConductorGroup != "" {
		f["conductor_group"] = n.ConductorGroup
	}
	return f
}

// enroll enrols the servers of the rack and the fake nodes. Nodes of an earlier start stay as they are.
func (s *Stack) enroll(ctx context.Context) error {
	if !s.o.Enroll || s.o.Nodes == 0 {
		return nil
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return fmt.Errorf("list what to enrol: %w", err)
	}
	api, err := client.New(client.Config{URL: s.snapshot().APIURL, User: s.getenv("TEMPER_API_USER"), Password: s.getenv("TEMPER_API_PASSWORD")})
	if err != nil {
		return err
	}
	defer api.Close()
	err = Enroll(ctx, api, nodes)
	if client.CodeOf(err) == fault.Unauthenticated {
		return fmt.Errorf("%w; say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD, or start with --enroll=false", err)
	}
	return err
}

// getenv returns a variable of the children's environment; "" = it is not set.
func (s *Stack) getenv(name string) (value string) {
	for _, v := range s.o.Environ { // the last one counts, as in os/exec
		if after, ok := strings.CutPrefix(v, name+"="); ok {
			value = after
		}
	}
	return value
}

// nodes returns the nodes that the stack must have.
func (s *Stack) nodes(ctx context.Context) ([]Node, error) {
	var nodes []Node
	share := s.share()
	for _, driver := range slices.Sorted(maps.Keys(share)) {
		hw, known := node.Hardware(driver)
		switch {
		case known && hw.IsFake():
			for i := range share[driver] {
				nodes = append(nodes, Node{
					Name: fmt.Sprintf("fake-%04d", i+1), Driver: driver, ResourceClass: "baremetal", AutomatedClean: true,
				})
			}
		}
	}
	if onRack(share) > 0 {
		servers, err := RackNodes(ctx, s.snapshot().RackURL, share)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, servers...)
	}
	for i := range nodes {
		if s.o.Ramdisk != "" {
			delete(nodes[i].DriverInfo, "deploy_iso")
		}
		nodes[i].ConductorGroup = s.group(i)
	}
	return nodes, nil
}

// RackNodes returns nodes for the servers of a rack: as many of each hardware type as share says, or
// fewer if the rack has fewer.
func RackNodes(ctx context.Context, rackURL string, share map[string]int) ([]Node, error) {
	var servers []Server
	if err := Call(ctx, http.MethodGet, rackURL+"/servers", nil, &servers); err != nil {
		return nil, err
	}
	var nodes []Node
	for _, d := range rackDrivers {
		n := min(share[d.name], len(servers))
		for _, sv := range servers[:n] {
			n := Node{
				Name: sv.Name, Driver: d.name, DriverInfo: d.info(sv, rackURL), ResourceClass: "baremetal", AutomatedClean: d.bootsAgents, MACs: sv.MACs,
			}
			if d.bootsAgents {
				n.Rescue = "agent" // the default refuses to
			}
			nodes = append(nodes, n)
		}
		servers = servers[n:]
	}
	return nodes, nil
}

// Enroll creates nodes with their ports. Nodes and ports that exist stay as they are.
func Enroll(ctx context.Context, api *client.Client, nodes []Node) error {
	for _, n := range nodes { // one after the other, because lists show nodes in the order of their creation
		if err := enrollOne(ctx, api, n); err != nil {
			return fmt.Errorf("enrol node %s: %w", n.Name, err)
		}
	}
	return nil
}

func enrollOne(ctx context.Context, api *client.Client, n Node) error {
	made, err := retryUnavailable(ctx, func() (*client.Node, error) { return api.CreateNode(ctx, n.fields()) })
	if isStatus(err, http.StatusConflict) {
		made, err = api.Node(ctx, n.Name, "uuid")
	}
	if err != nil {
		return err
	}
	for _, mac := range n.MACs {
		port := map[string]any{"node_uuid": made.UUID, "address": mac}
		_, err := retryUnavailable(ctx, func() (*client.Port, error) { return api.CreatePort(ctx, port) })
		if err != nil && !isStatus(err, http.StatusConflict) {
			return fmt.Errorf("port %s: %w", mac, err)
		}
	}
	return nil
}

// retryTimeout is how long enrolling waits for an API that is not ready or has no conductor.
const retryTimeout = 30 * time.Second

// retryUnavailable calls ask again while the answer is 503.
func retryUnavailable[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, time.Second
	return backoff.Retry(ctx, func() (T, error) {
		got, err := ask()
		if err != nil && !isStatus(err, http.StatusServiceUnavailable) {
			err = backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(retryTimeout))
}

func isStatus(err error, status int) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Status == status
}
