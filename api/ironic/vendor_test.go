package ironic_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const vendorOf1 = "/v1/nodes/n1/vendor_passthru"

func TestAVendorInterfaceWithoutMethods(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	for _, path := range []string{vendorOf1, "/v1/drivers/redfish/vendor_passthru"} {
		require.Empty(t, b.Get(path+"/methods").Is(200))
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			var body any
			if method != "GET" && method != "DELETE" {
				body = map[string]any{"warm": true}
			}
			for _, named := range []string{"?method=bmc_reset", "/bmc_reset"} {
				require.Equal(t, "No handler for method bmc_reset", b.At(apitest.Newest, method, path+named, body).Fails(400), method)
			}
			require.Equal(t, "Method not specified", b.At(apitest.Newest, method, path, body).Fails(400), method)
		}
	}
	b.Get("/v1/nodes/n2/vendor_passthru/methods").Fails(404)
	b.Get("/v1/drivers/abacus/vendor_passthru/methods").Fails(404)
	b.Put("/v1/drivers/abacus/vendor_passthru?method=m", map[string]any{}).Fails(404)
}

// vendorBench is a bench with an active node n1 of the driver, whose operations end as end says.
func vendorBench(t *testing.T, driver string, end node.End) *apitest.Bench {
	b := apitest.New(t, func(c *api.Config) { c.AnswerWithin = 50 * time.Millisecond })
	b.Conductor("c1", "", "ipmi", "redfish")
	b.Post("/v1/nodes", map[string]any{"driver": driver, "name": "n1", "driver_info": map[string]any{driver + "_address": "10.0.0.7"}}).Is(201)
	b.SQL(`UPDATE nodes SET provision_state = 'active', last_error = 'of before'`)
	b.Operations.OnAwait = func(o *node.Operation) {
		end.Operation = o.ID
		_, err := b.Store.CloseOperation(t.Context(), end)
		require.NoError(t, err)
	}
	return b
}

func TestTheMethodsOfAVendorInterface(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "ipmi", node.End{})
	require.Equal(t, "ipmitool", b.Field("n1", "vendor_interface"))
	all := b.Get(vendorOf1 + "/methods").Is(200)
	require.Len(t, all, 2)
	reset := all["bmc_reset"].(map[string]any)
	require.NotEmpty(t, reset["description"])
	delete(reset, "description")
	require.Equal(t, map[string]any{"http_methods": []any{"POST"}, "async": true, "attach": false, "require_exclusive_lock": true}, reset)

	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n2", "driver_info": map[string]any{"redfish_address": "https://bmc"}}).Is(201)
	all = b.Get("/v1/nodes/n2/vendor_passthru/methods").Is(200)
	require.Len(t, all, 5)
	one := all["get_subscription"].(map[string]any)
	delete(one, "description")
	require.Equal(t, map[string]any{"http_methods": []any{"GET"}, "async": false, "attach": false, "require_exclusive_lock": false}, one)
	require.Empty(t, b.Get("/v1/drivers/redfish/vendor_passthru/methods").Is(200), "they are methods of nodes")

	b.Patch("/v1/nodes/n2", apitest.Replace("/vendor_interface", "no-vendor")).Is(200)
	require.Empty(t, b.Get("/v1/nodes/n2/vendor_passthru/methods").Is(200))
}

func TestAnAsynchronousMethodIsAnOperation(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "ipmi", node.End{})
	b.Operations.OnAwait = nil
	a := b.Post(vendorOf1+"?method=bmc_reset", map[string]any{"warm": "false"})
	a.Is(202)
	o := b.LastOperation("n1")
	require.Equal(t, node.KindVendorPassthru, o.Kind)
	require.Equal(t, "vendor.bmc_reset", o.Steps[0].Name())
	require.Equal(t, map[string]any{"warm": false}, o.Steps[0].Args)
	require.Contains(t, b.Post(vendorOf1+"/bmc_reset", nil).Fails(409), "is locked by host")
	require.Equal(t, "of before", b.Field("n1", "last_error"))
}

