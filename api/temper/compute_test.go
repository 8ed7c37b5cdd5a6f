package temper_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/share"
)

// The name of each test begins with the number of the rule in
// docs/compute-services.md that it tests.

const computeServices = "/temper/v1/compute-services"

// heartbeat sends a heartbeat of a compute service, which registers a new one.
func heartbeat(b *apitest.Bench, host string, body map[string]any) *apitest.Answer {
	b.T.Helper()
	if body == nil {
		body = map[string]any{}
	}
	return b.Put(computeServices+"/"+host, body)
}

// register registers a service and returns the epoch that it is in.
func register(b *apitest.Bench, host string, body map[string]any) int {
	b.T.Helper()
	return whole(heartbeat(b, host, body).Is(200)["epoch"])
}

// acknowledge sends the heartbeat of a service that has seen an epoch, and returns the answer.
func acknowledge(b *apitest.Bench, host string, incarnation, epoch int, more map[string]any) map[string]any {
	b.T.Helper()
	body := map[string]any{"incarnation": incarnation, "acknowledged_epoch": epoch}
	for k, v := range more {
		body[k] = v
	}
	return heartbeat(b, host, body).Is(200)
}

// shareOf returns the nodes of a service by name.
func shareOf(b *apitest.Bench, host string, query string) map[string]map[string]any {
	b.T.Helper()
	out := map[string]map[string]any{}
	for _, n := range b.Get(computeServices + "/" + host + "/nodes" + query).Is(200)["nodes"].([]any) {
		one := n.(map[string]any)
		out[one["name"].(string)] = one
	}
	return out
}

// reports returns the texts of all reports.
func reports(b *apitest.Bench) []string {
	b.T.Helper()
	out := []string{}
	for _, r := range b.Get(computeServices).Is(200)["reports"].([]any) {
		out = append(out, r.(map[string]any)["text"].(string))
	}
	return out
}

// offeredNode makes a node that services can offer, and returns its uuid.
func offeredNode(b *apitest.Bench, name, group string) string {
	b.T.Helper()
	id := b.Enrolled(name)
	b.SQL(`UPDATE nodes SET provision_state = 'available', power_state = 'power off', conductor_group = $2 WHERE uuid = $1`, id, group)
	return id
}

// endLease ends the lease of a service.
func endLease(b *apitest.Bench, host string) {
	b.T.Helper()
	b.SQL(`UPDATE compute_services SET lease_until = clock_timestamp(), quiet_until = NULL WHERE name = lower($1)`, host)
}

// publishShares computes and publishes the next epoch, as reconciliation does.
func publishShares(b *apitest.Bench) {
	b.T.Helper()
	_, err := b.Store.PublishShares(b.T.Context(), 0, share.Decide)
	require.NoError(b.T, err)
}

// claim sends a PATCH of instance_uuid in the name of a service; "" = of none.
func claim(b *apitest.Bench, service, node, instance string) *apitest.Answer {
	b.T.Helper()
	h := http.Header{"X-Openstack-Ironic-Api-Version": {"1.114"}}
	if service != "" {
		h["Temper-Compute-Service"] = []string{service}
	}
	return b.With(h, "PATCH", "/v1/nodes/"+node, []apitest.Op{apitest.Add("/instance_uuid", instance)})
}

func TestRow02UnsetIsNotTheEmptyKey(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	require.Nil(t, heartbeat(b, "off", map[string]any{"partition_key": nil}).Is(200)["partition_key"])
	require.Equal(t, any(""), heartbeat(b, "default", map[string]any{"partition_key": ""}).Is(200)["partition_key"])
	require.Equal(t, "x", heartbeat(b, "x", map[string]any{"partition_key": "X"}).Is(200)["partition_key"], "keys have no case")
	heartbeat(b, "y", map[string]any{"partition_key": "not a group"}).Fails(400)
}

func TestRow06And07ReportsBeginWithTheFirstService(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "g")
	require.Empty(t, reports(b))
	require.Zero(t, b.Get(computeServices).Is(200)["epoch"])
	publishShares(b)
	register(b, "a", map[string]any{"partition_key": "h"})
	require.Equal(t, []string{`unserved: no compute service for group "g"`}, reports(b))
}

func TestRow08RegisteringPublishesAnEpochWithTheServiceInIt(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	epoch := register(b, "a", nil)
	require.Positive(t, epoch)
	require.Contains(t, shareOf(b, "a", fmt.Sprintf("?epoch=%d", epoch)), "n", "nobody needs to have seen it before")
	require.Greater(t, register(b, "b", nil), epoch)
}

