package sim_test

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" // clients may still request it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

// files serves an image, and variants with the mistakes that people make.
func files(t *testing.T, image []byte) *httptest.Server {
	sum := sha256.Sum256(image)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/disk.raw":
			_, _ = w.Write(image)
		case "/truncated":
			w.Header().Set("Content-Length", fmt.Sprint(len(image)))
			_, _ = w.Write(image[:1000])
		case "/digest":
			fmt.Fprintf(w, "%x\n", sum)
		case "/SHA256SUMS":
			fmt.Fprintf(w, "%064d  other.raw\n%x *disk.raw\n", 0, sum)
		case "/configdrive":
			fmt.Fprint(w, configDrive("from a URL"))
		case "/secret.raw":
			if user, pass, ok := r.BasicAuth(); !ok || user != "u" || pass != "p" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write(image)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func configDrive(content string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestAnImageIsReadCheckedAndWritten(t *testing.T) {
	t.Parallel()
	image := bytes.Repeat([]byte("a disk image "), 5000)
	sum256, sum512, sumMD5 := sha256.Sum256(image), sha512.Sum512(image), md5.Sum(image)
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL, DiskBytes: 1 << 20}))
	r := s.boot(i)
	write := func(id, more string) map[string]any {
		return r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":%q,"disk_format":"raw","stream_raw_images":true,%s}}`, id, more))
	}
	disk := `"urls":["` + srv.URL + `/disk.raw"]`
	for name, c := range map[string]struct{ more, class, details string }{
		"a sha256":                            {more: disk + fmt.Sprintf(`,"os_hash_algo":"sha256","os_hash_value":"%x"`, sum256)},
		"a sha512":                            {more: disk + fmt.Sprintf(`,"os_hash_algo":"sha512","os_hash_value":"%X"`, sum512)},
		"a checksum whose length tells":       {more: disk + fmt.Sprintf(`,"checksum":"%x"`, sum256)},
		"a checksum at a URL":                 {more: disk + `,"checksum":"` + srv.URL + `/digest"`},
		"a file of checksums":                 {more: disk + `,"os_hash_algo":"sha256","os_hash_value":"` + srv.URL + `/SHA256SUMS"`},
		"a second URL where the first failed": {more: fmt.Sprintf(`"urls":["%s/none","%s/disk.raw"],"checksum":"%x"`, srv.URL, srv.URL, sum256)},
		"an image behind a password": {more: fmt.Sprintf(`"urls":["%s/secret.raw"],"checksum":"%x","image_request_authorization":"%s"`,
			srv.URL, sum256, base64.StdEncoding.EncodeToString([]byte("u:p")))},

		"another checksum": {disk + `,"os_hash_algo":"sha256","os_hash_value":"00ff"`, "ImageChecksumError", fmt.Sprintf(
			"Image failed to verify against checksum. location: DISK; image ID: NAME; image checksum: 00ff; verification checksum: %x", sum256)},
		"an image that is not there": {
			fmt.Sprintf(`"urls":["%s/none"],"checksum":"%x"`, srv.URL, sum256), "ImageDownloadError",
			"Received status code 404 from " + srv.URL + "/none, expected 200. Response body: 404 page not found",
		},
		"an image server that is not there": {
			fmt.Sprintf(`"urls":["http://127.0.0.1:1/x"],"checksum":"%x"`, sum256), "ImageDownloadError",
			"connection refused",
		},
		"an image cut short": {
			fmt.Sprintf(`"urls":["%s/truncated"],"checksum":"%x"`, srv.URL, sum256), "ImageDownloadError",
			"Unable to write image to device DISK. Error: ('Connection broken: IncompleteRead(1000 bytes read, 64000 more expected)'",
		},
		"no checksum":           {disk, "InvalidCommandParamsError", "Image checksum is not available"},
		"no URL":                {`"urls":[],"checksum":"x"`, "InvalidCommandParamsError", "Image 'urls' must be a list with at least one element."},
		"an unknown algorithm":  {disk + `,"os_hash_algo":"crc32","os_hash_value":"1"`, "RESTError", "Unable to verify image NAME with available checksums"},
		"md5, which is not on":  {disk + fmt.Sprintf(`,"checksum":"%x"`, sumMD5), "RESTError", "MD5"},
		"checksums without it":  {fmt.Sprintf(`"urls":["%s/x.raw"],"checksum":"%s/SHA256SUMS"`, srv.URL, srv.URL), "ImageDownloadError", "Checksum file does not contain name x.raw"},
		"no such checksum file": {disk + `,"checksum":"` + srv.URL + `/none"`, "ImageDownloadError", "Received status code 404"},
	} {
		t.Run(name, func(t *testing.T) {
			out := write(name, c.more)
			dev := s.rack.Server("sim-0001").Drives[0].Name
			if c.class != "" {
				require.Equal(t, "FAILED", out["command_status"])
				e := out["command_error"].(map[string]any)
				require.Equal(t, c.class, e["type"], "%v", e)
				want := strings.NewReplacer("DISK", dev, "NAME", name)
				require.Contains(t, e["details"], want.Replace(c.details))
				require.Nil(t, s.server("sim-0001").DiskSHA256, "nothing that failed stays")
				return
			}
			require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
			result := out["command_result"].(map[string]any)["deploy_result"].(map[string]any)["result"]
			require.Contains(t, result, "prepare_image: image ("+name+") written to device "+dev+" root_uuid=0x")
			require.Equal(t, hex.EncodeToString(sum256[:]), *s.server("sim-0001").DiskSHA256)
			r.step("clean", "erase_devices", `{}`)
			require.Nil(t, s.server("sim-0001").DiskSHA256)
		})
	}
	t.Run("md5 where it is on", func(t *testing.T) {
		i.mu.Lock()
		i.md5 = true // the lookup before the write sends it
		i.mu.Unlock()
		out := write("md5", disk+fmt.Sprintf(`,"checksum":"%x"`, sumMD5))
		require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
	})
}

