package apitest

import (
	"context"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// Enrolled makes a node with fake-hardware and returns its uuid.
func (b *Bench) Enrolled(name string) string {
	b.T.Helper()
	body := b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": name}).Is(201)
	return body["uuid"].(string)
}

// In makes a node that is in a state, with an open operation where the state
// needs one, and returns its uuid.
func (b *Bench) In(name string, s node.State) string {
	b.T.Helper()
	uuid := b.Enrolled(name)
	b.MoveTo(uuid, s)
	return uuid
}

// kindIn is the kind of the operation that is open in a transient state.
var kindIn = map[node.State]node.OperationKind{
	node.Verifying: node.KindManage, node.Inspecting: node.KindInspect, node.InspectWait: node.KindInspect,
	node.Deploying: node.KindDeploy, node.DeployWait: node.KindDeploy, node.DeployHold: node.KindDeploy,
	node.Deleting: node.KindUndeploy, node.Cleaning: node.KindProvide, node.CleanWait: node.KindProvide, node.CleanHold: node.KindProvide,
	node.Adopting: node.KindAdopt, node.Servicing: node.KindService, node.ServiceWait: node.KindService, node.ServiceHold: node.KindService,
	node.Rescuing: node.KindRescue, node.RescueWait: node.KindRescue, node.Unrescuing: node.KindUnrescue,
}

// MoveTo brings a node into a state, with an open operation where the state needs one.
func (b *Bench) MoveTo(uuid string, s node.State) {
	b.T.Helper()
	b.SQL(`UPDATE nodes SET provision_state = $2, target_provision_state = $3 WHERE uuid = $1`, uuid, string(s), string(node.TargetOf(s)))
	if !node.Transient(s) {
		return
	}
	phase := "running"
	if node.Waits(s) {
		phase = "waiting"
	}
	b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, state, origin, target, conductor_group, driver, conductor, run_id, begun_at, steps)
		SELECT id, uuid, coalesce(name, ''), $2, $3, $3, 'available', $4, '', driver, 'c1', 'run', now(),
			'[{"index":0,"interface":"deploy","step":"prepare","priority":0,"source":"core","state":"done","attempts":1},
			  {"index":1,"interface":"deploy","step":"write_image","priority":80,"source":"driver","state":"running","attempts":2,"last_error":"agent busy","args":{"a":1}},
			  {"index":2,"interface":"deploy","step":"boot_instance","priority":20,"source":"driver","state":"pending","attempts":0}]'
		FROM nodes WHERE uuid = $1`, uuid, string(kindIn[s]), phase, string(node.TargetOf(s)))
	if node.Waits(s) { // for an agent, whose boot has begun
		b.SQL(`INSERT INTO agents (node_id) SELECT id FROM nodes WHERE uuid = $1 ON CONFLICT DO NOTHING`, uuid)
	}
}

// Credentials opens the secrets of a node as it is now.
func (b *Bench) Credentials(ident string) (node.Secrets, error) {
	b.T.Helper()
	n, err := b.Store.Node(b.T.Context(), ident)
	require.NoError(b.T, err)
	return b.Store.Credentials(b.T.Context(), n)
}

// Field returns one field of a node.
func (b *Bench) Field(ident, name string) any {
	b.T.Helper()
	return b.Get("/v1/nodes/" + ident).Is(200)[name]
}

// LastOperation returns the newest operation of a node.
func (b *Bench) LastOperation(ident string) node.Operation {
	b.T.Helper()
	ops, err := b.Store.Operations(context.Background(), node.OperationFilter{Node: ident, Limit: 1})
	require.NoError(b.T, err)
	require.Len(b.T, ops, 1)
	return ops[0]
}

// ProvisionBody returns what a PUT of states/provision needs to be complete.
func ProvisionBody(verb string) map[string]any {
	body := map[string]any{"target": verb}
	switch verb {
	case "clean":
		body["clean_steps"] = []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
	case "rescue":
		body["rescue_password"] = "hunter2"
	case "service":
		body["service_steps"] = []any{map[string]any{"interface": "bios", "step": "factory_reset"}}
	}
	return body
}