func TestRow10To13InstancesStayWithTheirService(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	first, second := offeredNode(b, "n1", ""), offeredNode(b, "n2", "")
	register(b, "a", map[string]any{"incarnation": 1})
	claim(b, "a", "n1", uuid.NewString()).Is(200)
	claim(b, "", "n2", uuid.NewString()).Is(200)
	publishShares(b)
	require.Equal(t, []string{"n1"}, keysOf(shareOf(b, "a", "")))
	require.Contains(t, reports(b), "instance without service")
	acknowledge(b, "a", 1, whole(b.Get(computeServices).Is(200)["epoch"]), nil)

	register(b, "b", map[string]any{"incarnation": 1})
	move := func(from any, more map[string]any) *apitest.Answer {
		body := map[string]any{"from": from, "to": "b"}
		for k, v := range more {
			body[k] = v
		}
		return b.Post(computeServices+"/move", body)
	}
	require.Contains(t, move("a", nil).Fails(409), "live")
	move("b", map[string]any{"to": "nobody"}).Fails(404)
	require.Contains(t, move(nil, map[string]any{"node": "nope"}).Fails(404), "Node nope could not be found")
	require.Contains(t, move("B", nil).Fails(400), "one and the same")
	require.Equal(t, 1, whole(move(nil, map[string]any{"node": second}).Is(200)["moved"]))
	require.Equal(t, []string{"n2"}, keysOf(shareOf(b, "b", "")), "in the epoch that is answered")

	endLease(b, "a")
	publishShares(b)
	require.Equal(t, []string{"n1"}, keysOf(shareOf(b, "a", "")))
	require.Regexp(t, "unmanaged since 20", reports(b)[0])
	register(b, "a", map[string]any{"incarnation": 2})
	require.Equal(t, []string{"n1"}, keysOf(shareOf(b, "a", "")), "back under the same host")
	require.Empty(t, reports(b))

	endLease(b, "a")
	endLease(b, "b")
	require.Contains(t, move("a", nil).Fails(409), "b is dead")
	register(b, "b", map[string]any{"incarnation": 1})
	require.Equal(t, 1, whole(move("a", map[string]any{"node": first}).Is(200)["moved"]))
	require.ElementsMatch(t, []string{"n1", "n2"}, keysOf(shareOf(b, "b", "")))
	b.Delete(computeServices + "/b").Fails(409)
	b.Delete(computeServices + "/a").Is(204)
	b.Delete(computeServices + "/a").Fails(404)
}

func TestRow14TheNewerIncarnationHoldsTheName(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	register(b, "a", map[string]any{"incarnation": 1})
	v := acknowledge(b, "a", 2, 0, nil)
	require.Equal(t, true, v["quiet"], "the one before may publish until its lease is over")
	require.Contains(t, heartbeat(b, "A", map[string]any{"incarnation": 1}).Fails(409), "started again")
	b.SQL(`UPDATE compute_services SET quiet_until = clock_timestamp()`)
	require.Equal(t, false, acknowledge(b, "a", 2, 0, nil)["quiet"])
	endLease(b, "a")
	require.Equal(t, false, acknowledge(b, "a", 3, 0, nil)["quiet"], "one that is dead publishes nothing")
	require.Contains(t, heartbeat(b, "a", map[string]any{"incarnation": 3, "acknowledged_epoch": 1000}).Fails(409), "epoch")
}

func TestRow16WhatAListSaysInVainIsTold(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	body := heartbeat(b, "a", map[string]any{"partition_key": "g", "peer_list": " A, nobody ,"}).Is(200)
	require.Equal(t, "a,nobody", body["peer_list"])
	require.Equal(t, []any{"nobody in peer_list is not registered"}, body["warnings"])
	require.Contains(t, reports(b), "peer ignored: nobody in peer_list is not registered")
	require.Nil(t, heartbeat(b, "a", map[string]any{"partition_key": "g", "peer_list": ""}).Is(200)["peer_list"], "empty is unset")
	require.Equal(t, "b", heartbeat(b, "a", map[string]any{"peer_list": []string{"B"}}).Is(200)["peer_list"])
	heartbeat(b, "a", map[string]any{"peer_list": "not a host"}).Fails(400)
}

func TestRow07WithTheLastServiceForgottenSharesAreOff(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "g")
	register(b, "a", map[string]any{"partition_key": "h"})
	require.NotEmpty(t, reports(b))
	endLease(b, "a")
	require.NotEmpty(t, reports(b), "one that is dead is registered")
	b.Delete(computeServices + "/a").Is(204)
	require.Empty(t, reports(b))
}