// As the real agent does it: hints in instance_info come first, and the ones that the lookup right before the write has count.
func TestAnImageIsWrittenToTheDiskThatTheHintsName(t *testing.T) {
	t.Parallel()
	image := bytes.Repeat([]byte("a disk image "), 5000)
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL, DiskBytes: 1 << 20}))
	r := s.boot(i)
	drives := s.rack.Server("sim-0001").Drives
	for name, c := range map[string]struct{ properties, instance, device, fails string }{
		"no hints":               {`{}`, `{}`, drives[0].Name, ""},
		"a serial number":        {fmt.Sprintf(`{"root_device":{"serial":%q}}`, drives[1].Serial), `{}`, drives[1].Name, ""},
		"of the instance":        {`{"root_device":{"serial":"X"}}`, fmt.Sprintf(`{"root_device":{"wwn":%q}}`, drives[1].WWN), drives[1].Name, ""},
		"a name, and a kind":     {fmt.Sprintf(`{"root_device":{"name":%q,"rotational":false}}`, drives[0].Name), `{}`, drives[0].Name, ""},
		"hints that fit no disk": {`{"root_device":{"serial":"X"}}`, `{}`, "", "No suitable device was found for deployment using these hints: serial: X"},
		"hints that are wrong":   {`{"root_device":{"colour":"red"}}`, `{}`, "", "No devices could be found using the root device hints: there is no root device hint \"colour\""},
	} {
		t.Run(name, func(t *testing.T) {
			i.mu.Lock()
			i.properties, i.instance = c.properties, c.instance
			i.mu.Unlock()
			out := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":%q,"disk_format":"raw","urls":["%s/disk.raw"],"checksum":"%x"}}`, name, srv.URL, sha256.Sum256(image)))
			if c.fails != "" {
				e := out["command_error"].(map[string]any)
				require.Equal(t, "DeviceNotFound", e["type"])
				require.Contains(t, e["details"], c.fails)
				return
			}
			require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
			result := out["command_result"].(map[string]any)["deploy_result"].(map[string]any)["result"]
			require.Contains(t, result, "written to device "+c.device+" root_uuid=")
		})
	}
}

