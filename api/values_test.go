package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

// value is a random JSON value. Many of its numbers are none that a float64 has.
func value(r *rand.Rand, depth int) string {
	digits := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(byte('1' + r.IntN(9)))
		}
		return b.String()
	}
	switch r.IntN(9 - 2*min(depth/2, 1)) {
	case 0:
		return digits(1 + r.IntN(30))
	case 1:
		return "-" + digits(1+r.IntN(20)) + "." + digits(r.IntN(20)) + "0"
	case 2:
		return []string{"9007199254740993", "18446744073709551615", "1.0", "-0.0", "0", "1e2", "5e-324", "1.50e3"}[r.IntN(8)]
	case 3:
		return fmt.Sprintf("%s.%se%d", digits(1), digits(1+r.IntN(20)), r.IntN(600)-300)
	case 4:
		return []string{"true", "false"}[r.IntN(2)]
	case 5, 6:
		return []string{`""`, `"é\u00e9\ud83d\ude00"`, `"<&>\"\\\n\u0001"`, `"12345678901234567890"`, `"\\ud800"`}[r.IntN(5)]
	case 7:
		return "[" + value(r, depth+1) + "," + value(r, depth+1) + "]"
	}
	return `{"a-` + digits(1) + `":` + value(r, depth+1) + `,"É":` + value(r, depth+1) + `}`
}

// plainValue is a JSON value with each number as its exact value and, if it is spelled without an
// exponent, whether it is an integer or a decimal.
func plainValue(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", text)
	return exact(v)
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return r.RatString()
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}

// member is a part of an answer's body, as its bytes.
func member(t *testing.T, body []byte, path ...string) []byte {
	t.Helper()
	for _, name := range path {
		var all map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(body, &all), "%s", body)
		body = all[name]
	}
	return body
}

func TestAValueComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 25 {
		text := value(r, 0)
		want := plainValue(t, []byte(text))
		same := func(what string, body []byte, path ...string) {
			t.Helper()
			have := plainValue(t, member(t, body, path...))
			require.Equal(t, want, have, "%s: %s", what, text)
		}
		name := fmt.Sprintf("n%d", i)
		node := "/v1/nodes/" + name
		dict := `{"v":` + text + `}`
		dicts := []string{"extra", "properties", "instance_info", "driver_info"}
		a := b.Post("/v1/nodes", fmt.Sprintf(`{"driver":"fake-hardware","name":%q,"resource_class":"gold","extra":%s,"properties":%s,"instance_info":%s,"driver_info":%s}`, name, dict, dict, dict, dict))
		a.Is(201)
		uuid := b.Field(name, "uuid").(string)
		for _, d := range dicts {
			same("POST", a.Body, d, "v")
			same("PATCH", b.At(apitest.Newest, "PATCH", node, `[{"op":"add","path":"/`+d+`/w","value":`+text+`}]`).Body, d, "w")
		}
		b.SQL(`UPDATE nodes SET driver_internal_info = $2::text::jsonb WHERE uuid = $1`, uuid, dict)
		a = b.Patch(node, apitest.Add("/description", "x"))
		a.Is(200)
		for _, d := range append(dicts, "driver_internal_info") {
			same("unrelated PATCH", a.Body, d, "v")
			same("list", []byte(strings.TrimSuffix(strings.TrimPrefix(string(member(t, b.Get("/v1/nodes?detail=true&sort_key=id&sort_dir=desc&limit=1").Body, "nodes")), "["), "]")), d, "v")
		}
		port := b.Post("/v1/ports", fmt.Sprintf(`{"node_uuid":%q,"address":"52:54:00:00:00:%02x","extra":%s}`, uuid, i, dict))
		port.Is(201)
		same("port", port.Body, "extra", "v")
		allocation := b.Post("/v1/allocations", fmt.Sprintf(`{"name":"a%d","resource_class":"none","extra":%s}`, i, dict))
		allocation.Is(201)
		same("allocation", allocation.Body, "extra", "v")
	}
}