func TestARawCommandIsSealed(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "ipmi", node.End{Outcome: node.Succeeded})
	b.Post(vendorOf1+"/send_raw", map[string]any{"raw_bytes": "0x06 0x47 2 2 0x68 0x75 0x6e 0x74 0x65 0x72"}).Is(202)
	o := b.LastOperation("n1")
	require.Equal(t, map[string]any{"raw_bytes": "******"}, o.Steps[0].Args)
	require.Equal(t, "1", b.Text(`SELECT count(*)::text FROM secrets WHERE name LIKE 'operation/%/steps/vendor.send_raw#0/raw_bytes'`))
}

func TestArgumentsOfVendorMethodsAreChecked(t *testing.T) {
	t.Parallel()
	for driver, cases := range map[string]map[string]struct {
		http, path string
		body       map[string]any
		words      string
	}{
		"ipmi": {
			"no bytes":              {"POST", "send_raw", nil, "Parameter raw_bytes (string of bytes) was not specified."},
			"one byte":              {"POST", "send_raw", map[string]any{"raw_bytes": "0x06"}, "needs a network function"},
			"not a byte":            {"POST", "send_raw", map[string]any{"raw_bytes": "0x06 hunter2"}, "must be at most 31 numbers"},
			"another HTTP method":   {"GET", "send_raw", nil, "The method send_raw does not support HTTP GET"},
			"not a boolean":         {"POST", "bmc_reset", map[string]any{"warm": "lukewarm"}, "lukewarm"},
			"an unknown argument":   {"POST", "bmc_reset", map[string]any{"cold": true}, "Unexpected arguments: cold"},
			"a method of Redfish's": {"POST", "eject_vmedia", nil, "No handler for method eject_vmedia"},
		},
		"redfish": {
			"no URL":                     {"POST", "create_subscription", nil, "Destination  is not a valid URI"},
			"a URL without a host":       {"POST", "create_subscription", map[string]any{"Destination": "/events"}, "Destination /events is not a valid URI"},
			"types that are no list":     {"POST", "create_subscription", map[string]any{"Destination": "https://a/b", "EventTypes": "Alert"}, "EventTypes"},
			"headers that are no list":   {"POST", "create_subscription", map[string]any{"Destination": "https://a/b", "HttpHeaders": map[string]any{}}, "HttpHeaders"},
			"a context that is a number": {"POST", "create_subscription", map[string]any{"Destination": "https://a/b", "Context": 1}, "Context"},
			"no id":                      {"DELETE", "delete_subscription", nil, "id can't be None"},
			"no id to read":              {"GET", "get_subscription", nil, "id can't be None"},
			"a toaster":                  {"POST", "eject_vmedia", map[string]any{"boot_device": "toaster"}, "Boot device toaster is not a valid value"},
		},
	} {
		b := vendorBench(t, driver, node.End{Outcome: node.Succeeded})
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				var body any
				if c.body != nil {
					body = c.body
				}
				require.Contains(t, b.At(apitest.Newest, c.http, vendorOf1+"?method="+c.path, body).Fails(400), c.words)
			})
		}
		require.Empty(t, b.Operations.Started())
	}
}

func TestASubscriptionIsAnsweredAsItWasCreated(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "redfish", node.End{Outcome: node.Succeeded})
	ends := b.Operations.OnAwait
	b.Operations.OnAwait = func(o *node.Operation) {
		made, err := json.Marshal(node.EventSubscription{ID: "7", Context: "mine", Protocol: "Redfish", EventTypes: []string{"Alert"}})
		require.NoError(t, err)
		b.SQL(`UPDATE operations SET steps = jsonb_set(steps, '{0,subscription}', $1::jsonb)`, string(made))
		ends(o)
	}
	destination := "https://me:hunter2@listener.example.org/events?token=hunter3"
	a := b.Post(vendorOf1+"?method=create_subscription", map[string]any{
		"Destination": destination, "Context": "mine", "HttpHeaders": []any{map[string]any{"Authorization": "hunter4"}}, "Ignored": 1,
	})
	require.Equal(t, map[string]any{
		"Id": "7", "Context": "mine", "Protocol": "Redfish", "EventTypes": []any{"Alert"}, "Destination": destination,
	}, a.Is(200))
	o := b.LastOperation("n1")
	require.Equal(t, map[string]any{"Destination": "******", "HttpHeaders": "******", "Context": "mine"}, o.Steps[0].Args)
	text, err := json.Marshal(o)
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter")

	b.Operations.OnAwait = ends
	b.At(apitest.Newest, "DELETE", vendorOf1+"?method=delete_subscription", map[string]any{"id": "7"}).Is(200)
	require.Equal(t, map[string]any{"id": "7"}, b.LastOperation("n1").Steps[0].Args)
}

