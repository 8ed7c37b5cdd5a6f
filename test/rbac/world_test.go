package rbac

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/access"
)

// world is an API with the records that Ironic's tests make (ironic/tests/unit/api/test_acl.py), and how the tables call them.
type world struct {
	*apitest.Bench
	names map[string]string
}

const (
	ownerProject  = "70e5e25a-2ca2-4cb1-8ae8-7d8739cee205"
	lesseeProject = "f11853c7-fa9c-4db3-a477-c9d8e0dbbf13"
	ownedNode     = "1ab63b9e-66d7-4cd7-8618-dddd0f9f7881"
	leasedNode    = "38d5abed-c585-4fce-a57e-a2ffc2a2ec6f"
	vif           = "ee21d58f-5de2-4956-85ff-33935ea1ca00"
)

func newWorld(t *testing.T, c testCase) *world {
	t.Helper()
	b := apitest.New(t, func(config *api.Config) {
		h := headers{}
		if c.Elevated {
			h.serviceProject = c.ServiceProject
		}
		config.Auth.Others = []access.Authenticator{h}
		config.AnswerWithin = 100 * time.Millisecond // no conductor works
		config.OwnNodes = c.SelfManage == nil || *c.SelfManage
	}).WithConductors()
	return &world{b.As("setup", access.Admin, ""), map[string]string{"driver_name": "fake-driverz", "conductor_ident": "c1", "bios_setting": "FAKE_SETTING", "vif_ident": vif}}
}

// node makes a node, which has fields besides.
func (w *world) node(uuid string, fields map[string]any) string {
	body := map[string]any{
		"uuid": uuid, "driver": "fake-hardware", "resource_class": "CUSTOM_TEST",
		"driver_info": map[string]any{"foo": "bar", "fake_password": "hunter2"},
	}
	for k, v := range fields {
		body[k] = v
	}
	w.Post("/v1/nodes", body).Is(201)
	w.SQL(`UPDATE nodes SET last_error = 'meow', driver_internal_info = '{"private_state": "secret value"}', provision_state = 'available', power_state = 'power off' WHERE uuid = $1`, uuid)
	return uuid
}

func (w *world) made(path string, body map[string]any) string {
	return w.Post(path, body).Is(201)["uuid"].(string)
}

// parts gives a node ports, a port group, volumes, a trait, a history and an inventory.
func (w *world) parts(of, prefix, mac string) {
	w.names[prefix+"port_ident"] = w.made("/v1/ports", map[string]any{"node_uuid": of, "address": "52:54:00:00:00:" + mac})
	w.names[prefix+"portgroup_ident"] = w.made("/v1/portgroups", map[string]any{"node_uuid": of, "address": "52:54:00:00:01:" + mac})
	w.names["volume_target_ident"] = w.made("/v1/volume/targets", map[string]any{
		"node_uuid": of, "volume_type": "iscsi", "boot_index": 0, "volume_id": "v" + mac, "properties": map[string]any{"target_iqn": "iqn.foo"},
	})
	w.names["volume_connector_ident"] = w.made("/v1/volume/connectors", map[string]any{"node_uuid": of, "type": "iqn", "connector_id": "iqn." + mac})
	w.Put("/v1/nodes/"+of+"/traits/CUSTOM_MEOW", nil).Is(204)
	w.SQL(`INSERT INTO node_inventory (node_id, inventory, plugin_data) SELECT id, '{}', '{}' FROM nodes WHERE uuid = $1 ON CONFLICT DO NOTHING`, of)
}

func (w *world) allocation(of, class, project string) string {
	w.SQL(`UPDATE nodes SET resource_class = $2, provision_state = 'active' WHERE uuid = $1`, of, class)
	body := map[string]any{"node": of, "resource_class": class}
	if project != "" {
		body["owner"] = project
	}
	return w.made("/v1/allocations", body)
}

// ofProjects is the world of the project scoped table.
func ofProjects(t *testing.T, c testCase) *world {
	w := newWorld(t, c)
	w.names["node_ident"] = w.node("1be26c0b-03f2-4d2e-ae87-c02d7f33c123", nil)
	w.names["owner_node_ident"] = w.node(ownedNode, map[string]any{"owner": ownerProject})
	w.parts(ownedNode, "owner_", "01")
	w.made("/v1/ports", map[string]any{"node_uuid": ownedNode, "address": "52:54:00:00:00:02"})
	w.names["lessee_node_ident"] = w.node(leasedNode, map[string]any{"owner": ownerProject, "lessee": lesseeProject})
	w.parts(leasedNode, "lessee_", "03")
	other := w.node("573208e5-cd41-4e26-8f06-ef44022b3793", nil)
	target, connector := w.names["volume_target_ident"], w.names["volume_connector_ident"]
	w.parts(other, "other_", "ff")
	w.names["volume_target_ident"], w.names["volume_connector_ident"] = target, connector
	w.names["allocated_node_ident"] = leasedNode
	w.names["owner_allocation"] = w.allocation(ownedNode, "CUSTOM_TEST", ownerProject)
	w.names["lessee_allocation"] = w.allocation(leasedNode, "CUSTOM_LEASED", lesseeProject)
	w.SQL(`UPDATE nodes SET provision_state = 'available'`)
	w.SQL(`UPDATE nodes SET last_error = 'meow'`)
	w.names["trait"], w.names["ind_component"], w.names["ind_ident"] = "CUSTOM_MEOW", "component", "magic_light"
	w.names["owned_history_ident"], w.names["lessee_history_ident"] = w.history(ownedNode), w.history(leasedNode)
	return w
}

// ofSystem is the world of the system scoped table.
func ofSystem(t *testing.T, c testCase) *world {
	w := newWorld(t, c)
	w.names["node_ident"] = w.node("1be26c0b-03f2-4d2e-ae87-c02d7f33c123", map[string]any{"owner": "z"})
	w.names["allocated_node_ident"] = w.node("22e26c0b-03f2-4d2e-ae87-c02d7f33c000", map[string]any{"owner": "z"})
	w.node("18a552fb-dcd2-43bf-9302-e4c93287be11", nil)
	w.parts(w.names["node_ident"], "", "01")
	w.names["allocation_ident"] = w.allocation(w.names["allocated_node_ident"], "CUSTOM_TEST", "")
	w.names["chassis_ident"] = w.made("/v1/chassis", map[string]any{"uuid": "e74c40e0-d825-11e2-a28f-0800200c9a66"})
	w.names["deploy_template_ident"] = w.made("/v1/deploy_templates", map[string]any{
		"name": "CUSTOM_DT1", "steps": []any{map[string]any{"interface": "deploy", "step": "write_image", "args": map[string]any{}, "priority": 10}},
	})
	w.names["trait"], w.names["component"], w.names["ind_ident"] = "CUSTOM_MEOW", "component", "magic_light"
	w.names["history_ident"] = w.history(w.names["node_ident"])
	return w
}

// history is the newest event of a node's history.
func (w *world) history(of string) string {
	list := w.Get("/v1/nodes/" + of + "/history").Is(200)["history"].([]any)
	require.NotEmpty(w.T, list)
	return list[len(list)-1].(map[string]any)["uuid"].(string)
}

// formatted puts names into a text of a table.
func (w *world) formatted(text string) string {
	for name, value := range w.names {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}
