package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/share"
)

// The names of these tests begin with the number of the rule in
// docs/compute-services.md that they hold.

const computeServices = "/temper/v1/compute-services"

// beats is a heartbeat of a compute service, which registers it where that is new.
func (b *bench) beats(host string, body map[string]any) *answer {
	b.t.Helper()
	if body == nil {
		body = map[string]any{}
	}
	return b.put(computeServices+"/"+host, body)
}

// registered is the epoch that a new service finds itself in.
func (b *bench) registered(host string, body map[string]any) int {
	b.t.Helper()
	return whole(b.beats(host, body).is(200)["epoch"])
}

// acknowledges is a heartbeat of a service that shows an epoch.
func (b *bench) acknowledges(host string, incarnation, epoch int, more map[string]any) map[string]any {
	b.t.Helper()
	body := map[string]any{"incarnation": incarnation, "acknowledged_epoch": epoch}
	for k, v := range more {
		body[k] = v
	}
	return b.beats(host, body).is(200)
}

// shareOf are the nodes of a service by name.
func (b *bench) shareOf(host string, query string) map[string]map[string]any {
	b.t.Helper()
	out := map[string]map[string]any{}
	for _, n := range b.get(computeServices + "/" + host + "/nodes" + query).is(200)["nodes"].([]any) {
		one := n.(map[string]any)
		out[one["name"].(string)] = one
	}
	return out
}

// reports are the texts of what is reported.
func (b *bench) reports() []string {
	b.t.Helper()
	out := []string{}
	for _, r := range b.get(computeServices).is(200)["reports"].([]any) {
		out = append(out, r.(map[string]any)["text"].(string))
	}
	return out
}

// offers makes a node that can be offered.
func (b *bench) offers(name, group string) string {
	b.t.Helper()
	id := b.enrolled(name)
	b.sql(`UPDATE nodes SET provision_state = 'available', power_state = 'power off', conductor_group = $2 WHERE uuid = $1`, id, group)
	return id
}

// dies lets the lease of a service end.
func (b *bench) dies(host string) {
	b.t.Helper()
	b.sql(`UPDATE compute_services SET lease_until = clock_timestamp(), quiet_until = NULL WHERE name = lower($1)`, host)
}

// published makes the next epoch, as reconciliation does.
func (b *bench) published() {
	b.t.Helper()
	_, err := b.store.PublishShares(b.t.Context(), 0, share.Decide)
	require.NoError(b.t, err)
}

// claims is a PATCH of instance_uuid in the name of a service; "" = in nobody's.
func (b *bench) claims(service, node, instance string) *answer {
	b.t.Helper()
	h := http.Header{"X-Openstack-Ironic-Api-Version": {"1.95"}}
	if service != "" {
		h["Temper-Compute-Service"] = []string{service}
	}
	return b.with(h, "PATCH", "/v1/nodes/"+node, []op{add("/instance_uuid", instance)})
}

func TestRow01AShareIsAllNodesWithTheirCapacity(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("free", "")
	b.offers("broken", "")
	b.offers("dark", "")
	b.offers("taken", "")
	b.enrolled("new")
	b.sql(`UPDATE nodes SET maintenance = true, fault = 'power failure' WHERE name = 'broken'`)
	b.sql(`UPDATE nodes SET power_state = NULL WHERE name = 'dark'`)
	b.sql(`UPDATE nodes SET provision_state = 'active', instance_uuid = gen_random_uuid() WHERE name = 'taken'`)
	b.sql(`INSERT INTO instances (uuid, node_id, service) SELECT instance_uuid, id, 'a' FROM nodes WHERE name = 'taken'`)
	b.registered("A", nil)
	have := map[string][3]float64{}
	for name, n := range b.shareOf("a", "") {
		have[name] = [3]float64{n["total"].(float64), n["used"].(float64), n["reserved"].(float64)}
	}
	require.Equal(t, map[string][3]float64{
		"free": {1, 0, 0}, "broken": {1, 0, 1}, "dark": {1, 0, 1}, "taken": {1, 1, 0}, "new": {1, 0, 1},
	}, have, "in every provision state")
}