func TestASubscriptionThatTheBMCDoesNotHave(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "redfish", node.End{Outcome: node.Failed, Error: "no such thing", Cause: fault.SubscriptionNotFound})
	a := b.At(apitest.Newest, "DELETE", vendorOf1+"/delete_subscription", map[string]any{"id": "7"})
	require.Equal(t, fault.SubscriptionNotFound, a.Refused(404).Code)
	b.Operations.ReadErr = fault.Coded(fault.SubscriptionNotFound, "no such thing")
	require.Equal(t, fault.SubscriptionNotFound, b.At(apitest.Newest, "GET", vendorOf1+"/get_subscription", map[string]any{"id": "7"}).Refused(404).Code)
	require.Equal(t, "of before", b.Field("n1", "last_error"))
}

func TestSubscriptionsAreRead(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "redfish", node.End{})
	b.Operations.Reading = node.BMCReading{Subscriptions: &node.EventSubscriptions{Path: "/redfish/v1/EventService/Subscriptions", Members: []string{"/redfish/v1/EventService/Subscriptions/7"}}}
	require.Equal(t, map[string]any{
		"@odata.id": "/redfish/v1/EventService/Subscriptions", "@odata.type": "#EventDestinationCollection.EventDestinationCollection", "Name": "Event Subscriptions",
		"Members": []any{map[string]any{"@odata.id": "/redfish/v1/EventService/Subscriptions/7"}}, "Members@odata.count": 1.0,
	}, b.Get(vendorOf1+"?method=get_all_subscriptions").Is(200))
	one := node.EventSubscription{ID: "7", Protocol: "Redfish", Destination: "https://a/b", EventTypes: []string{"Alert"}}
	b.Operations.Reading = node.BMCReading{Subscription: &one}
	require.Equal(t, "https://a/b", b.At(apitest.Newest, "GET", vendorOf1+"?method=get_subscription", map[string]any{"id": "7"}).Is(200)["Destination"])
	require.Equal(t, []string{"read event subscriptions of n1", "read event subscription 7 of n1"}, b.Operations.Told())
	require.Empty(t, b.Operations.Started(), "a reading is no operation")

	b.SQL(`UPDATE nodes SET provision_state = 'deploying'`)
	b.At(apitest.Newest, "GET", vendorOf1+"/get_subscription", map[string]any{"id": "7"}).Is(200)
}

func TestAVendorMethodAsAnOrder(t *testing.T) {
	t.Parallel()
	b := vendorBench(t, "ipmi", node.End{})
	path := "/temper/v1/nodes/n1/operations"
	tried := b.Post(path, map[string]any{"verb": "vendor_passthru", "method": "bmc_reset", "dry_run": true}).Is(200)
	require.Equal(t, true, tried["accepted"])
	require.Contains(t, b.Post(path, map[string]any{"verb": "vendor_passthru"}).Fails(400), "method")
	require.Contains(t, b.Post(path, map[string]any{"verb": "vendor_passthru", "method": "levitate"}).Fails(400), "No handler for method levitate")
	require.Contains(t, b.Post(path, map[string]any{"verb": "inject_nmi", "method": "bmc_reset"}).Fails(400), "method can't be given")
	refused := b.Post(path, map[string]any{"verb": "vendor_passthru", "method": "send_raw", "dry_run": true}).Is(200)
	require.Equal(t, false, refused["accepted"])
	b.Post(path, map[string]any{"verb": "vendor_passthru", "method": "bmc_reset", "args": map[string]any{"warm": false}}).Is(202)
	first := b.LastOperation("n1")
	_, err := b.Store.CloseOperation(t.Context(), node.End{Operation: first.ID, Outcome: node.Failed, Error: "no answer", Cause: fault.BMCSilent})
	require.NoError(t, err)
	b.Post(fmt.Sprintf("/temper/v1/operations/%d/retry", first.ID), map[string]any{}).Is(202)
	again := b.LastOperation("n1")
	require.Equal(t, []any{first.ID, "vendor.bmc_reset", map[string]any{"warm": false}}, []any{again.RetryOf, again.Steps[0].Name(), again.Steps[0].Args})
}