// The error texts are the real agent's (disk_utils.py, get_and_validate_image_format).
func TestAnImageIsCheckedForItsFormat(t *testing.T) {
	t.Parallel()
	begins := func(at int, what string) []byte {
		b := make([]byte, 64<<10)
		copy(b[at:], what)
		return b
	}
	qcow2, backed := begins(0, "QFI\xfb\x00\x00\x00\x03"), begins(0, "QFI\xfb\x00\x00\x00\x03")
	backed[15] = 104
	table := begins(510, "\x55\xaa")
	for name, c := range map[string]struct {
		image     []byte
		format    string
		permitted []string
		fails     string
	}{
		"qcow2":                               {image: qcow2},
		"qcow2 that is called so":             {image: qcow2, format: "qcow2"},
		"a partition table, called raw":       {image: table, format: "raw"},
		"a partition table":                   {image: table, fails: "Security: Detected image format was gpt, but only raw, qcow2 are allowed"},
		"a partition table, where it may be":  {image: table, permitted: []string{"raw", "gpt"}},
		"a partition table, called qcow2":     {image: table, permitted: []string{"qcow2", "gpt"}, format: "qcow2", fails: "Security: Expected format was qcow2, but image was actually gpt"},
		"qcow2 that would read another file":  {image: backed, fails: "Security: Image failed safety check"},
		"vmdk":                                {image: begins(0, "KDMV"), fails: "Security: Detected image format was vmdk, but only raw, qcow2 are allowed"},
		"what nobody knows":                   {image: begins(0, "hello")},
		"what nobody knows, where raw is not": {image: begins(0, "hello"), permitted: []string{"qcow2"}, fails: "Security: Detected image format was raw, but only qcow2 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := files(t, c.image)
			i := newIronic(t)
			i.formats = c.permitted
			s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL, DiskBytes: 1 << 20}))
			r := s.boot(i)
			out := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"i","disk_format":%q,"stream_raw_images":true,"urls":["%s/disk.raw"],"checksum":"%x"}}`,
				c.format, srv.URL, sha256.Sum256(c.image)))
			if c.fails != "" {
				require.Equal(t, "FAILED", out["command_status"])
				e := out["command_error"].(map[string]any)
				require.Equal(t, "InvalidImage", e["type"])
				require.Equal(t, c.fails, e["details"])
				require.Nil(t, s.server("sim-0001").DiskSHA256)
				return
			}
			require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(c.image)), *s.server("sim-0001").DiskSHA256)
		})
	}
}

func TestAnImageLargerThanTheDiskFails(t *testing.T) {
	t.Parallel()
	image := make([]byte, 100_000)
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL, DiskBytes: 50_000}))
	r := s.boot(i)
	out := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"big","urls":["%s/disk.raw"],"checksum":"%x"}}`, srv.URL, sha256.Sum256(image)))
	require.Equal(t, "FAILED", out["command_status"])
	require.Contains(t, out["command_error"].(map[string]any)["details"], "[Errno 28] No space left on device")
}

