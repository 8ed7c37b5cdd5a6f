package system_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// zeros is a digest that no image has.
var zeros = strings.Repeat("0", 64)

func TestAnImageThatIsNoGoodFailsTheDeployAndNothingElse(t *testing.T) {
	t.Parallel()
	s := world(t)
	small := ownRack(t, s.APIURL, sim.Config{Servers: 1, DiskBytes: int64(len(body)) / 2})
	l := newLibrary(t, nil)
	for name, c := range map[string]struct {
		rack    *rack
		source  string
		more    map[string]any
		faults  []fault
		refused string // words with which the API refuses the deploy; "" = it can't know
		words   []string
	}{
		"it is not there":            {source: l.url + "/none.raw", refused: "the server answered 404", words: []string{"status code 404 from " + l.url + "/none.raw"}},
		"its server is gone":         {source: "http://127.0.0.1:1/disk.raw", words: []string{"http://127.0.0.1:1/disk.raw", "connection refused"}},
		"it ends in the middle":      {source: l.url + "/cut.raw", words: []string{"cut.raw", "Unable to write image", "IncompleteRead(524288 bytes read, 524288 more expected)"}},
		"its checksum is wrong":      {source: l.url + "/good.raw", more: sha256sum(zeros), words: []string{"Image failed to verify against checksum", zeros, l.sha256}},
		"it arrives damaged":         {source: l.url + "/good.raw", faults: []fault{{Kind: "wrong_checksum"}}, words: []string{"Image failed to verify against checksum", l.sha256}},
		"it is larger than the disk": {rack: small, source: l.url + "/good.raw", words: []string{"good.raw", "No space left on device"}},
		"its file of checksums is not there": {
			source: l.url + "/good.raw", more: map[string]any{"image_checksum": l.url + "/NOSUMS"}, refused: "the server answered 404", words: []string{"/NOSUMS", "the server answered 404"},
		},
		"its file of checksums names others only": {
			source: l.url + "/none.raw", more: map[string]any{"image_checksum": l.url + "/SUMS"}, refused: "no usable digest", words: []string{"no usable digest for none.raw"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.rack
			if c.rack != nil {
				r = c.rack
			}
			n := available(t, s, r)
			info := map[string]any{"image_source": c.source, "image_disk_format": "raw"}
			if c.more == nil {
				c.more = sha256sum(l.sha256)
			}
			maps.Copy(info, c.more)
			if c.refused != "" {
				n.refusedFor(info, c.refused)
			}
			n.patch("instance_info", info)
			n.spoil(c.faults...)
			deploy := n.provision("active", nil)
			n.deployFailed(deploy, c.words...)
			if c.refused == "" {
				n.logged(deploy, "deploy.write_image", "execute_deploy_step")
			}
			sv := n.hardware()
			require.Empty(t, sv.DiskSHA256, "what does not check is no image")
			require.Equal(t, []string{"On Off->On", "ForceOff On->Off"}, effects(sv.Actions))
			require.LessOrEqual(t, len(sv.steps()), 1, "an image that is no good is not written again")

			if c.rack != nil {
				return // no image fits there
			}
			n.spoil()
			n.image(l.url+"/good.raw", l.sha256)
			n.deployed(n.provision("active", nil), l.sha256)
		})
	}
}

// refusedFor has the API refuse an image. Then it gives the image a secret, which only conductors can open, so that the API
// accepts what it can't look at.
func (n *node) refusedFor(info map[string]any, words string) {
	n.t.Helper()
	n.patch("instance_info", info)
	require.Contains(n.t, n.refused(http.StatusBadRequest, "active", nil), words)
	info["image_request_authorization_secret"] = "Bearer of nothing"
}

func sha256sum(value string) map[string]any {
	return map[string]any{"image_os_hash_algo": "sha256", "image_os_hash_value": value}
}

func TestAChecksumMayBeTheURLOfAFileOfChecksums(t *testing.T) {
	t.Parallel()
	s := world(t)
	l := newLibrary(t, nil)
	for name, more := range map[string]map[string]any{
		"in image_checksum":                         {"image_checksum": l.url + "/SUMS"},
		"in image_os_hash_value with its algorithm": sha256sum(l.url + "/SUMS"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := available(t, s, s.rack)
			info := map[string]any{"image_source": l.url + "/good.raw", "image_disk_format": "raw"}
			maps.Copy(info, more)
			n.patch("instance_info", info)
			n.deployed(n.provision("active", nil), l.sha256)
		})
	}
}

