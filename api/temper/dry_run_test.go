package temper_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/node"
)

// everything is the content of the whole database, but for the audit: who asks for a dry run has a row, too.
func everything(b *apitest.Bench) string {
	return b.Text(`SELECT string_agg(table_name || query_to_xml('SELECT * FROM ' || quote_ident(table_name) || ' t ORDER BY t::text', true, true, '')::text, '' ORDER BY table_name)
		FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'audit%'`)
}

// fetching is an API that fetches images, also from this machine.
func fetching(t *testing.T) *apitest.Bench {
	t.Helper()
	policy := image.Policy{Reach: dial.Reach{Loopback: true}}
	r := image.NewResolver(policy, 10*time.Second)
	t.Cleanup(r.Close)
	return apitest.New(t, func(c *api.Config) { c.Images, c.ProbeImage, c.Settings = policy, r.Probe, "/etc/temper.yaml" }).WithConductors()
}

// images serves good.raw (1 MiB), SUMS with its digest, huge.qcow2 (a disk of 100 GiB) and image.gz, and fails for broken.raw.
func images(t *testing.T) string {
	t.Helper()
	huge := make([]byte, 64)
	copy(huge, "QFI\xfb\x00\x00\x00\x03")
	binary.BigEndian.PutUint64(huge[24:], 100<<30)
	files := map[string]string{
		"/good.raw": strings.Repeat("x", 1<<20), "/huge.qcow2": string(huge), "/image.gz": "\x1f\x8b\x08 and so on",
		"/SUMS": digestOfAnImage + "  good.raw\n", "/OTHERS": digestOfAnImage + "  other.raw\n",
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if r.URL.Path == "/broken.raw" {
			http.Error(w, "not now", http.StatusInternalServerError)
			return
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// doubts are the warnings of a dry run that is accepted, one a line.
func doubts(b *apitest.Bench, body map[string]any) string {
	b.T.Helper()
	body["dry_run"] = true
	out := b.Post(work, body).Is(200)
	require.Equal(b.T, true, out["accepted"], out)
	var lines []string
	for _, w := range out["warnings"].([]any) {
		w := w.(map[string]any)
		lines = append(lines, w["code"].(string)+": "+w["message"].(string))
	}
	return strings.Join(lines, "\n")
}

// trial is the answer to a dry run: its codes and messages, one a line.
func trial(b *apitest.Bench, body map[string]any) (accepted bool, refusals, notes string) {
	b.T.Helper()
	body["dry_run"] = true
	out := b.Post(work, body).Is(200)
	var lines, told []string
	for _, r := range out["refusals"].([]any) {
		r := r.(map[string]any)
		lines = append(lines, r["code"].(string)+": "+r["message"].(string))
	}
	for _, n := range out["notes"].([]any) {
		told = append(told, n.(string))
	}
	require.Equal(b.T, len(lines) == 0, out["accepted"])
	return len(lines) == 0, strings.Join(lines, "\n"), strings.Join(told, "\n")
}

// untrusted serves files with a certificate that nobody trusts.
func untrusted(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return s.URL
}

func TestADryRunFetchesTheImageAndComparesItWithTheDisk(t *testing.T) {
	t.Parallel()
	b := fetching(t)
	redfishNode(b)
	url := images(t)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory) SELECT id, '{"disks": [{"name": "/dev/sda", "size": 5368709120, "serial": "S1"}]}' FROM nodes`)
	before := everything(b)
	with := func(source, checksum string) map[string]any {
		return map[string]any{"verb": "active", "instance_info": map[string]any{"image_source": source, "image_checksum": checksum}}
	}
	for name, c := range map[string]struct{ source, checksum, want string }{
		"an image that can be deployed":     {"/good.raw", digestOfAnImage, ""},
		"and whose digest is in a file":     {"/good.raw", url + "/SUMS", ""},
		"one that is not there":             {"/gone.raw", digestOfAnImage, "image_invalid: .*the server answered 404: it has no such image; fetch image_source http"},
		"one whose digest is not in a file": {"/good.raw", url + "/OTHERS", "image_invalid: .*no usable digest for good.raw; read the checksum file http"},
		"one of a format that is refused":   {"/image.gz", digestOfAnImage, "image_invalid: .*is a gzip image"},
		"one that is larger than the disk":  {"/huge.qcow2", digestOfAnImage, "disk_too_small: The image of node .* needs 107 GB, and disk /dev/sda has 5.37 GB."},
	} {
		accepted, refusals, _ := trial(b, with(url+c.source, c.checksum))
		require.Equal(t, c.want == "", accepted, "%s: %s", name, refusals)
		require.Regexp(t, c.want, refusals, name)
	}
	_, refusals, notes := trial(b, with("http://169.254.169.254/latest", digestOfAnImage))
	require.Empty(t, refusals, "the agent fetches the image, from where it stands")
	require.NotContains(t, notes, "link-local")
	require.Regexp(t, "^image_unreachable: the image could not be read from here: .*link-local", doubts(b, with("http://169.254.169.254/latest", digestOfAnImage)))
	require.Regexp(t, "^image_unreachable: the image could not be read from here: .*the server answered 500", doubts(b, with(url+"/broken.raw", digestOfAnImage)))
	require.Regexp(t, "^image_certificate_not_trusted: ", doubts(b, with(untrusted(t)+"/good.raw", digestOfAnImage)))
	require.Empty(t, doubts(b, with(url+"/good.raw", digestOfAnImage)))
	require.Equal(t, before, everything(b))
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_source", url+"/good.raw"), apitest.Add("/instance_info/image_checksum", digestOfAnImage),
		apitest.Add("/instance_info/image_request_authorization_secret", "Bearer hunter2")).Is(200)
	require.Regexp(t, "^image_unreachable: the image was not read, because its server needs the secret", doubts(b, map[string]any{"verb": "active"}))
	b.Patch("/v1/nodes/n1", apitest.Remove("/instance_info/image_source"), apitest.Remove("/instance_info/image_checksum"), apitest.Remove("/instance_info/image_request_authorization_secret")).Is(200)
	before = everything(b)
	both := with(url+"/good.raw", "http://example.org/SUMS")
	info := both["instance_info"].(map[string]any)
	info["image_os_hash_algo"], info["image_os_hash_value"] = "sha256", digestOfAnImage
	_, _, notes = trial(b, both)
	require.Contains(t, notes, "image_checksum has no effect: the image is verified with image_os_hash_value (sha256)")
	_, refusals, _ = trial(b, with(url+"/good.raw", "http://169.254.169.254/SUMS"))
	require.Contains(t, refusals, "link-local", "addresses are refused as conductors refuse them")
	require.Equal(t, before, everything(b))

	b.Patch("/v1/nodes/n1", apitest.Add("/properties/root_device", "sda")).Is(200)
	_, refusals, _ = trial(b, with(url+"/good.raw", digestOfAnImage))
	require.Contains(t, refusals, "in properties, root_device is not an object")
	b.Patch("/v1/nodes/n1", apitest.Add("/properties/root_device", map[string]any{"serial": "S2"})).Is(200)
	_, refusals, _ = trial(b, with(url+"/good.raw", digestOfAnImage))
	require.Contains(t, refusals, "no_disk_fits: ")
	require.Contains(t, refusals, "none of the 1 in its inventory matches its root device hints in properties.")
	mends := func(body map[string]any) string {
		body["dry_run"] = true
		return fmt.Sprint(b.Post(work, body).Is(200)["refusals"])
	}
	require.Contains(t, mends(with(url+"/good.raw", digestOfAnImage)), "temper node set n1 --property 'root_device=")
	hinted := with(url+"/good.raw", digestOfAnImage)
	hinted["instance_info"].(map[string]any)["root_device"] = map[string]any{"serial": "S3"}
	of := mends(hinted)
	require.Contains(t, of, "matches its root device hints in instance_info.")
	require.Contains(t, of, "temper node deploy n1 --instance-info 'root_device=", "what is set on the node would have no effect")
	require.NotContains(t, of, "temper node set")
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/root_device", map[string]any{"serial": "S3"})).Is(200)
	of = mends(with(url+"/good.raw", digestOfAnImage))
	require.Contains(t, of, "temper node set n1 --instance-info 'root_device=", "hints in instance_info take precedence")
	require.NotContains(t, of, "--property")
	b.Patch("/v1/nodes/n1", apitest.Remove("/instance_info/root_device")).Is(200)
	b.Patch("/v1/nodes/n1", apitest.Add("/properties/root_device", map[string]any{"wwn": "0x1"})).Is(200)
	_, refusals, notes = trial(b, with(url+"/good.raw", digestOfAnImage))
	require.Empty(t, refusals)
	require.Contains(t, notes, "the node's inventory does not say which disk it will be")
	_, refusals, _ = trial(b, with(url+"/huge.qcow2", digestOfAnImage))
	require.Contains(t, refusals, "disk_too_small: ", "it fits on none of the disks")

	b.SQL(`DELETE FROM node_inventory`)
	_, refusals, notes = trial(b, with(url+"/good.raw", digestOfAnImage))
	require.Empty(t, refusals)
	require.Contains(t, notes, "the root device hints in properties and the size of the disk were not checked: the node was never inspected, so its disks are not known. "+
		"The agent checks the hints, and the deploy fails if no disk fits them")
	b.Patch("/v1/nodes/n1", apitest.Remove("/properties/root_device"), apitest.Add("/properties/local_gb", "99")).Is(200)
	_, refusals, notes = trial(b, with(url+"/huge.qcow2", digestOfAnImage))
	require.Empty(t, refusals, "99 stands for 100")
	require.Contains(t, notes, "the node was never inspected; the image fits into properties/local_gb")
	b.Patch("/v1/nodes/n1", apitest.Add("/properties/local_gb", "98")).Is(200)
	_, refusals, _ = trial(b, with(url+"/huge.qcow2", digestOfAnImage))
	require.Regexp(t, "disk_too_small: .* disk properties/local_gb has ", refusals)
	b.Patch("/v1/nodes/n1", apitest.Remove("/properties/local_gb")).Is(200)
	_, refusals, notes = trial(b, with(url+"/huge.qcow2", digestOfAnImage))
	require.Empty(t, refusals)
	require.Contains(t, notes, "the size of the disk was not checked: the node was never inspected, so its disks are not known")
}

// What a dry run and Ironic's validate say of an image, the request itself says, too.
func TestARequestRefusesTheImagesThatADryRunRefuses(t *testing.T) {
	t.Parallel()
	b := fetching(t)
	redfishNode(b)
	url := images(t)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory) SELECT id, '{"disks": [{"name": "/dev/sda", "size": 5368709120}]}' FROM nodes`)
	before := everything(b)
	for name, c := range map[string]struct {
		source, checksum, code string
		accepted               bool
	}{
		"larger than the disk":          {"/huge.qcow2", digestOfAnImage, "disk_too_small", false},
		"not there":                     {"/gone.raw", digestOfAnImage, "image_invalid", false},
		"of a format that is refused":   {"/image.gz", digestOfAnImage, "image_invalid", false},
		"without a digest in the file":  {"/good.raw", url + "/OTHERS", "image_invalid", false},
		"on a server that is not there": {"http://127.0.0.1:1/x", digestOfAnImage, "", true},
		"one that can be deployed":      {"/good.raw", url + "/SUMS", "", true},
	} {
		source := c.source
		if strings.HasPrefix(source, "/") {
			source = url + source
		}
		info := map[string]any{"image_source": source, "image_checksum": c.checksum}
		body := map[string]any{"verb": "active", "instance_info": info}
		accepted, refusals, _ := trial(b, map[string]any{"verb": "active", "instance_info": info})
		require.Equal(t, c.accepted, accepted, "%s: %s", name, refusals)
		if c.accepted {
			continue
		}
		out := b.Post(work, body)
		out.Fails(400)
		require.Equal(t, c.code, out.Is(400)["code"], name)
		require.Contains(t, refusals, c.code+": ", name)
		require.Equal(t, before, everything(b), name)
	}
	require.Empty(t, b.Operations.Started())

	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_source", url+"/huge.qcow2"), apitest.Add("/instance_info/image_checksum", digestOfAnImage)).Is(200)
	deploy := b.Get("/v1/nodes/n1/validate").Is(200)["deploy"].(map[string]any)
	require.Equal(t, "disk_too_small", deploy["code"])
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Fails(400), "needs 107 GB, and disk /dev/sda has 5.37 GB")
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Is(400)["help"].([]any)[0].(map[string]any)["command"], "image_source=URL")
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_source", "http://127.0.0.1:1/x")).Is(200)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "active"}).Is(202)
}

