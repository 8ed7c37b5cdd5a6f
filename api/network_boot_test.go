package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/bootimage"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/medium/mediumtest"
	"go.temper.dev/temper/internal/node"
)

// A server that boots by network gets its files by the MAC of its port, while an operation boots it. Whoever else asks gets a script
// that ends, and the agent gets its token from its first lookup.
func TestAServerBootsByNetworkWhileAnOperationBootsIt(t *testing.T) {
	t.Parallel()
	loaders := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(loaders, "snponly.efi"), []byte("iPXE"), 0o600))
	ramdisk, err := api.OpenRamdisk(api.RamdiskFiles{Image: mediumtest.Image(t, ""), Loaders: loaders, Others: bootimage.Config{Dir: t.TempDir(), Limit: 1 << 30, Reach: dial.Reach{Loopback: true}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ramdisk.Close()) })
	b := apitest.New(t, func(c *api.Config) { c.Ramdisk = ramdisk })
	b.WithConductors()
	uuid := b.WaitingWithPort("n1")
	b.SQL(`DELETE FROM agents`)
	b.SQL(`UPDATE operations SET phase = 'running', claim_seq = 1, claim_attempt = 1`)
	srv := httptest.NewServer(b.Handler)
	defer srv.Close()
	read := func(path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/netboot/"+path, nil)
		require.NoError(t, err)
		res, err := srv.Client().Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	mac := strings.ReplaceAll(apitest.MAC, ":", "-")
	status, script := read("boot.ipxe")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, script, "chain --autofree ${netX/mac:hexhyp}/script")

	_, loader := read("loader/snponly.efi")
	require.Equal(t, "iPXE", loader)
	for _, none := range []string{"loader/ipxe.efi", "loader/passwd"} {
		status, _ := read(none)
		require.Equal(t, http.StatusNotFound, status, none)
	}
	_, script = read(mac + "/script")
	require.Contains(t, script, "Temper boots nothing")
	require.NotContains(t, script, "kernel")

	_, err = b.Store.BeginBoot(t.Context(), b.LastOperation(uuid).ID, node.Claim{Seq: 1, Attempt: 1}, &node.BootMedium{
		Medium:  node.Medium{Network: true, APIURLs: []string{"http://api:6385"}, Append: "nofb"},
		KeyHash: func(uuid string) []byte { return medium.Hash(uuid) },
	})
	require.NoError(t, err)
	_, script = read(mac + "/script")
	require.Contains(t, script, "\nkernel --name kernel kernel initrd=initrd BOOTIF=01-${netX/mac:hexhyp} ")
	require.Contains(t, script, " ipa-api-url=http://api:6385 ipa-node-uuid="+uuid+" nofb || goto failed\n")
	require.NotContains(t, script, "token")
	total := len(script)
	for _, name := range []string{"kernel", "initrd"} {
		status, content := read(mac + "/" + name)
		require.Equal(t, http.StatusOK, status)
		require.NotEmpty(t, content)
		total += len(content)
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		assert.Equal(t, strconv.Itoa(total), b.Text(`SELECT medium_read_bytes::text FROM agents`))
	}, 10*time.Second, 50*time.Millisecond)
	for _, path := range []string{mac + "/passwd", "52-54-00-99-99-99/kernel", "no-mac/script"} {
		status, _ := read(path)
		require.Equal(t, http.StatusNotFound, status, path)
	}

	// A kernel of somebody else is fetched first: the server asks again until it is there.
	kernel := append(make([]byte, 0x202), "HdrS and more"...)
	release, origin := make(chan struct{}), http.NewServeMux()
	origin.HandleFunc("/kernel", func(w http.ResponseWriter, _ *http.Request) { <-release; _, _ = w.Write(kernel) })
	origin.HandleFunc("/initrd", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("initrd")) })
	files := httptest.NewServer(origin)
	defer files.Close()
	b.SQL(`UPDATE media SET contents = contents || jsonb_build_object('kernel', $1::text, 'initrd', $2::text)`, files.URL+"/kernel", files.URL+"/initrd")
	_, script = read(mac + "/script")
	require.Equal(t, medium.LaterScript, script)
	close(release)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, got := read(mac + "/kernel")
		assert.Equal(t, string(kernel), got)
	}, 20*time.Second, 100*time.Millisecond)
	b.SQL(`UPDATE media SET contents = contents || jsonb_build_object('kernel', $1::text)`, files.URL+"/none")
	_, script = read(mac + "/script")
	require.Equal(t, medium.FailedScript, script)

	b.SQL(`UPDATE operations SET phase = 'waiting'`)
	token, _ := b.At(62, http.MethodGet, "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	require.Greater(t, len(token), 20)
	b.SQL(`UPDATE operations SET phase = 'ended', ended_at = now(), outcome = 'succeeded'`)
	_, script = read(mac + "/script")
	require.Contains(t, script, "Temper boots nothing")
	status, _ = read(mac + "/initrd")
	require.Equal(t, http.StatusNotFound, status)
}

// Where servers are discovered, one that is not enrolled boots the agent until its inventory is there. Then its boots are left alone.
func TestAnUnknownServerBootsTheAgentOnce(t *testing.T) {
	t.Parallel()
	ramdisk, err := api.OpenRamdisk(api.RamdiskFiles{Image: mediumtest.Image(t, ""), Others: bootimage.Config{Dir: t.TempDir(), Limit: 1 << 30}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ramdisk.Close()) })
	b := apitest.New(t, func(c *api.Config) {
		c.Ramdisk, c.Discovery, c.Boot = ramdisk, true, node.BootSites{Default: node.BootSite{AgentURL: "http://api:6385/"}}
	})
	b.WithConductors()
	b.WaitingWithPort("n1")
	script := func(mac string) string { return string(b.Get("/netboot/" + mac + "/script").Body) }
	const unknown = "52:54:00:0b:00:01"
	require.Contains(t, script(unknown), " ipa-api-url=http://api:6385 ipa-inspection-callback-url=http://api:6385/v1/continue_inspection || goto failed\n")
	require.Contains(t, script(apitest.MAC), "Temper boots nothing", "n1 has a port of it")
	require.Empty(t, b.At(84, "POST", "/v1/continue_inspection", map[string]any{"inventory": map[string]any{
		"interfaces": []any{map[string]any{"mac_address": unknown}},
	}}).Is(202))
	require.Contains(t, script(unknown), "Temper boots nothing")
	found := b.Get("/temper/v1/discoveries").Is(200)["discoveries"].([]any)[0].(map[string]any)
	b.Delete("/temper/v1/discoveries/" + found["uuid"].(string)).Is(204)
	require.Contains(t, script(unknown), "ipa-inspection-callback-url=")
}