func TestRow02UnsetIsNotTheEmptyKey(t *testing.T) {
	b := newBench(t).withConductors()
	require.Nil(t, b.beats("off", map[string]any{"partition_key": nil}).is(200)["partition_key"])
	require.Equal(t, any(""), b.beats("default", map[string]any{"partition_key": ""}).is(200)["partition_key"])
	require.Equal(t, "x", b.beats("x", map[string]any{"partition_key": "X"}).is(200)["partition_key"], "keys have no case")
	b.beats("y", map[string]any{"partition_key": "not a group"}).fails(400)
}

func TestRow06And07ReportsBeginWithTheFirstService(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "g")
	require.Empty(t, b.reports())
	require.Zero(t, b.get(computeServices).is(200)["epoch"])
	b.published()
	b.registered("a", map[string]any{"partition_key": "h"})
	require.Equal(t, []string{`unserved: no compute service for group "g"`}, b.reports())
}

func TestRow08RegisteringPublishesAnEpochWithTheServiceInIt(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	epoch := b.registered("a", nil)
	require.Positive(t, epoch)
	require.Contains(t, b.shareOf("a", fmt.Sprintf("?epoch=%d", epoch)), "n", "nobody needs to have seen it before")
	require.Greater(t, b.registered("b", nil), epoch)
}

func TestRow09AnInstancesServiceIsFixedAtTheClaim(t *testing.T) {
	b := newBench(t).withConductors()
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		b.offers(name, "")
	}
	b.offers("far", "g")
	b.registered("a", map[string]any{"partition_key": "", "incarnation": 1})
	b.registered("b", map[string]any{"partition_key": "g", "incarnation": 1})
	instance := uuid.NewString()

	require.Contains(t, b.claims("b", "n1", instance).fails(409), "share", "a share that lacks the node")
	require.Nil(t, b.field("n1", "instance_uuid"), "nothing of it is written")
	b.claims("nobody", "n1", instance).fails(409)
	b.claims("A", "n1", instance).is(200)
	b.claims("A", "n1", instance).is(200) // the answer may have been lost
	b.claims("b", "n1", instance).fails(409)
	require.Equal(t, instance, b.field("n1", "instance_uuid"))
	b.claims("a", "n1", uuid.NewString()).fails(409)
	b.claims("", "n1", uuid.NewString()).fails(409) // compare-and-set alone

	nova := func(node, host string) *answer {
		return b.patch("/v1/nodes/"+node, add("/instance_info/nova_host_id", host), add("/instance_uuid", uuid.NewString()))
	}
	nova("n2", "b").fails(409)
	nova("n2", "a").is(200)
	nova("n3", "a-nova-without-temper").is(200)
	b.claims("", "n4", uuid.NewString()).is(200)
	services := map[string]any{}
	for _, i := range b.get("/temper/v1/instances").is(200)["instances"].([]any) {
		services[b.field(i.(map[string]any)["node_uuid"].(string), "name").(string)] = i.(map[string]any)["service"]
	}
	require.Equal(t, map[string]any{"n1": "a", "n2": "a", "n3": "a-nova-without-temper"}, services, "and none without one")
	b.dies("b")
	b.claims("b", "far", uuid.NewString()).fails(409)
}