func TestADeployedServerBootsItsDiskUntilItIsCleaned(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	out := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"d","disk_format":"raw","urls":["%s/images/disk.raw"],"checksum":"%s/images/SHA256SUMS"},
		"configdrive":%q}`, s.rack.URL(), s.rack.URL(), configDrive("user data")))
	require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
	row := s.server("sim-0001")
	require.Equal(t, s.rack.ImageSHA256("disk.raw"), *row.DiskSHA256)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte("user data"))), *row.ConfigDriveSHA256)
	_, out = r.run("standby.get_partition_uuids", `{}`, "true")
	require.Regexp(t, "^0x[0-9a-f]{8}$", out["command_result"].(map[string]any)["root uuid"])
	_, out = r.run("image.install_bootloader", `{"root_uuid":"x","efi_system_part_uuid":null}`, "true")
	require.Equal(t, "SUCCEEDED", out["command_status"])
	require.EqualValues(t, 2, row.Lookups, "once at boot, once before the disk is written")

	b := s.bmc("sim-0001")
	r.run("standby.power_off", `{}`, "false")
	b.become("Off")
	b.reset("On")
	from := func(want machine.Source) func(sim.Server) bool {
		return func(v sim.Server) bool { return v.BootedFrom != nil && *v.BootedFrom == want }
	}
	s.eventually("sim-0001", "booted from disk", from(machine.Disk))
	require.EqualValues(t, 1, s.server("sim-0001").AgentBoots)

	i.mu.Lock()
	i.given = false
	i.mu.Unlock()
	r = s.boot(i)
	require.NotNil(t, s.server("sim-0001").DiskSHA256)
	r.step("clean", "erase_devices_metadata", `{}`)
	row = s.server("sim-0001")
	require.Nil(t, row.DiskSHA256)
	require.Nil(t, row.ConfigDriveSHA256)
	b.reset("ForceRestart")
	require.Nil(t, s.server("sim-0001").BootingFrom)
}

func TestConfigDrives(t *testing.T) {
	t.Parallel()
	image := []byte("an image")
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	for name, c := range map[string]struct{ drive, want, fails string }{
		"base64 of gzip":          {drive: configDrive("x"), want: "x"},
		"the URL of one":          {drive: srv.URL + "/configdrive", want: "from a URL"},
		"a URL that is not there": {drive: srv.URL + "/none", fails: "Received status code 404"},
		"no base64":               {drive: "???", fails: "not base64"},
		"no gzip":                 {drive: "aGVsbG8=", fails: "decompress"},
	} {
		t.Run(name, func(t *testing.T) {
			out := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":%q,"urls":["%s/disk.raw"],"checksum":"%x"},"configdrive":%q}`,
				name, srv.URL, sha256.Sum256(image), c.drive))
			if c.fails != "" {
				require.Equal(t, "FAILED", out["command_status"])
				require.Contains(t, out["command_error"].(map[string]any)["details"], c.fails)
				return
			}
			require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
			require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(c.want))), *s.server("sim-0001").ConfigDriveSHA256)
		})
	}
}