// An image that a request names is replaced in the request. What is set on the node would have no effect on it.
func TestARefusedImageIsNamedAnewWhereItWasNamed(t *testing.T) {
	t.Parallel()
	b := fetching(t)
	redfishNode(b)
	url := images(t)
	b.SQL(`INSERT INTO node_inventory (node_id, inventory) SELECT id, '{"disks": [{"name": "/dev/sda", "size": 5368709120}]}' FROM nodes`)
	b.Patch("/v1/nodes/n1", apitest.Add("/instance_info/image_source", url+"/huge.qcow2"), apitest.Add("/instance_info/image_checksum", digestOfAnImage)).Is(200)
	for name, c := range map[string]struct {
		state, verb string
		info        map[string]any
		want        string
	}{
		"a deploy with an image":  {"available", "active", map[string]any{"image_source": url + "/huge.qcow2"}, "temper node deploy n1 --image URL --checksum DIGEST"},
		"a rebuild with an image": {"active", "rebuild", map[string]any{"image_source": url + "/huge.qcow2"}, "temper node rebuild n1 --image URL --checksum DIGEST"},
		"one that is not there":   {"active", "rebuild", map[string]any{"image_source": url + "/gone.raw"}, "temper node rebuild n1 --image URL --checksum DIGEST"},
		"the image of the node":   {"available", "active", nil, "temper node set n1 --instance-info image_source=URL --instance-info image_checksum=DIGEST"},
	} {
		b.SQL(`UPDATE nodes SET provision_state = $1`, c.state)
		body := map[string]any{"verb": c.verb}
		if c.info != nil {
			body["instance_info"] = c.info
		}
		refused := b.Post(work, body).Is(400)
		require.Equal(t, c.want, refused["help"].([]any)[0].(map[string]any)["command"], name)
		body["dry_run"] = true
		tried := b.Post(work, body).Is(200)["refusals"].([]any)[0].(map[string]any)
		require.Equal(t, refused["help"], tried["help"], name)
	}
}

