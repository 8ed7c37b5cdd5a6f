package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/testenv"
)

// project is a project with one of everything, all of which has its word in the names.
type project struct {
	id   string
	word string
	ids  map[string][]string // by the parameter of paths that takes them
}

func (p *project) all() (out []string) {
	for _, ids := range p.ids {
		out = append(out, ids...)
	}
	return append(out, p.id, p.word)
}

func newProject(t *testing.T, admin *apitest.Bench, id, word, mac string) *project {
	t.Helper()
	p := &project{id: id, word: word, ids: map[string][]string{}}
	add := func(kind, path string, body map[string]any) string {
		uuid := admin.Post(path, body).Is(201)["uuid"].(string)
		p.ids[kind] = append(p.ids[kind], uuid)
		return uuid
	}
	named := func(i int) string { return fmt.Sprintf("%s-%d", word, i) }
	for i := range 3 {
		fields := map[string]any{"driver": "fake-hardware", "name": named(i), "owner": id, "resource_class": "gold", "description": word, "extra": map[string]any{"x": word}}
		if i == 2 {
			fields["owner"], fields["lessee"] = "landlord", id
		}
		n := add("node", "/v1/nodes", fields)
		p.ids["node"] = append(p.ids["node"], named(i))
		add("port", "/v1/ports", map[string]any{"node_uuid": n, "address": fmt.Sprintf("52:54:00:%s:00:%02d", mac, i)})
		add("portgroup", "/v1/portgroups", map[string]any{"node_uuid": n, "name": named(10 + i), "address": fmt.Sprintf("52:54:00:%s:01:%02d", mac, i)})
		add("connector", "/v1/volume/connectors", map[string]any{"node_uuid": n, "type": "iqn", "connector_id": named(20 + i)})
		add("target", "/v1/volume/targets", map[string]any{"node_uuid": n, "volume_type": "iscsi", "boot_index": i, "volume_id": named(30 + i)})
		operation := admin.Put("/v1/nodes/"+n+"/states/provision", apitest.ProvisionBody("manage")).Header.Get("Temper-Operation")
		p.ids["operation"] = append(p.ids["operation"], operation)
		admin.SQL(`UPDATE nodes SET last_error = $2 WHERE uuid = $1`, n, "broken "+word)
	}
	add("allocation", "/v1/allocations", map[string]any{"resource_class": "silver", "owner": id, "name": named(40)})
	add("runbook", "/v1/runbooks", map[string]any{"name": "CUSTOM_" + strings.ToUpper(word), "owner": id, "description": word, "steps": []any{map[string]any{"interface": "deploy", "step": "erase_devices_metadata", "args": map[string]any{}, "order": 1}}})
	return p
}

// TestAProjectLearnsNothingOfAnother sends requests at random, for everything that there is a route for, by clients of one project, and looks
// for words of another in the answers and events.
func TestAProjectLearnsNothingOfAnother(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, apitest.WithIdentities).WithConductors()
	admin := b.As("root", access.Admin, "")
	mine, theirs := newProject(t, admin, "project-mine", "walrus", "aa"), newProject(t, admin, "project-theirs", "zebra", "bb")
	before := everythingOf(admin, theirs)
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("TEMPER_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("TEMPER_TEST_SEED=%d", seed)
	g := &guesses{rand.New(rand.NewPCG(seed, 1)), mine, theirs}
	var routes []string
	for _, r := range b.Server.RouteRules() {
		if len(r.Rules) > 0 && r.Path != "/temper/v1/events" {
			routes = append(routes, r.Method+" "+r.Path)
		}
	}
	count := 600
	if testenv.All() {
		count = 30000
	}
	answered := map[int]int{}
	for i := range count {
		role := access.Roles()[g.IntN(len(access.Roles()))]
		method, path, _ := strings.Cut(routes[i%len(routes)], " ")
		target, body := g.path(path)+g.query(), ""
		if method != http.MethodGet && method != http.MethodDelete {
			body = g.body(method)
		}
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		for k, v := range map[string]string{apitest.RolesHeader: string(role), apitest.ProjectHeader: mine.id, apitest.UserHeader: "mallory", apitest.VersionHeader: "1.114"} {
			r.Header.Set(k, v)
		}
		a := b.Serve(r)
		answered[a.Status]++
		require.NotEqual(t, http.StatusInternalServerError, a.Status, "%s %s %s: %s", method, target, body, a.Body)
		said := string(a.Body) + fmt.Sprint(a.Header)
		for _, word := range theirs.all() {
			if len(word) > 3 && !strings.Contains(target+body, word) {
				require.NotContains(t, said, word, "%s %s %s as %s", method, target, body, role)
			}
		}
	}
	require.Greater(t, answered[200], count/20, "the requests are so wrong that they test nothing: %v", answered)
	require.Greater(t, answered[404], count/20, "%v", answered)
	require.Equal(t, before, everythingOf(admin, theirs), "what another project has was changed")
	for _, e := range eventsOf(t, b, mine.id) {
		for _, word := range theirs.all() {
			if len(word) > 3 {
				require.NotContains(t, e, word)
			}
		}
	}
}

// everythingOf is what an administrator sees of a project.
func everythingOf(admin *apitest.Bench, p *project) (out []string) {
	for kind, path := range map[string]string{
		"node": "/v1/nodes/", "port": "/v1/ports/", "portgroup": "/v1/portgroups/", "connector": "/v1/volume/connectors/", "target": "/v1/volume/targets/",
		"allocation": "/v1/allocations/", "runbook": "/v1/runbooks/", "operation": "/temper/v1/operations/",
	} {
		for _, id := range p.ids[kind] {
			out = append(out, fmt.Sprint(admin.Get(path+id).Is(200)))
		}
	}
	slices.Sort(out)
	return out
}

