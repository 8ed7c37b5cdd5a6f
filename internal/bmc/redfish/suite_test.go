package redfish_test

import (
	"io"
	"net/http"
	"testing"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/node"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]any{
		"by session":          nil,
		"by basic":            {"redfish_auth_type": "basic"},
		"with a named system": {"redfish_system_id": sysPath},
	} {
		t.Run(name, func(t *testing.T) {
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig { return rig(t, newFixture(t), more) })
		})
	}
}

func TestConformanceOfMediaWithoutActions(t *testing.T) {
	t.Parallel()
	bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
		f := newFixture(t)
		f.set("media without actions", true)
		return rig(t, f, nil)
	})
}

func TestConformanceOfASystemThatCanDoLittle(t *testing.T) {
	t.Parallel()
	bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
		f := newFixture(t)
		f.set("/redfish/v1/Managers/1", map[string]any{"Id": "1"})
		f.set("system:Actions", map[string]any{"#ComputerSystem.Reset": map[string]any{
			"target": sysPath + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": []string{"On", "ForceOff"},
		}})
		r := rig(t, f, nil)
		r.Lacks = []bmctest.Capability{bmctest.SoftOff, bmctest.Restart, bmctest.NMI, bmctest.Media, bmctest.EjectDrives, bmctest.Subscription, bmctest.EventLog}
		return r
	})
}

// hardwareType is the entry of the driver.
func hardwareType() node.HardwareType {
	hw, _ := node.Hardware("redfish")
	return hw
}

// rig is the fixture as the suite wants it.
func rig(t *testing.T, f *fixture, more map[string]any) bmctest.Rig {
	return bmctest.Rig{
		Type:    hardwareType(),
		Lacks:   []bmctest.Capability{bmctest.Subscription, bmctest.EventLog},
		Driver:  redfish.New(quick()),
		Target:  bmc.Target{Node: nodeID, Info: f.info(more)},
		Changes: func() int { return len(f.changed()) },
		Hang:    func() func() { return f.hang(t) },
		BadInfo: map[string]any{"redfish_address": "ftp://x"},
	}
}

// hang takes requests and does not answer until it is released.
func (f *fixture) hang(t *testing.T) func() {
	release := make(chan struct{})
	free := func() {
		select {
		case <-release:
		default:
			close(release)
		}
	}
	t.Cleanup(free)
	silent := func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
			return false
		default:
		}
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch} {
		f.on(method, "", silent)
	}
	return free
}
