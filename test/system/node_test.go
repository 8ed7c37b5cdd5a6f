package system_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// node is a server of a rack, enrolled in a stack by one test.
type node struct {
	t      *testing.T
	s      *stack
	r      *rack
	server string
	uuid   string
	// virtual: the server is a virtual machine.
	virtual bool
}

// shown is a node as the API shows it.
type shown struct {
	UUID              string         `json:"uuid"`
	Name              string         `json:"name"`
	State             string         `json:"provision_state"`
	Target            *string        `json:"target_provision_state"`
	Power             *string        `json:"power_state"`
	TargetPower       *string        `json:"target_power_state"`
	Reservation       *string        `json:"reservation"`
	LastError         *string        `json:"last_error"`
	Maintenance       bool           `json:"maintenance"`
	MaintenanceReason *string        `json:"maintenance_reason"`
	Fault             *string        `json:"fault"`
	InstanceUUID      *string        `json:"instance_uuid"`
	InstanceInfo      map[string]any `json:"instance_info"`
	DriverInfo        map[string]any `json:"driver_info"`
	Properties        map[string]any `json:"properties"`
	Internal          map[string]any `json:"driver_internal_info"`
	DeployStep        map[string]any `json:"deploy_step"`
	CleanStep         map[string]any `json:"clean_step"`
	Description       *string        `json:"description"`
	Extra             map[string]any `json:"extra"`
}

// enroll enrols a server that no other test has. change edits the request before it is sent.
func enroll(t *testing.T, s *stack, r *rack, change ...func(driverInfo map[string]any)) *node {
	t.Helper()
	n := &node{t: t, s: s, r: r, server: r.take(t)}
	sv := n.hardware()
	info := map[string]any{
		"redfish_address": sv.Address, "redfish_system_id": sv.System, "redfish_username": sv.Username,
		"redfish_password": sv.Password, "redfish_verify_ca": sv.VerifyCA, "deploy_iso": r.url + "/images/deploy.iso",
	}
	for _, c := range change {
		c(info)
	}
	a := s.must(t, http.StatusCreated, http.MethodPost, "/v1/nodes", map[string]any{
		"name": r.prefix + n.server, "driver": "redfish", "driver_info": info, "resource_class": "baremetal",
	})
	var made shown
	require.NoError(t, a.Decode(&made))
	n.uuid = made.UUID
	for _, mac := range sv.MACs {
		s.must(t, http.StatusCreated, http.MethodPost, "/v1/ports", map[string]any{"node_uuid": n.uuid, "address": mac})
	}
	return n
}

// manageable returns a node that was verified.
func manageable(t *testing.T, s *stack, r *rack) *node {
	t.Helper()
	n := enroll(t, s, r)
	n.done(n.provision("manage", nil), "manageable")
	return n
}

// available returns a node that can be deployed with the rack's image. To save time it was not cleaned.
func available(t *testing.T, s *stack, r *rack) *node {
	t.Helper()
	n := manageable(t, s, r)
	n.patch("automated_clean", false)
	n.done(n.provision("provide", nil), "available")
	n.image(r.url+"/images/disk.raw", digest(t, r))
	return n
}

// get reads the node.
func (n *node) get() (shown, error) {
	var out shown
	return out, n.s.read("/v1/nodes/"+n.uuid, &out)
}

// now returns the node as the API shows it now.
func (n *node) now() shown {
	n.t.Helper()
	out, err := n.get()
	require.NoError(n.t, err)
	return out
}

// hardware returns the present state of the server.
func (n *node) hardware() server {
	n.t.Helper()
	out, err := n.r.read(n.server)
	require.NoError(n.t, err)
	return out
}

func (n *node) spoil(faults ...fault) { n.t.Helper(); n.r.spoil(n.t, n.server, faults...) }

// patch sets one field of the node.
func (n *node) patch(path string, value any) {
	n.t.Helper()
	n.s.must(n.t, http.StatusOK, http.MethodPatch, "/v1/nodes/"+n.uuid, set(path, value))
}

// repatch sets several values at once.
func (n *node) repatch(values map[string]any) {
	n.t.Helper()
	var ops []map[string]any
	for path, value := range values {
		ops = append(ops, set(path, value)...)
	}
	n.s.must(n.t, http.StatusOK, http.MethodPatch, "/v1/nodes/"+n.uuid, ops)
}

func set(path string, value any) []map[string]any {
	return []map[string]any{{"op": "add", "path": "/" + path, "value": value}}
}

// image sets the image to deploy.
func (n *node) image(url, sha256 string) {
	n.t.Helper()
	n.patch("instance_info", map[string]any{
		"image_source": url, "image_os_hash_algo": "sha256", "image_os_hash_value": sha256, "image_disk_format": "raw",
	})
}

// ask requests a provision state.
func (n *node) ask(verb string, more map[string]any) answer {
	n.t.Helper()
	body := map[string]any{"target": verb}
	maps.Copy(body, more)
	a, err := n.s.ask(http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision", body)
	require.NoError(n.t, err)
	return a
}

// provision requests a provision state, which must be accepted, and returns the operation's id.
func (n *node) provision(verb string, more map[string]any) string {
	n.t.Helper()
	a := n.ask(verb, more)
	require.Equal(n.t, http.StatusAccepted, a.Status, "%s: %s", verb, a.Words())
	return n.accepted(a)
}

// power requests a power state, which must be accepted.
func (n *node) power(target string) string {
	n.t.Helper()
	return n.accepted(n.s.must(n.t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/power", map[string]any{"target": target}))
}

func (n *node) accepted(a answer) string {
	n.t.Helper()
	op := a.Header.Get("Temper-Operation")
	require.NotEmpty(n.t, op, "a 202 names its operation")
	return op
}

// refused sends a request that must be refused, and returns the error's text.
func (n *node) refused(status int, verb string, more map[string]any) string {
	n.t.Helper()
	a := n.ask(verb, more)
	require.Equal(n.t, status, a.Status, "%s: %s", verb, a.Words())
	return a.Words()
}

// await waits until the node is in a state.
func (n *node) await(state string) shown {
	n.t.Helper()
	var last shown
	catches(n.t, patience, func() error {
		now, err := n.get()
		if err != nil {
			return err
		}
		if now.State != state {
			return fmt.Errorf("node %s is %q, not %q: %s", n.uuid, now.State, state, text(now.LastError))
		}
		last = now
		return nil
	})
	return last
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}