// eventsOf are the events that the stream of a project has, from the oldest.
func eventsOf(t *testing.T, b *apitest.Bench, project string) []string {
	t.Helper()
	server := httptest.NewServer(b.Handler)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/temper/v1/events", nil)
	require.NoError(t, err)
	for k, v := range map[string]string{apitest.RolesHeader: "reader", apitest.ProjectHeader: project, "Last-Event-ID": "0"} {
		r.Header.Set(k, v)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	var said strings.Builder
	for buf := make([]byte, 64<<10); !strings.Contains(said.String(), "walrus-1"); {
		n, err := answer.Body.Read(buf)
		require.NoError(t, err)
		said.Write(buf[:n])
	}
	return strings.Split(said.String(), "\n\n")
}

// guesses makes up requests.
type guesses struct {
	*rand.Rand
	mine, theirs *project
}

func (g *guesses) one(of ...string) string { return of[g.IntN(len(of))] }

// id is something that a parameter may name: of either project, or of none.
func (g *guesses) id(kind string) string {
	p := g.mine
	if g.IntN(2) == 0 {
		p = g.theirs
	}
	if ids := p.ids[kind]; len(ids) > 0 && g.IntN(8) > 0 {
		return ids[g.IntN(len(ids))]
	}
	return g.one("nobody", "11111111-2222-4333-8444-555555555555", "7", "c1", "fake-hardware", "CUSTOM_X", p.id)
}

func (g *guesses) path(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if name, found := strings.CutPrefix(part, ":"); found {
			parts[i] = g.id(name)
		}
	}
	return strings.Join(parts, "/")
}

func (g *guesses) query() string {
	var out []string
	for range g.IntN(3) {
		out = append(out, g.one(
			"node="+g.id("node"), "marker="+g.id("node"), "marker="+g.id("port"), "marker="+g.id("allocation"), "marker="+g.id("operation"), "owner="+g.theirs.id, "lessee="+g.theirs.id, "project="+g.theirs.id,
			"sort_key=name", "sort_key=owner", "sort_dir=desc", "limit=1", "limit=1000", "detail=true", "description_contains=e", "node_uuid="+g.id("node"),
			"portgroup="+g.id("portgroup"), "parent_node="+g.id("node"), "include_children=true", "instance_uuid="+g.id("allocation"), "group=cause", "fields=uuid,name,owner", "deleted=true", "operation="+g.id("operation"),
			"address=52:54:00:bb:00:01", "resource_class=gold", "state=failed", "conductor=c1", "fault=x", "maintenance=false"))
	}
	if out == nil {
		return ""
	}
	return "?" + strings.Join(out, "&")
}

func (g *guesses) body(method string) string {
	value := func() any {
		return []any{g.id("node"), g.id("portgroup"), g.id("port"), g.id("runbook"), g.theirs.id, g.mine.id, true, nil, "x", map[string]any{"a": g.id("node")}, []string{g.id("node"), g.id("node")}}[g.IntN(11)]
	}
	fields := []string{
		"node_uuid", "node", "portgroup_uuid", "parent_node", "owner", "lessee", "name", "extra", "description", "instance_uuid", "candidate_nodes", "resource_class", "driver", "target",
		"runbook", "verb", "address", "reason", "traits", "id", "type", "connector_id", "boot_index", "volume_type", "volume_id", "action", "public", "steps", "dry_run", "force", "chassis_uuid", "to", "from", "maintenance",
	}
	good := map[string]any{
		"driver": "fake-hardware", "target": g.one("clean", "power on", "manage", "provide", "active"), "verb": g.one("clean", "power on", "deploy"), "resource_class": "gold", "address": fmt.Sprintf("52:54:00:cc:%02d:%02d", g.IntN(100), g.IntN(100)),
		"node_uuid": g.id("node"), "type": "iqn", "connector_id": fmt.Sprint(g.Uint32()), "boot_index": g.IntN(1000), "volume_type": "iscsi", "volume_id": "v", "reason": "why not", "dry_run": true, "candidate_nodes": []string{g.id("node")},
		"action": "abort", "runbook": g.id("runbook"), "steps": []any{}, "owner": g.mine.id, "name": fmt.Sprintf("n%d", g.Uint32()),
	}
	pick := func(name string) any {
		if v, known := good[name]; known && g.IntN(3) > 0 {
			return v
		}
		return value()
	}
	var out any
	if method == http.MethodPatch {
		var ops []map[string]any
		for range 1 + g.IntN(2) {
			name := g.one(fields...)
			ops = append(ops, map[string]any{"op": g.one("add", "replace", "remove"), "path": "/" + name, "value": pick(name)})
		}
		out = ops
	} else {
		set := g.one("driver,name,owner", "node_uuid,address", "node_uuid,name", "node_uuid,type,connector_id", "node_uuid,volume_type,boot_index,volume_id", "resource_class,candidate_nodes",
			"resource_class,node", "target", "target,runbook", "verb,dry_run", "verb", "reason", "action,reason", "name,steps,public", "id", "traits", "force,reason")
		o := map[string]any{}
		for name := range strings.SplitSeq(set, ",") {
			o[name] = pick(name)
		}
		if g.IntN(3) == 0 {
			name := g.one(fields...)
			o[name] = pick(name)
		}
		out = o
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(text)
}