func TestRow10To13InstancesStayWithTheirService(t *testing.T) {
	b := newBench(t).withConductors()
	first, second := b.offers("n1", ""), b.offers("n2", "")
	b.registered("a", map[string]any{"incarnation": 1})
	b.claims("a", "n1", uuid.NewString()).is(200)
	b.claims("", "n2", uuid.NewString()).is(200)
	b.published()
	require.Equal(t, []string{"n1"}, keysOf(b.shareOf("a", "")))
	require.Contains(t, b.reports(), "instance without service")
	b.acknowledges("a", 1, whole(b.get(computeServices).is(200)["epoch"]), nil)

	b.registered("b", map[string]any{"incarnation": 1})
	move := func(from any, more map[string]any) *answer {
		body := map[string]any{"from": from, "to": "b"}
		for k, v := range more {
			body[k] = v
		}
		return b.post(computeServices+"/move", body)
	}
	require.Contains(t, move("a", nil).fails(409), "live")
	move("b", map[string]any{"to": "nobody"}).fails(404)
	require.Contains(t, move(nil, map[string]any{"node": "nope"}).fails(404), "Node nope could not be found")
	require.Contains(t, move("B", nil).fails(400), "one and the same")
	require.Equal(t, 1, whole(move(nil, map[string]any{"node": second}).is(200)["moved"]))
	require.Equal(t, []string{"n2"}, keysOf(b.shareOf("b", "")), "in the epoch that is answered")

	b.dies("a")
	b.published()
	require.Equal(t, []string{"n1"}, keysOf(b.shareOf("a", "")))
	require.Regexp(t, "unmanaged since 20", b.reports()[0])
	b.registered("a", map[string]any{"incarnation": 2})
	require.Equal(t, []string{"n1"}, keysOf(b.shareOf("a", "")), "back under the same host")
	require.Empty(t, b.reports())

	b.dies("a")
	b.dies("b")
	require.Contains(t, move("a", nil).fails(409), "b is dead")
	b.registered("b", map[string]any{"incarnation": 1})
	require.Equal(t, 1, whole(move("a", map[string]any{"node": first}).is(200)["moved"]))
	require.ElementsMatch(t, []string{"n1", "n2"}, keysOf(b.shareOf("b", "")))
	b.delete(computeServices + "/b").fails(409)
	b.delete(computeServices + "/a").is(204)
	b.delete(computeServices + "/a").fails(404)
}

func TestRow14TheNewerIncarnationHoldsTheName(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	b.registered("a", map[string]any{"incarnation": 1})
	v := b.acknowledges("a", 2, 0, nil)
	require.Equal(t, true, v["quiet"], "the one before may publish until its lease is over")
	require.Contains(t, b.beats("A", map[string]any{"incarnation": 1}).fails(409), "started again")
	b.sql(`UPDATE compute_services SET quiet_until = clock_timestamp()`)
	require.Equal(t, false, b.acknowledges("a", 2, 0, nil)["quiet"])
	b.dies("a")
	require.Equal(t, false, b.acknowledges("a", 3, 0, nil)["quiet"], "one that is dead publishes nothing")
	require.Contains(t, b.beats("a", map[string]any{"incarnation": 3, "acknowledged_epoch": 1000}).fails(409), "epoch")
}

func TestRow14AServiceWhoseLeaseHasEndedOffersNothing(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	b.registered("a", nil)
	b.dies("a")
	require.Equal(t, 1, whole(b.shareOf("a", "")["n"]["reserved"]))
	b.claims("a", "n", uuid.NewString()).fails(409)
}

func TestRow16WhatAListSaysInVainIsTold(t *testing.T) {
	b := newBench(t).withConductors()
	body := b.beats("a", map[string]any{"partition_key": "g", "peer_list": " A, nobody ,"}).is(200)
	require.Equal(t, "a,nobody", body["peer_list"])
	require.Equal(t, []any{"nobody in peer_list is not registered"}, body["warnings"])
	require.Contains(t, b.reports(), "peer ignored: nobody in peer_list is not registered")
	require.Nil(t, b.beats("a", map[string]any{"partition_key": "g", "peer_list": ""}).is(200)["peer_list"], "empty is unset")
	require.Equal(t, "b", b.beats("a", map[string]any{"peer_list": []string{"B"}}).is(200)["peer_list"])
	b.beats("a", map[string]any{"peer_list": "not a host"}).fails(400)
}

func TestRow20ANodeInMaintenanceStaysForThoseWhoKnow(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	b.registered("a", nil)
	b.sql(`UPDATE nodes SET maintenance = true`)
	n := b.shareOf("a", "")["n"]
	require.Equal(t, []any{"CUSTOM_MAINTENANCE"}, n["requires"])
	require.Equal(t, 1, whole(n["reserved"]), "reserved to those who do not know requires")
	require.Zero(t, b.shareOf("a", "?knows=requires")["n"]["reserved"])
	require.Contains(t, b.claims("a", "n", uuid.NewString()).fails(409), "it is in maintenance")
	b.claims("a", "n?knows=requires", uuid.NewString()).is(200)
}