func TestRow21KeyAndListChangeInOneEpoch(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	epoch := register(b, "a", map[string]any{"incarnation": 1, "partition_key": "g"})
	v := acknowledge(b, "a", 1, epoch, map[string]any{"partition_key": "h", "peer_list": "a,b"})
	require.Equal(t, epoch+1, whole(v["epoch"]))
	require.Equal(t, epoch, whole(v["acknowledged_epoch"]), "it is the same process")
	v = acknowledge(b, "a", 1, epoch+1, map[string]any{"partition_key": "h", "peer_list": "a,b", "settings_error": "partition_key: no"})
	require.Equal(t, epoch+1, whole(v["epoch"]), "an error is no change")
	require.Contains(t, reports(b), "settings not taken: partition_key: no")
}

func TestAWhatIfTouchesNothing(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for i := range 4 {
		offeredNode(b, fmt.Sprintf("n%d", i), "g")
	}
	epoch := register(b, "a", map[string]any{"incarnation": 1})
	acknowledge(b, "a", 1, epoch, nil)
	body := b.Get(computeServices + "/what-if?service=b&partition_key=G").Is(200)
	require.Equal(t, []any{map[string]any{"from": "a", "to": "b", "nodes": float64(4)}}, body["moves"])
	require.Equal(t, []any{
		map[string]any{"partition_key": nil, "before": []any{"a"}, "after": []any{"a"}},
		map[string]any{"partition_key": "g", "before": []any{}, "after": []any{"b"}},
	}, body["members"])
	require.Len(t, shareOf(b, "a", fmt.Sprintf("?epoch=%d", epoch)), 4)
	body = b.Get(computeServices + "/what-if?service=a&gone=true").Is(200)
	require.Equal(t, []any{map[string]any{"from": "a", "to": nil, "nodes": float64(4)}}, body["moves"])
	b.Get(computeServices + "/what-if").Fails(400)
	b.Get(computeServices + "/what-if?service=a&partition_key=a%20b").Fails(400)
}

func whole(v any) int { return int(v.(float64)) }

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// The change is committed, so the answer is a success. Reconciliation publishes it later.
func TestAChangeThatCannotBePublishedIsDone(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	offeredNode(b, "n", "")
	register(b, "a", map[string]any{"incarnation": 1})
	register(b, "b", map[string]any{"incarnation": 1})
	instance := uuid.NewString()
	claim(b, "a", "n", instance).Is(200)
	endLease(b, "a")
	b.SQL(`ALTER TABLE share_epoch ADD CONSTRAINT broken CHECK (epoch <= ` + b.Text(`SELECT epoch::text FROM share_epoch`) + `)`)
	moved := b.Post(computeServices+"/move", map[string]any{"from": "a", "to": "b"}).Is(200)
	require.Equal(t, map[string]any{"moved": 1.0, "epoch": 0.0}, moved)
	b.Delete(computeServices + "/a").Is(204)
	heartbeat(b, "b", map[string]any{"incarnation": 1, "stopping": true}).Is(204)
	b.SQL(`ALTER TABLE share_epoch DROP CONSTRAINT broken`)
	publishShares(b)
	require.Equal(t, "b", b.Text(`SELECT service FROM instances WHERE uuid = '`+instance+`'`))
}

// A stolen password of one compute service does not speak for another.
func TestAComputeServiceIsBoundToWhoRegisteredIt(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, apitest.WithIdentities).WithConductors()
	one, two, admin := b.As("one", access.Service, ""), b.As("two", access.Service, ""), b.As("root", access.Admin, "")
	beat := map[string]any{"incarnation": 1}
	one.Put("/temper/v1/compute-services/host-1", beat).Is(200)
	two.Put("/temper/v1/compute-services/host-2", beat).Is(200)
	require.Contains(t, two.Put("/temper/v1/compute-services/HOST-1", map[string]any{"incarnation": 2}).Fails(403), "Another user speaks for compute service HOST-1")
	one.Put("/temper/v1/compute-services/host-1", map[string]any{"incarnation": 2}).Is(200)
	admin.Put("/temper/v1/compute-services/host-1", map[string]any{"incarnation": 3}).Is(200)
	one.Put("/temper/v1/compute-services/host-1", map[string]any{"incarnation": 3}).Is(200)
	b.As("carol", access.Reader, "").Put("/temper/v1/compute-services/host-3", beat).Is(403)
}
