//go:build linux

package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/daemon"
	"go.temper.dev/temper/internal/agent/lldp"
)

// What the collectors lldp and pci-devices of ironic-python-agent send, Temper's agent sends where they do.
func TestAnInspectionHasTheNeighboursAndPCIDevices(t *testing.T) {
	t.Parallel()
	var posted struct {
		Inventory struct {
			Interfaces []map[string]any
		}
		LLDP map[string][][2]any `json:"lldp_raw"`
		PCI  []map[string]string `json:"pci_devices"`
	}
	inspector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&posted); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(inspector.Close)
	root := t.TempDir()
	for file, content := range map[string]string{
		"sys/class/net/eno1/address": "52:54:00:00:00:01", "sys/class/net/eno1/carrier": "1", "sys/class/net/eno1/device/vendor": "0x8086",
		"sys/class/net/eno2/address": "52:54:00:00:00:02", "sys/class/net/eno2/carrier": "1", "sys/class/net/eno2/device/vendor": "0x8086",
		"sys/bus/pci/devices/0000:17:00.0/vendor": "0x8086", "sys/bus/pci/devices/0000:17:00.0/device": "0x1592",
		"sys/bus/pci/devices/0000:17:00.0/class": "0x020000", "sys/bus/pci/devices/0000:17:00.0/revision": "0x02",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(content), 0o600))
	}
	asked := []string{}
	start(t, newIronic(t), func(cfg *daemon.Config) {
		cfg.InspectionURL, cfg.MACs, cfg.Machine.Root = inspector.URL, nil, root
		cfg.LLDP = func(_ context.Context, interfaces []string) (map[string][]lldp.TLV, error) {
			asked = interfaces
			return map[string][]lldp.TLV{"eno1": {{Type: 1, Value: []byte{4, 0x88}}, {Type: 2, Value: []byte("\x05Eth1")}}}, errors.New("eno2 is gone")
		}
	})
	require.Equal(t, []string{"eno1", "eno2"}, asked)
	want := []any{[]any{1.0, "0488"}, []any{2.0, "0545746831"}}
	require.Equal(t, map[string][][2]any{"eno1": {{1.0, "0488"}, {2.0, "0545746831"}}}, posted.LLDP)
	require.Equal(t, want, posted.Inventory.Interfaces[0]["lldp"])
	require.Nil(t, posted.Inventory.Interfaces[1]["lldp"])
	require.Equal(t, []map[string]string{{"vendor_id": "8086", "product_id": "1592", "class": "020000", "revision": "02", "bus": "0000:17:00.0"}}, posted.PCI)
}
