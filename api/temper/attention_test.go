package temper_test

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

func TestWhyGroupsWhatNeedsAPersonByCause(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for _, name := range []string{"n1", "n2", "n3"} {
		b.In(name, node.DeployFailed)
	}
	b.In("n4", node.Available)
	b.In("n5", node.InspectFailed)
	b.SQL(`UPDATE nodes SET last_error = 'no disk'`)
	b.SQL(`INSERT INTO operations (node_id, node_uuid, node_name, kind, phase, outcome, error, cause, origin, conductor_group, driver, steps, ended_at)
		SELECT n.id, n.uuid, n.name, 'deploy', 'ended', 'failed', 'no disk', CASE n.name WHEN 'n5' THEN 'refused' ELSE 'credentials_denied' END, 'available',
			n.conductor_group, n.driver, '[]', now() FROM nodes n WHERE n.provision_state <> 'available'`)
	groups := b.Get("/temper/v1/why?group=cause").Is(200)["groups"].([]any)
	require.Len(t, groups, 2)
	first := groups[0].(map[string]any)
	require.EqualValues(t, 3, first["nodes"])
	require.Equal(t, "credentials_denied", first["cause"])
	require.Regexp(t, `^3 nodes have failed: .+[^.]$`, first["sentence"])
	require.Equal(t, []any{"n1", "n2", "n3"}, first["names"])
	var commands []string
	for _, h := range first["help"].([]any) {
		commands = append(commands, h.(map[string]any)["command"].(string))
	}
	require.Equal(t, []string{"temper node why n1", "temper why --nodes --reason failed --cause credentials_denied"}, commands)
	require.Equal(t, "/temper/v1/why?reason=failed&cause=credentials_denied", first["help"].([]any)[1].(map[string]any)["path"])

	page := b.Get("/temper/v1/why?group=cause&limit=1").Is(200)
	require.Equal(t, groups[:1], page["groups"])
	next, err := url.Parse(page["next"].(string))
	require.NoError(t, err)
	require.Equal(t, groups[1:], b.Get(next.RequestURI()).Is(200)["groups"])

	nodes := b.Get("/temper/v1/why?cause=credentials_denied&node=n2&node=n4").Is(200)["nodes"].([]any)
	require.Len(t, nodes, 1)
	one := nodes[0].(map[string]any)
	require.Equal(t, "n2", one["node_name"])
	require.Equal(t, "It has failed: no disk", one["sentence"])
	require.Equal(t, "temper node why n2", one["help"].([]any)[0].(map[string]any)["command"])
	require.Empty(t, b.Get("/temper/v1/why?reason=held").Is(200)["nodes"])

	b.Get("/temper/v1/why?node=nosuch").Fails(404)
	for _, wrong := range []string{"group=state", "marker=1", "marker=9.1", "group=cause&marker=1.2", "frob=1"} {
		b.Get("/temper/v1/why?" + wrong).Fails(400)
	}
}

// Nodes do not say that nothing goes on with any of them, so that the list does, for programs, too.
func TestWhyNamesThePartsThatAreBroken(t *testing.T) {
	t.Parallel()
	away := status.Dependencies{}
	b := apitest.New(t, func(c *api.Config) { c.Ask = func(context.Context) status.Dependencies { return away } }).WithConductors()
	for _, path := range []string{"/temper/v1/why", "/temper/v1/why?group=cause"} {
		away = status.Dependencies{}
		require.NotContains(t, partNames(b.Get(path).Is(200)["broken"]), "temporal")
		away.Temporal = status.Answer{Trouble: status.TemporalAway, Since: time.Now()}
		require.Contains(t, partNames(b.Get(path).Is(200)["broken"]), "temporal")
	}
}

func partNames(parts any) (names []string) {
	for _, p := range parts.([]any) {
		names = append(names, p.(map[string]any)["name"].(string))
	}
	return names
}

// The fleet is advised as the node is: a group of late nodes says what to do about their cause, and has the commands that why of its
// first node has.
func TestAGroupOfLateNodesAdvisesWhatItsNodesDo(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	_, err := b.Store.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleOrchestrator, Name: "o1"}, true)
	require.NoError(t, err)
	for name, wait := range map[string]node.Wait{
		"power": {For: node.WaitPower, Subject: "power off", LateCause: fault.PowerUnchanged},
		"agent": {For: node.WaitCall, Subject: "deploy.iso", LateCause: fault.AgentNeverCalled},
		"bmc":   {For: node.WaitAnswer, Unread: "no answer", LateCause: fault.BMCSilent},
	} {
		uuid := b.In(name, node.Deploying)
		wait.Since = time.Now().Add(-time.Hour)
		until, late := wait.Since.Add(24*time.Hour), wait.Since.Add(time.Minute)
		wait.Until, wait.LateAt = &until, &late
		if wait.Unread != "" {
			wait.UnreadSince = &wait.Since
		}
		written, err := json.Marshal(wait)
		require.NoError(t, err)
		b.SQL(`UPDATE operations SET phase = 'running', error = NULL, cause = NULL, conductor = 'c1', step_wait = $2,
			late_at = ($2::jsonb ->> 'late_at')::timestamptz, late_cause = $2::jsonb ->> 'late_cause', late_cause_at = ($2::jsonb ->> 'late_at')::timestamptz,
			steps = jsonb_set(steps, '{1,started_at}', $2::jsonb -> 'since') WHERE node_uuid = $1`, uuid, written)

		groups := b.Get("/temper/v1/why?group=cause&node=" + name).Is(200)["groups"].([]any)
		require.Len(t, groups, 1, name)
		group := groups[0].(map[string]any)
		require.Equal(t, string(wait.LateCause), group["cause"])
		why := b.Get("/temper/v1/nodes/" + name + "/why").Is(200)
		require.Equal(t, group["cause"], why["cause"], why["text"])
		require.Contains(t, why["text"], ". What to do: "+group["advice"].(string)+". ")
		var commands []any
		for _, h := range group["help"].([]any) {
			commands = append(commands, h.(map[string]any)["command"])
		}
		require.Equal(t, "temper node why "+name, commands[0])
		for _, command := range why["commands"].([]any) {
			if !strings.HasPrefix(command.(string), "temper operation watch ") { // of one operation only
				require.Contains(t, commands, command)
			}
		}
	}
}
