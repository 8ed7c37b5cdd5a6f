package temper_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestWhyAndRecoverSayThatNoOrchestratorRuns(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	require.NoError(t, b.Store.Reconciled(t.Context()))
	silent := "No orchestrator has reconciled"
	require.NotContains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["text"], silent)
	b.SQL("UPDATE ring_epoch SET reconciled_at = reconciled_at - interval '2 minutes'")
	require.Regexp(t, `Reconciliation is late, none has ended for [2-9]m(\d+s)?: operations go on`, b.Get("/temper/v1/nodes/n1/why").Is(200)["text"], "an orchestrator runs")
	b.SQL("UPDATE processes SET seen_at = seen_at - interval '50 minutes'")
	require.Regexp(t, silent+` for [2-9]m(\d+s)?: nothing goes on until one runs`, b.Get("/temper/v1/nodes/n1/why").Is(200)["text"])
	require.Contains(t, b.Post("/temper/v1/nodes/n1/recover", map[string]any{}).Is(200)["why"], silent)
}

func TestWhySaysFirstThatNobodyCoversTheNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.Settings = "/etc/temper/temper.yaml" })
	i := b.Conductor("c1", "", "fake-hardware")
	b.Conductor("c2", "rack", "fake-hardware")
	b.In("n1", node.Available)
	require.NoError(t, b.Store.StopConductor(t.Context(), "c1", i))
	why := b.Get("/temper/v1/nodes/n1/why").Is(200)
	require.True(t, strings.HasPrefix(why["trouble"].([]any)[0].(string), "No live conductor covers it since "), why)
	require.Contains(t, why["text"], "Known conductors: c1 (stopped, with driver fake-hardware, in the default conductor group, last heartbeat ")
	const start = "temper conductor --name c1 --enabled-drivers fake-hardware --config /etc/temper/temper.yaml"
	require.Equal(t, []any{"temper conductor list", start, "temper node set n1 --conductor-group rack", "temper node manage n1"}, why["commands"])
	conductors := partsOf(b.Get("/temper/v1/status").Is(200))["conductors"]
	require.Equal(t, "no live conductor covers 1 node: 1 with driver fake-hardware in the default conductor group", conductors["message"])
	require.Equal(t, start, conductors["help"].([]any)[0].(map[string]any)["command"], "it had the driver")
	b.SQL("DELETE FROM conductors WHERE hostname = 'c1'")
	conductors = partsOf(b.Get("/temper/v1/status").Is(200))["conductors"]
	require.Equal(t, "temper conductor --enabled-drivers fake-hardware --config /etc/temper/temper.yaml", conductors["help"].([]any)[0].(map[string]any)["command"])
	b.Patch("/v1/nodes/n1", apitest.Replace("/conductor_group", "rack")).Is(200)
	require.NotContains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["text"], "No live conductor")
}

// "temper why" and "temper node why" tell the same power requests that failed: the newest operation, of the last day.
func TestAPowerRequestThatFailedIsTold(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Manageable)
	insert := func(kind node.OperationKind, outcome node.Outcome, ago string) {
		b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, error, cause, power_target, origin, conductor_group, driver, steps, ended_at)
			SELECT n.id, n.uuid, n.name, $1, 'ended', $2, CASE $2 WHEN 'failed' THEN '401 Unauthorized' END, CASE $2 WHEN 'failed' THEN 'bmc_wrong_password' END,
				'power on', 'manageable', n.conductor_group, n.driver, '[]', now() - $3::text::interval FROM nodes n`, kind, outcome, ago)
	}
	told := func() bool {
		listed := len(b.Get("/temper/v1/why").Is(200)["nodes"].([]any)) > 0
		why := b.Get("/temper/v1/nodes/n1/why").Is(200)
		require.Equal(t, listed, strings.Contains(why["text"].(string), "failed at"))
		require.Equal(t, listed, why["cause"] == "bmc_wrong_password")
		return listed
	}
	require.False(t, told())
	insert(node.KindPower, node.Failed, "25h")
	require.False(t, told(), "it was long ago")
	insert(node.KindPower, node.Failed, "1h")
	require.True(t, told())
	why := b.Get("/temper/v1/nodes/n1/why").Is(200)
	require.Contains(t, why["text"], "(power) failed at")
	require.Contains(t, why["text"], "401 Unauthorized")
	require.Contains(t, fmt.Sprint(why["commands"]), "temper operation retry")
	insert(node.KindManage, node.Succeeded, "1m")
	require.False(t, told(), "something else was done since")
}

// The newest operation that moved the node can be repeated, however many power changes came after it.
func TestAFailedDeployCanBeRepeatedAfterPowerChanges(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.DeployFailed)
	b.SQL(`UPDATE nodes SET last_error = 'no disk'`)
	ended := func(kind node.OperationKind, outcome node.Outcome) {
		b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, origin, conductor_group, driver, steps, ended_at)
			SELECT n.id, n.uuid, n.name, $1, 'ended', $2, 'available', n.conductor_group, n.driver, '[]', now() FROM nodes n`, kind, outcome)
	}
	ended(node.KindManage, node.Succeeded)
	ended(node.KindDeploy, node.Failed)
	id := b.Get("/temper/v1/operations?kind=deploy").Is(200)["operations"].([]any)[0].(map[string]any)["id"].(string)
	for range 6 {
		ended(node.KindPower, node.Succeeded)
	}
	require.Contains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["commands"], "temper operation retry "+id)
}