func TestRow01WhatIsReservedIsNotClaimed(t *testing.T) {
	b := newBench(t).withConductors()
	b.registered("a", nil)
	for why, how := range map[string]string{
		"quarantined":                 `conductor_group = 'nowhere'`,
		"deploy failed":               `provision_state = 'deploy failed'`,
		"with a fault":                `maintenance = true, fault = 'power failure'`,
		"retired":                     `retired = true`,
		"with an unknown power state": `power_state = NULL`,
	} {
		name := strings.ReplaceAll(why, " ", "-")
		b.offers(name, "")
		b.sql(`UPDATE nodes SET `+how+` WHERE name = $1`, name)
		b.published()
		require.Equal(t, 1, whole(b.shareOf("a", "?knows=requires")[name]["reserved"]), name)
		require.Contains(t, b.claims("a", name+"?knows=requires", uuid.NewString()).fails(409), "can not be claimed: it is "+why)
		require.Nil(t, b.field(name, "instance_uuid"))
	}
	b.claims("", "deploy-failed", uuid.NewString()).is(200) // in nobody's name it is Ironic's PATCH
}

func TestRow07WithTheLastServiceForgottenSharesAreOff(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "g")
	b.registered("a", map[string]any{"partition_key": "h"})
	require.NotEmpty(t, b.reports())
	b.dies("a")
	require.NotEmpty(t, b.reports(), "one that is dead is registered")
	b.delete(computeServices + "/a").is(204)
	require.Empty(t, b.reports())
}

func TestRow21KeyAndListChangeInOneEpoch(t *testing.T) {
	b := newBench(t).withConductors()
	epoch := b.registered("a", map[string]any{"incarnation": 1, "partition_key": "g"})
	v := b.acknowledges("a", 1, epoch, map[string]any{"partition_key": "h", "peer_list": "a,b"})
	require.Equal(t, epoch+1, whole(v["epoch"]))
	require.Equal(t, epoch, whole(v["acknowledged_epoch"]), "it is the same process")
	v = b.acknowledges("a", 1, epoch+1, map[string]any{"partition_key": "h", "peer_list": "a,b", "settings_error": "partition_key: no"})
	require.Equal(t, epoch+1, whole(v["epoch"]), "an error is no change")
	require.Contains(t, b.reports(), "settings not taken: partition_key: no")
}

func TestRow22ANodeEntersWhenTheOldServiceHasAcknowledged(t *testing.T) {
	b := newBench(t).withConductors()
	for i := range 8 {
		b.offers(fmt.Sprintf("n%d", i), "")
	}
	old := b.registered("a", map[string]any{"incarnation": 1})
	b.acknowledges("a", 1, old, nil)
	epoch := b.registered("b", map[string]any{"incarnation": 1})
	rest := b.shareOf("a", "")
	require.Less(t, len(rest), 8, "they have left")
	require.Empty(t, b.shareOf("b", ""), "and entered nowhere")
	require.Contains(t, b.get(fmt.Sprintf("%s/a/nodes?epoch=%d", computeServices, old)).fails(409), "is over")
	b.published()
	require.Empty(t, b.shareOf("b", ""), "however often it is computed")
	b.sql(`UPDATE share_epoch SET published_at = published_at - interval '2 seconds'`)
	require.Greater(t, b.acknowledges("a", 1, epoch, nil)["epoch"], float64(epoch))
	require.Len(t, b.shareOf("b", ""), 8-len(rest))
	require.Len(t, b.shareOf("a", ""), len(rest))
}

func TestRow22AServiceThatStopsGivesItsNodesAtOnce(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	b.registered("a", map[string]any{"incarnation": 1})
	b.registered("b", map[string]any{"incarnation": 1, "partition_key": "g"})
	b.registered("c", map[string]any{"incarnation": 1, "partition_key": "", "peer_list": "c"})
	b.beats("a", map[string]any{"incarnation": 1, "stopping": true}).is(204)
	require.Contains(t, b.shareOf("c", ""), "n")
}