// What jsonb keeps of a number's spelling is whether it is an integer.
func TestADecimalStaysOne(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", `{"driver":"fake-hardware","name":"n1","extra":{"a":1.0,"b":1,"c":1.50,"d":12345678901234567890123}}`).Is(201)
	var extra bytes.Buffer
	require.NoError(t, json.Compact(&extra, member(t, b.Get("/v1/nodes/n1").Body, "extra")))
	require.Equal(t, `{"a":1.0,"b":1,"c":1.50,"d":12345678901234567890123}`, extra.String())
}

func TestAnInventoryComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Inspecting("n1")
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": apitest.MAC}).Is(201)
	r := rand.New(rand.NewPCG(3, 4))
	var values []string
	for range 50 {
		values = append(values, value(r, 0))
	}
	list := "[" + strings.Join(values, ",") + "]"
	b.At(84, "POST", "/v1/continue_inspection", `{"inventory":{"interfaces":[{"mac_address":"`+apitest.MAC+`"}],"disks":[{"size":1e400000}]}}`).Fails(400)
	b.At(84, "POST", "/v1/continue_inspection", `{"inventory":{"interfaces":[{"mac_address":"`+apitest.MAC+`"}],"v":`+list+`},"more":`+list+`}`).Is(202)
	a := b.Get("/v1/nodes/n1/inventory")
	a.Is(200)
	require.Equal(t, plainValue(t, []byte(list)), plainValue(t, member(t, a.Body, "inventory", "v")))
	require.Equal(t, plainValue(t, []byte(list)), plainValue(t, member(t, a.Body, "plugin_data", "more")))
}

func TestAValueThatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	before := b.Text(`SELECT row_to_json(n)::text FROM nodes n`)
	for value, why := range map[string]string{
		"\"caf\xe9\"": "not valid UTF-8", `"\ud800x"`: "surrogate", `"a\u0000"`: "U+0000", `{"k\u0000":1}`: "U+0000",
		`1e400000`: "digits", `-1e-400000`: "digits", `{"a":1,"a":2}`: "/a is given more than once",
	} {
		for _, r := range []struct{ method, path, body, place string }{
			{"PATCH", "/v1/nodes/n1", `[{"op":"add","path":"/driver_info/redfish_password","value":` + value + `}]`, "/0/value"},
			{"PATCH", "/v1/nodes/n1", `[{"op":"add","path":"/extra/a","value":[` + value + `]}]`, "/0/value/0"},
			{"POST", "/v1/nodes", `{"driver":"fake-hardware","extra":{"x":` + value + `}}`, "/extra/x"},
			{"POST", "/v1/ports", `{"node_uuid":"` + uuid + `","address":"52:54:00:00:00:01","extra":{"x":` + value + `}}`, "/extra/x"},
			{"POST", "/v1/allocations", `{"resource_class":"a","extra":{"x":` + value + `}}`, "/extra/x"},
			{"PUT", "/v1/nodes/n1/maintenance", `{"reason":` + value + `}`, "/reason"},
			{"PUT", "/v1/nodes/n1/states/provision", `{"target":"manage","configdrive":{"meta_data":{"x":` + value + `}}}`, "/configdrive/meta_data/x"},
			{"PUT", "/v1/nodes/n1/traits", `{"traits":[` + value + `]}`, "/traits/0"},
			{"POST", "/temper/v1/nodes/n1/operations", `{"verb":"manage","idempotency_key":` + value + `}`, "/idempotency_key"},
			{"PATCH", "/temper/v1/webhooks/w", `{"url":` + value + `}`, "/url"},
		} {
			words := b.At(apitest.Newest, r.method, r.path, r.body).Fails(400)
			require.Contains(t, words, r.place, r.path)
			require.Contains(t, words, why, r.path)
		}
	}
	for _, body := range []any{nil, " ", "null", `{}`, `"x"`} {
		require.Contains(t, b.At(apitest.Newest, "PATCH", "/v1/nodes/n1", body).Fails(400), "must be a list")
	}
	require.Equal(t, before, b.Text(`SELECT row_to_json(n)::text FROM nodes n`))
}