func TestAPartitionImageHasPartitions(t *testing.T) {
	t.Parallel()
	image := []byte("a file system")
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)
	out := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"p","image_type":"partition","urls":["%s/disk.raw"],"checksum":"%x"}}`,
		srv.URL, sha256.Sum256(image)))
	require.Equal(t, "SUCCEEDED", out["command_status"], "%v", out["command_error"])
	_, out = r.run("standby.get_partition_uuids", `{}`, "true")
	uuids := out["command_result"].(map[string]any)
	require.Len(t, uuids["root uuid"], 36)
	require.Contains(t, uuids["partitions"], "root")
}

func TestAgentFaults(t *testing.T) {
	t.Parallel()
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	image := fmt.Sprintf(`{"image_info":{"id":"f","disk_format":"raw","urls":["%s/images/disk.raw"],"checksum":"%s/images/SHA256SUMS"}}`, s.rack.URL(), s.rack.URL())
	again := func() *ramdisk {
		i.mu.Lock()
		i.given = false
		i.mu.Unlock()
		return s.boot(i)
	}
	t.Run("no_agent", func(t *testing.T) {
		s.faults("sim-0001", `{"kind":"no_agent","count":1}`)
		b := s.bmc("sim-0001")
		require.Equal(t, http.StatusNoContent, b.insert(s.rack.URL()+"/images/deploy.iso").status)
		b.setBoot("Cd", "Once")
		b.reset("On")
		row := s.eventually("sim-0001", "booted", func(v sim.Server) bool { return v.BootedFrom != nil })
		require.Zero(t, row.AgentBoots)
		require.Empty(t, i.seen())
	})
	t.Run("wrong_checksum", func(t *testing.T) {
		r := again()
		s.faults("sim-0001", `{"kind":"wrong_checksum","command":"write_image","count":1}`)
		require.Equal(t, "ImageChecksumError", r.step("deploy", "write_image", image)["command_error"].(map[string]any)["type"])
		require.Equal(t, "SUCCEEDED", r.step("deploy", "write_image", image)["command_status"])
	})
	t.Run("agent_dies in the middle of a write", func(t *testing.T) {
		r := again()
		s.faults("sim-0001", `{"kind":"agent_dies","command":"write_image","count":1}`)
		r.run("deploy.get_deploy_steps", `{"node":{},"ports":[]}`, "true")
		_, _, err := r.request(http.MethodPost, "/v1/commands/?wait=true&agent_token="+token,
			`{"name":"deploy.execute_deploy_step","params":{"step":{"step":"write_image","args":`+image+`},"node":{},"ports":[]}}`)
		require.Error(t, err)
		row := s.eventually("sim-0001", "dead", func(v sim.Server) bool { return v.AgentPhase == "dead" })
		require.Nil(t, row.DiskSHA256)
		require.Equal(t, "On", string(row.PowerState))
		require.Equal(t, "write_image", row.AgentCommands[len(row.AgentCommands)-1].Step)
		_, _, err = r.request(http.MethodGet, "/v1/status", "")
		require.Error(t, err)
	})
	t.Run("agent_reboots in the middle of a write", func(t *testing.T) {
		r := again()
		before := s.server("sim-0001")
		s.faults("sim-0001", `{"kind":"agent_reboots","command":"write_image","count":1}`)
		_, _, err := r.request(http.MethodPost, "/v1/commands/?wait=true&agent_token="+token,
			`{"name":"deploy.execute_deploy_step","params":{"step":{"step":"write_image","args":`+image+`},"node":{},"ports":[]}}`)
		require.Error(t, err)
		row := s.eventually("sim-0001", "locked down: it has no token, and is told none", func(v sim.Server) bool { return v.AgentPhase == "locked down" })
		require.Nil(t, row.DiskSHA256)
		require.Equal(t, before.AgentBoots+1, row.AgentBoots)
		require.Greater(t, row.Lookups, before.Lookups)
		last := row.PowerActions[len(row.PowerActions)-1]
		require.Equal(t, "agent_reboot On->On", fmt.Sprintf("%s %s->%s", last.ResetType, last.From, last.To))
		_, _, err = r.request(http.MethodGet, "/v1/status", "")
		require.Error(t, err)
	})
	t.Run("what an agent says is said twice, and it does not hear the answer", func(t *testing.T) {
		s.faults("sim-0001", `{"kind":"unheard","path":"/v1/heartbeat","count":1},{"kind":"twice","path":"/v1/continue_inspection","count":1},`+
			`{"kind":"twice","path":"/v1/commands","count":1}`)
		before := len(i.seen())
		r := again()
		said := func(what string) (n int) {
			for _, line := range i.seen()[before:] {
				if strings.HasPrefix(line, "POST /v1/"+what) {
					n++
				}
			}
			return n
		}
		require.Equal(t, 2, said("continue_inspection"))
		require.Eventually(t, func() bool { return said("heartbeat") >= 2 }, soon, tick, "it says so again")
		r.run("standby.sync", "{}", "true")
		require.Len(t, r.commands(), 2)
		require.Len(t, r.commands(), 1)
	})
	t.Run("agent_dies in a command that answers at once", func(t *testing.T) {
		r := again()
		s.faults("sim-0001", `{"kind":"agent_dies","command":"standby.sync","count":1}`)
		_, _, err := r.request(http.MethodPost, "/v1/commands/?agent_token="+token, `{"name":"standby.sync","params":{}}`)
		require.Error(t, err)
		s.eventually("sim-0001", "dead", func(v sim.Server) bool { return v.AgentPhase == "dead" })
	})
	t.Run("the answer to a command is lost", func(t *testing.T) {
		r := again()
		s.faults("sim-0001", `{"kind":"reset","when":"after","command":"erase_pstore","count":1}`)
		n := len(s.server("sim-0001").AgentCommands)
		_, _, err := r.request(http.MethodPost, "/v1/commands/?agent_token="+token,
			`{"name":"clean.execute_clean_step","params":{"step":{"step":"erase_pstore"},"node":{},"ports":[]}}`)
		require.Error(t, err)
		require.Len(t, s.server("sim-0001").AgentCommands, n+1)
		require.Len(t, r.commands(), 1, "asked, not repeated")
	})
	t.Run("a command that never arrives", func(t *testing.T) {
		r := again()
		s.faults("sim-0001", `{"kind":"unavailable","command":"sync","count":1}`)
		n := len(s.server("sim-0001").AgentCommands)
		res, err := r.http.Post(r.base+"/v1/commands/?agent_token="+token, "application/json", bytes.NewReader([]byte(`{"name":"standby.sync","params":{}}`)))
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
		require.Len(t, s.server("sim-0001").AgentCommands, n)
		require.Empty(t, r.commands())
	})
}