func TestADryRunTellsAllReasonsAtOnce(t *testing.T) {
	t.Parallel()
	b := fetching(t)
	redfishNode(b)
	b.Kill("c1", "c2")
	b.Conductor("c3", "elsewhere", "redfish")
	b.Patch("/v1/nodes/n1", apitest.Remove("/driver_info/deploy_iso"), apitest.Add("/instance_info/traits", []string{"CUSTOM_X"})).Is(200)
	b.SQL(`UPDATE nodes SET provision_state = 'active', maintenance = true, protected = true, disable_power_off = true`)
	before := everything(b)
	_, refusals, _ := trial(b, map[string]any{"verb": "rebuild", "instance_info": map[string]any{"image_source": "http://i/x"}})
	for _, want := range []string{
		"node_in_maintenance: ", "node_protected: ", "its disable_power_off is set", "no_conductor: ", "image_invalid: ", "CUSTOM_X", "deploy_iso",
	} {
		require.Contains(t, refusals, want)
	}
	require.Equal(t, before, everything(b))

	mends := map[string]string{}
	for _, r := range b.Post(work, map[string]any{"verb": "rebuild", "instance_info": map[string]any{"image_source": "http://i/x"}, "dry_run": true}).Is(200)["refusals"].([]any) {
		r := r.(map[string]any)
		help := r["help"].([]any)
		if r["code"] == "invalid_request" { // the message says which field it is
			continue
		}
		require.NotEmpty(t, help, "nothing is said that mends %s: %s", r["code"], r["message"])
		for _, h := range help {
			mends[r["code"].(string)] += h.(map[string]any)["command"].(string) + "\n"
		}
	}
	for code, want := range map[string]string{
		"node_in_maintenance": "temper node maintenance unset n1\n", "node_protected": "temper node set n1 --protected=false\n",
		"no_conductor": "temper conductor list\ntemper conductor --name c[12] --enabled-drivers fake-hardware,redfish --config /etc/temper.yaml\ntemper node set n1 --conductor-group elsewhere\n",
	} {
		require.Regexp(t, "^"+want+"$", mends[code], code)
	}
}

