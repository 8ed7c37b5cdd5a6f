package temper_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestRow01AShareIsAllNodesWithTheirCapacity(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "free", "")
	offeredNode(b, "broken", "")
	offeredNode(b, "dark", "")
	offeredNode(b, "taken", "")
	b.Enrolled("new")
	b.SQL(`UPDATE nodes SET maintenance = true, fault = 'power failure' WHERE name = 'broken'`)
	b.SQL(`UPDATE nodes SET power_state = NULL WHERE name = 'dark'`)
	b.SQL(`UPDATE nodes SET provision_state = 'active', instance_uuid = gen_random_uuid() WHERE name = 'taken'`)
	b.SQL(`INSERT INTO instances (uuid, node_id, service) SELECT instance_uuid, id, 'a' FROM nodes WHERE name = 'taken'`)
	register(b, "A", nil)
	have := map[string][3]float64{}
	for name, n := range shareOf(b, "a", "") {
		have[name] = [3]float64{n["total"].(float64), n["used"].(float64), n["reserved"].(float64)}
	}
	require.Equal(t, map[string][3]float64{
		"free": {1, 0, 0}, "broken": {1, 0, 1}, "dark": {1, 0, 1}, "taken": {1, 1, 0}, "new": {1, 0, 1},
	}, have, "in every provision state")
}

func TestRow14AServiceWhoseLeaseHasEndedOffersNothing(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	register(b, "a", nil)
	endLease(b, "a")
	require.Equal(t, 1, whole(shareOf(b, "a", "")["n"]["reserved"]))
	claim(b, "a", "n", uuid.NewString()).Fails(409)
}

func TestRow20ANodeInMaintenanceStaysForThoseWhoKnow(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	register(b, "a", nil)
	b.SQL(`UPDATE nodes SET maintenance = true`)
	n := shareOf(b, "a", "")["n"]
	require.Equal(t, []any{"CUSTOM_MAINTENANCE"}, n["requires"])
	require.Equal(t, 1, whole(n["reserved"]), "reserved to those who do not know requires")
	require.Zero(t, shareOf(b, "a", "?knows=requires")["n"]["reserved"])
	require.Contains(t, claim(b, "a", "n", uuid.NewString()).Fails(409), "it is in maintenance")
	claim(b, "a", "n?knows=requires", uuid.NewString()).Is(200)
}

func TestRow01WhatIsReservedIsNotClaimed(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	register(b, "a", nil)
	for why, how := range map[string]string{
		"quarantined":                 `conductor_group = 'nowhere'`,
		"deploy failed":               `provision_state = 'deploy failed'`,
		"with a fault":                `maintenance = true, fault = 'power failure'`,
		"retired":                     `retired = true`,
		"with an unknown power state": `power_state = NULL`,
	} {
		name := strings.ReplaceAll(why, " ", "-")
		offeredNode(b, name, "")
		b.SQL(`UPDATE nodes SET `+how+` WHERE name = $1`, name)
		publishShares(b)
		require.Equal(t, 1, whole(shareOf(b, "a", "?knows=requires")[name]["reserved"]), name)
		require.Contains(t, claim(b, "a", name+"?knows=requires", uuid.NewString()).Fails(409), "can not be claimed: it is "+why)
		require.Nil(t, b.Field(name, "instance_uuid"))
	}
	claim(b, "", "deploy-failed", uuid.NewString()).Is(200) // without a service it is Ironic's PATCH
}

func TestRow22ANodeEntersWhenTheOldServiceHasAcknowledged(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 8 {
		offeredNode(b, fmt.Sprintf("n%d", i), "")
	}
	old := register(b, "a", map[string]any{"incarnation": 1})
	acknowledge(b, "a", 1, old, nil)
	epoch := register(b, "b", map[string]any{"incarnation": 1})
	rest := shareOf(b, "a", "")
	require.Less(t, len(rest), 8, "they have left")
	require.Empty(t, shareOf(b, "b", ""), "and entered nowhere")
	require.Contains(t, b.Get(fmt.Sprintf("%s/a/nodes?epoch=%d", computeServices, old)).Fails(409), "is over")
	publishShares(b)
	require.Empty(t, shareOf(b, "b", ""), "however often it is computed")
	b.SQL(`UPDATE share_epoch SET published_at = published_at - interval '2 seconds'`)
	require.Greater(t, acknowledge(b, "a", 1, epoch, nil)["epoch"], float64(epoch))
	require.Len(t, shareOf(b, "b", ""), 8-len(rest))
	require.Len(t, shareOf(b, "a", ""), len(rest))
}

func TestRow22AServiceThatStopsGivesItsNodesAtOnce(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	register(b, "a", map[string]any{"incarnation": 1})
	register(b, "b", map[string]any{"incarnation": 1, "partition_key": "g"})
	register(b, "c", map[string]any{"incarnation": 1, "partition_key": "", "peer_list": "c"})
	heartbeat(b, "a", map[string]any{"incarnation": 1, "stopping": true}).Is(204)
	require.Contains(t, shareOf(b, "c", ""), "n")
}

func TestSharesArePaged(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 5 {
		offeredNode(b, fmt.Sprintf("n%d", i), "")
	}
	register(b, "a", nil)
	var names []string
	for at := computeServices + "/a/nodes?limit=2"; at != ""; {
		body := b.Get(at).Is(200)
		for _, n := range body["nodes"].([]any) {
			names = append(names, n.(map[string]any)["name"].(string))
		}
		at = ""
		if next, ok := body["next"].(string); ok {
			u, err := url.Parse(next)
			require.NoError(t, err)
			at = u.RequestURI()
		}
	}
	require.Equal(t, []string{"n0", "n1", "n2", "n3", "n4"}, names)
	b.Get(computeServices + "/nobody/nodes").Fails(404)
}
