package temper_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestThePowerOfNodesIsWhatIsWantedWhatWasSeenAndWhen(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	never, known, gone := b.In("n1", node.Available), b.In("n2", node.Active), b.In("n3", node.Available)
	b.SQL(`UPDATE nodes SET power_state = NULL, power_read_at = NULL`)
	b.SQL(`UPDATE nodes SET power_state = 'power on', power_read_at = now() - interval '250 seconds', target_power_state = 'soft power off' WHERE name = 'n2'`)
	b.SQL(`UPDATE nodes SET power_read_at = now() - interval '3 hours 5 minutes' WHERE name = 'n3'`)
	power := func(uuids ...string) map[string]map[string]any {
		out := map[string]map[string]any{}
		for _, n := range b.Get("/temper/v1/nodes/power?node=" + strings.Join(uuids, "&node=")).Is(200)["nodes"].([]any) {
			n := n.(map[string]any)
			out[n["name"].(string)] = n["power"].(map[string]any)
		}
		return out
	}
	all := power(never, known, gone, "99999999-9999-9999-9999-999999999999")
	require.Len(t, all, 3, "what does not exist is left out")
	require.Equal(t, map[string]any{"wanted": nil, "seen": nil, "seen_at": nil, "text": "unknown, never read", "short": "unknown"}, all["n1"])
	require.Equal(t, "power on", all["n2"]["seen"])
	require.Equal(t, "power off", all["n2"]["wanted"])
	require.Equal(t, "power on, read 4m ago; wanted: power off", all["n2"]["text"])
	require.Equal(t, "on 4m, wanted off", all["n2"]["short"])
	require.Nil(t, all["n3"]["seen"], "unknown is never off")
	require.Equal(t, "unknown, last read 3h ago", all["n3"]["text"])
	require.Equal(t, all["n2"]["text"], b.Get("/temper/v1/nodes/n2/why").Is(200)["power"].(map[string]any)["text"])
}

func TestAPowerStateThatIsReadAgainIsAsYoungAsItsLastReading(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Available)
	b.SQL(`UPDATE nodes SET power_state = 'power on', power_read_at = now() - interval '5 hours 5 minutes'`)
	n, err := b.Store.Node(t.Context(), uuid)
	require.NoError(t, err)
	told := func() string {
		return b.Get("/temper/v1/nodes/n1/why").Is(200)["power"].(map[string]any)["text"].(string)
	}
	require.Equal(t, "power on, read 5h ago", told())
	at := time.Now().Add(-125 * time.Minute).UTC().Truncate(time.Second)
	require.NoError(t, b.Store.RecordPowerReadAgain(t.Context(), []node.PowerReadAgain{{ID: n.ID, State: node.PowerOn, At: at}}))
	require.Equal(t, "power on, read 2h ago", told())
	require.Equal(t, told(), b.Get("/temper/v1/nodes/power?node=" + uuid).Is(200)["nodes"].([]any)[0].(map[string]any)["power"].(map[string]any)["text"])
	shown, err := time.Parse(time.RFC3339, b.Field("n1", "driver_internal_info").(map[string]any)["temper_power_read_at"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, at, shown, time.Minute)
}

// Ironic's reservation of a node is null while its operation waits for a person. The list of powers says what holds it.
func TestThePowerOfNodesComesWithTheOperationThatHoldsThem(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	free, held := b.In("n1", node.Available), b.In("n2", node.DeployHold)
	nodes := b.Get("/temper/v1/nodes/power?node=" + free + "&node=" + held).Is(200)["nodes"].([]any)
	require.Nil(t, nodes[0].(map[string]any)["operation"])
	require.Nil(t, b.Field("n2", "reservation"))
	o := nodes[1].(map[string]any)["operation"].(map[string]any)
	require.Equal(t, "deploy", o["kind"])
	require.Equal(t, b.Get("/temper/v1/operations/" + o["id"].(string)).Is(200)["state"], o["state"])
}

func TestThePowerOfNodesRefusesWhatNamesNoNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	known, never := b.In("n1", node.Available), b.In("n2", node.Available)
	b.Get("/temper/v1/nodes/power").Is(400)
	b.Get("/temper/v1/nodes/power?node=n1").Is(400)
	b.Get("/temper/v1/nodes/power?node=" + never + strings.Repeat("&node="+known, 100)).Is(400)
}

func TestWhatARunningStepWaitsForIsShownByTheOperationAndByWhy(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Deploying)
	b.Operations.Run = node.RunStatus{Known: true, Open: true}
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	o := n.Operation
	claim := node.Claim{Seq: 1, Attempt: 1}
	_, err = b.Store.Claim(t.Context(), o.ID, "run", claim, time.Time{}, "c1")
	require.NoError(t, err)
	now := time.Now().UTC().Truncate(time.Second)
	since, until, seen := now.Add(-40*time.Second), now.Add(20*time.Second), now.Add(-2*time.Second)
	steps := o.Steps
	steps[1].StartedAt = &since
	_, err = b.Store.SaveSteps(t.Context(), o.ID, claim, node.Progress{Steps: steps, Phase: node.Running})
	require.NoError(t, err)
	path := fmt.Sprintf("/temper/v1/operations/%d", o.ID)
	require.Nil(t, b.Get(path).Is(200)["step_wait"])
	why := b.Get("/temper/v1/nodes/n1/why").Is(200)
	require.Contains(t, why["sentence"], "step "+steps[1].Name()+" runs since ")
	require.Equal(t, since.Format("2006-01-02T15:04:05+00:00"), why["since"])

	fraction := 0.61
	_, err = b.Store.TellWait(t.Context(), o, claim, &node.Wait{
		For: node.WaitPower, Subject: "power off", Since: since, Until: &until, Every: 2 * time.Second, Seen: "On", SeenAt: &seen, Power: node.PowerOn,
		Fraction: &fraction, Rate: 48e6, Speed: 0.01,
	})
	require.NoError(t, err)
	want := map[string]any{"what": "On", "at": seen.Format("2006-01-02T15:04:05+00:00")}
	step := b.Get(path).Is(200)["step_wait"].(map[string]any)
	require.Equal(t, "power", step["for"])
	require.Equal(t, "power off", step["subject"])
	require.Equal(t, want, step["seen"])
	require.Equal(t, until.Format("2006-01-02T15:04:05+00:00"), step["until"])
	require.InDelta(t, 48e6, step["progress"].(map[string]any)["rate"], 1)
	require.Equal(t, seen.Add(39*time.Second).Format("2006-01-02T15:04:05+00:00"), step["progress"].(map[string]any)["ends_at"])
	why = b.Get("/temper/v1/nodes/n1/why").Is(200)
	require.Equal(t, "step "+steps[1].Name()+": "+step["sentence"].(string)+"; the last attempt failed: agent busy", why["sentence"])
	require.Equal(t, step["since"], why["since"])
	require.Equal(t, step["until"], why["until"])
	require.Equal(t, step["seen"], why["seen"])
	require.Contains(t, why["text"], "; the BMC still says On; looked at again every 2s; gives up at ")
	power := why["power"].(map[string]any)
	require.Equal(t, "power off", power["wanted"])
	require.Equal(t, "power on", power["seen"])
	require.Equal(t, want["at"], power["seen_at"])
}
