package stack

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Show returns a node by its UUID or its name.
func (s *Stack) Show(ctx context.Context, id string) (Node, error) {
	var n Node
	return n, s.Call(ctx, http.MethodGet, "/v1/nodes/"+id, nil, &n)
}

// AwaitNode waits until a node is in a provision state.
func (s *Stack) AwaitNode(ctx context.Context, id, state string, within time.Duration) error {
	return Await(ctx, within, func() error {
		n, err := s.Show(ctx, id)
		if err == nil && n.State != state {
			err = fmt.Errorf("node %s is %q, not %q: %s", id, n.State, state, n.LastError)
		}
		return err
	})
}

// Provision requests a provision state of a node.
func (s *Stack) Provision(ctx context.Context, id, verb string) error {
	return s.Call(ctx, http.MethodPut, "/v1/nodes/"+id+"/states/provision", map[string]any{"target": verb}, nil)
}

// Set sets fields of a node. A field within another one has a path, such as driver_info/deploy_iso.
func (s *Stack) Set(ctx context.Context, id string, fields map[string]any) error {
	var edits []map[string]any
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		edits = append(edits, map[string]any{"op": "add", "path": "/" + name, "value": fields[name]})
	}
	return s.Call(ctx, http.MethodPatch, "/v1/nodes/"+id, edits, nil)
}

// Enroll enrols a server of the rack and its ports. More are other fields of the node.
func (s *Stack) Enroll(ctx context.Context, sv Server, more map[string]any) (Node, error) {
	fields := map[string]any{"driver": "redfish", "resource_class": "baremetal", "driver_info": map[string]any{
		"redfish_address": sv.Address, "redfish_system_id": sv.System, "redfish_username": sv.Username,
		"redfish_password": sv.Password, "redfish_verify_ca": sv.VerifyCA, "deploy_iso": s.RackURL + "/images/deploy.iso",
	}}
	maps.Copy(fields, more)
	var n Node
	if err := s.Call(ctx, http.MethodPost, "/v1/nodes", fields, &n); err != nil {
		return n, err
	}
	for _, mac := range sv.MACs {
		if err := s.Call(ctx, http.MethodPost, "/v1/ports", map[string]any{"node_uuid": n.UUID, "address": mac}, nil); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Alive returns the names of the conductors that are alive according to the API.
func (s *Stack) Alive(ctx context.Context) ([]string, error) {
	var page struct {
		Conductors []struct {
			Hostname string `json:"hostname"`
			Alive    bool   `json:"alive"`
		} `json:"conductors"`
	}
	err := s.Call(ctx, http.MethodGet, "/v1/conductors", nil, &page)
	var names []string
	for _, c := range page.Conductors {
		if c.Alive {
			names = append(names, c.Hostname)
		}
	}
	return names, err
}