func TestSharesArePaged(t *testing.T) {
	b := newBench(t).withConductors()
	for i := range 5 {
		b.offers(fmt.Sprintf("n%d", i), "")
	}
	b.registered("a", nil)
	var names []string
	for at := computeServices + "/a/nodes?limit=2"; at != ""; {
		body := b.get(at).is(200)
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
	b.get(computeServices + "/nobody/nodes").fails(404)
}

func TestAWhatIfTouchesNothing(t *testing.T) {
	b := newBench(t).withConductors()
	for i := range 4 {
		b.offers(fmt.Sprintf("n%d", i), "g")
	}
	epoch := b.registered("a", map[string]any{"incarnation": 1})
	b.acknowledges("a", 1, epoch, nil)
	body := b.get(computeServices + "/what-if?service=b&partition_key=G").is(200)
	require.Equal(t, []any{map[string]any{"from": "a", "to": "b", "nodes": float64(4)}}, body["moves"])
	require.Equal(t, []any{
		map[string]any{"partition_key": nil, "before": []any{"a"}, "after": []any{"a"}},
		map[string]any{"partition_key": "g", "before": []any{}, "after": []any{"b"}},
	}, body["members"])
	require.Len(t, b.shareOf("a", fmt.Sprintf("?epoch=%d", epoch)), 4)
	body = b.get(computeServices + "/what-if?service=a&gone=true").is(200)
	require.Equal(t, []any{map[string]any{"from": "a", "to": nil, "nodes": float64(4)}}, body["moves"])
	b.get(computeServices + "/what-if").fails(400)
	b.get(computeServices + "/what-if?service=a&partition_key=a%20b").fails(400)
}

func TestAnInstanceThatIsGoneIsReportedAtOnce(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	b.registered("a", map[string]any{"incarnation": 1})
	instance := uuid.NewString()
	b.claims("a", "n", instance).is(200)
	b.published()
	b.delete("/temper/v1/instances/" + uuid.NewString()).fails(404)
	b.delete("/temper/v1/instances/x").fails(400)
	b.delete("/temper/v1/instances/" + instance).is(204)
	b.delete("/temper/v1/instances/" + instance).is(204)
	require.Equal(t, []string{"orphaned: the instance is gone, the node still carries it"}, b.reports())
	n := b.shareOf("a", "")["n"]
	require.Equal(t, []any{float64(1), true}, []any{n["used"], n["instance_gone"]}, "in no share as free")
	b.acknowledges("a", 1, 0, map[string]any{"gone_instances": []string{instance}})
	all := b.get("/temper/v1/instances?wanted=absent").is(200)["instances"].([]any)
	require.Len(t, all, 1)
	require.NotNil(t, all[0].(map[string]any)["confirmed_at"])
	require.Equal(t, true, all[0].(map[string]any)["orphaned"])
}

func whole(v any) int { return int(v.(float64)) }

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// The change itself is committed, so it is answered as done. Reconciliation publishes it.
func TestAChangeThatCannotBePublishedIsDone(t *testing.T) {
	b := newBench(t).withConductors()
	b.offers("n", "")
	b.registered("a", map[string]any{"incarnation": 1})
	b.registered("b", map[string]any{"incarnation": 1})
	instance := uuid.NewString()
	b.claims("a", "n", instance).is(200)
	b.dies("a")
	b.sql(`ALTER TABLE share_epoch ADD CONSTRAINT broken CHECK (epoch <= ` + b.text(`SELECT epoch::text FROM share_epoch`) + `)`)
	moved := b.post(computeServices+"/move", map[string]any{"from": "a", "to": "b"}).is(200)
	require.Equal(t, map[string]any{"moved": 1.0, "epoch": 0.0}, moved)
	b.delete(computeServices + "/a").is(204)
	b.beats("b", map[string]any{"incarnation": 1, "stopping": true}).is(204)
	b.sql(`ALTER TABLE share_epoch DROP CONSTRAINT broken`)
	b.published()
	require.Equal(t, "b", b.text(`SELECT service FROM instances WHERE uuid = '`+instance+`'`))
}