func TestADryRunOfAnyVerbChangesNothing(t *testing.T) {
	t.Parallel()
	b := fetching(t)
	b.In("n1", node.Available)
	b.SQL(`UPDATE nodes SET owed = '["power off"]'`)
	before := everything(b)
	verbs := append([]string{}, "power on", "power off", "rebooting", "soft rebooting", "soft power off")
	for _, v := range node.Verbs {
		verbs = append(verbs, v.Target)
	}
	accepted := 0
	for _, state := range []node.State{node.Enroll, node.Manageable, node.Available, node.Active} {
		b.SQL(`UPDATE nodes SET provision_state = $1`, string(state))
		before = everything(b)
		for _, verb := range verbs {
			body := map[string]any{"verb": verb}
			switch verb {
			case "service":
				body["steps"] = []any{map[string]any{"interface": "bios", "step": "factory_reset"}}
			case "clean":
				body["steps"] = []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
			}
			ok, refusals, _ := trial(b, body)
			if ok {
				accepted++
			} else {
				require.NotEmpty(t, refusals)
			}
			require.Equal(t, before, everything(b), "%s in %s", verb, state)
		}
	}
	require.Greater(t, accepted, 10)
	_, _, notes := trial(b, map[string]any{"verb": "rebuild"})
	require.Contains(t, notes, "what earlier work left (power off) is undone by its own steps")
	require.Equal(t, before, everything(b))
	require.Empty(t, b.Operations.Started())
}

// What a request would wait for is no reason against it.
func TestADryRunOfARequestThatWouldWaitIsAccepted(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.NodeLockedWait = time.Hour }).WithConductors()
	b.In("n1", node.Available)
	b.Put("/v1/nodes/n1/states/power", map[string]any{"target": "power on"}).Is(202)
	accepted, refusals, notes := trial(b, map[string]any{"verb": "manage"})
	require.True(t, accepted, refusals)
	require.Contains(t, notes, "(power) holds the node: the request waits for its end")
	accepted, refusals, notes = trial(b, map[string]any{"verb": "rebuild"})
	require.False(t, accepted)
	require.Contains(t, refusals, "can not be performed")
	require.NotContains(t, refusals+notes, "locked")
}