// An image whose format is given as raw is written as it is. The agent inspects every other one, and refuses formats that it
// does not know.
func TestTheFormatOfAnImageIsFoundWhereItIsNotGiven(t *testing.T) {
	t.Parallel()
	s := world(t)
	l := newLibrary(t, nil)
	of := func(name string) string {
		sum := sha256.Sum256(beginning(beginnings[name]))
		return hex.EncodeToString(sum[:])
	}
	for name, c := range map[string]struct {
		source, sha256, format, fails string
		refused                       bool // by the API, with the same words
	}{
		"a disk with a partition table":      {source: s.rack.url + "/images/disk.raw", sha256: digest(t, s.rack)},
		"one that is called gpt":             {source: s.rack.url + "/images/disk.raw", sha256: digest(t, s.rack), format: "gpt"},
		"a file system":                      {source: l.url + "/files.img", sha256: of("files.img")},
		"qcow2 by another name":              {source: l.url + "/cloud.img", sha256: of("cloud.img")},
		"one that no disk can be made of":    {source: l.url + "/windows.img", sha256: of("windows.img"), fails: "is a vmdk image", refused: true},
		"one that is not what it is said to": {source: l.url + "/files.img", sha256: of("files.img"), format: "qcow2", fails: "Expected format was qcow2, but image was actually raw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := available(t, s, s.rack)
			info := map[string]any{"image_source": c.source}
			maps.Copy(info, sha256sum(c.sha256))
			if c.format != "" {
				info["image_disk_format"] = c.format
			}
			if c.refused {
				n.refusedFor(info, c.fails)
			}
			n.patch("instance_info", info)
			id := n.provision("active", nil)
			if c.fails != "" {
				n.deployFailed(id, c.fails)
				return
			}
			n.deployed(id, c.sha256)
		})
	}
}

func TestADeployThatCouldNotSucceedIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	source := s.rack.url + "/images/disk.raw"
	server := n.hardware()
	for name, c := range map[string]struct {
		info  map[string]any
		words string
	}{
		"no image":                 {map[string]any{}, "Missing are: ['image_source']"},
		"no checksum":              {map[string]any{"image_source": source}, `image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" must be provided`},
		"an MD5":                   {map[string]any{"image_source": source, "image_checksum": strings.Repeat("0", 32)}, "is MD5, which is refused because MD5 can be forged"},
		"an MD5 that says so":      {map[string]any{"image_source": source, "image_os_hash_algo": "md5", "image_os_hash_value": strings.Repeat("0", 32)}, "is MD5, which is refused"},
		"an MD5 of no length":      {map[string]any{"image_source": source, "image_os_hash_algo": "md5", "image_os_hash_value": "abc"}, "is MD5, which is refused"},
		"half a digest":            {map[string]any{"image_source": source, "image_os_hash_algo": "sha256", "image_os_hash_value": zeros[1:]}, "is no digest"},
		"a digest of another kind": {map[string]any{"image_source": source, "image_os_hash_algo": "sha512", "image_os_hash_value": zeros}, "has the length of a sha256 digest"},
		"an image on the agent":    {map[string]any{"image_source": "file:///images/../etc/passwd", "image_checksum": zeros}, "want a file as file:///FOLDER/NAME, without .. in it"},
		"traits it does not have":  {map[string]any{"image_source": source, "image_checksum": zeros, "traits": []any{"CUSTOM_GOLD"}}, "missing traits CUSTOM_GOLD"},
	} {
		t.Run(name, func(t *testing.T) {
			n := n.as(t)
			n.patch("instance_info", c.info)
			before := n.written()
			words := n.refused(http.StatusBadRequest, "active", nil)
			require.Contains(t, words, "Failed to validate deploy or power info for node "+n.uuid+": ")
			require.Contains(t, words, c.words)
			require.Equal(t, before, n.written(), "a refused request changes nothing")
		})
	}
	after := n.hardware()
	// Its power state may be read during the test, by a conductor that has no session with it yet. This changes nothing.
	after.Requests, after.Sessions = server.Requests, server.Sessions
	require.Equal(t, server, after, "nothing of it changes the server")
	n.free(n.now())
}

// as is the node for a subtest.
func (n *node) as(t *testing.T) *node {
	other := *n
	other.t = t
	return &other
}

// written is what people and operations have written of the node: what the API shows of it, without what the fleet changes
// by itself at any time, namely the conductor that serves it and when its power was read.
func (n *node) written() map[string]any {
	n.t.Helper()
	var shown map[string]any
	body := n.s.must(n.t, http.StatusOK, http.MethodGet, "/v1/nodes/"+n.uuid, nil).Body
	require.NoError(n.t, json.Unmarshal(body, &shown))
	delete(shown, "conductor")
	internal, ok := shown["driver_internal_info"].(map[string]any)
	require.True(n.t, ok, "driver_internal_info is an object")
	delete(internal, "temper_power_read_at")
	return shown
}

// logged looks that the newest log of n is the agent's, of the step of an operation, and has the words.
func (n *node) logged(operation, step string, words ...string) {
	n.t.Helper()
	var answer struct {
		Logs []struct {
			Operation int64
			Kind      string
			Step      string
			Content   string
		}
	}
	require.NoError(n.t, n.s.read("/temper/v1/nodes/"+n.uuid+"/logs", &answer))
	require.NotEmpty(n.t, answer.Logs)
	newest := answer.Logs[0]
	require.Equal(n.t, []string{operation, "agent", step}, []string{strconv.FormatInt(newest.Operation, 10), newest.Kind, newest.Step})
	for _, w := range words {
		require.Contains(n.t, newest.Content, w)
	}
}
