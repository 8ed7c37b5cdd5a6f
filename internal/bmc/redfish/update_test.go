package redfish_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// firmwareServer serves images of firmware for simulated servers: /COMPONENT/VERSION.
func firmwareServer(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/{component}/{version}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"component": "` + r.PathValue("component") + `", "version": "` + r.PathValue("version") + `"}`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// version returns the version of a component.
func version(t *testing.T, s bmc.Session, component string) string {
	t.Helper()
	all, err := s.Firmware(t.Context())
	require.NoError(t, err)
	for _, v := range all {
		if v.Component == component {
			return v.Version
		}
	}
	return ""
}

// install has the BMC install an image, and returns its task when it has ended.
func install(t *testing.T, s bmc.Session, url string) bmc.Task {
	t.Helper()
	at, err := s.UpdateFirmware(t.Context(), bmc.FirmwareImage{URL: url})
	require.NoError(t, err)
	require.NotEmpty(t, at)
	var task bmc.Task
	require.Eventually(t, func() bool {
		task, err = s.Task(t.Context(), at)
		if fault.Is(err, fault.NotFound) {
			task, err = bmc.Task{State: bmc.TaskEnded}, nil
		}
		if fault.Is(err, fault.Busy) { // the BMC restarts
			return false
		}
		require.NoError(t, err)
		return task.State == bmc.TaskEnded || task.State == bmc.TaskFailed
	}, 10*time.Second, time.Millisecond)
	return task
}

func TestFirmwareIsUpdatedByURL(t *testing.T) {
	t.Parallel()
	images := firmwareServer(t)
	for _, persona := range []string{"generic", "idrac9", "ilo5"} {
		t.Run(persona, func(t *testing.T) {
			t.Parallel()
			rack := startRack(t, sim.Config{Personas: []string{persona}})
			s := talk(t, newDriver(t, quick()), listed(t, rack).info())
			was := version(t, s, "bios")
			require.NotEmpty(t, was)
			require.NotEmpty(t, version(t, s, "bmc"))

			known, err := s.Tasks(t.Context())
			require.NoError(t, err)
			require.Equal(t, bmc.TaskEnded, install(t, s, images+"/BIOS/9.9").State)
			require.Equal(t, was, version(t, s, "bios"), "it waits for a boot")
			now, err := s.Tasks(t.Context())
			require.NoError(t, err)
			require.Len(t, now, len(known)+1)
			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
			require.Eventually(t, func() bool { return version(t, s, "bios") == "9.9" }, 10*time.Second, time.Millisecond)

			require.Equal(t, bmc.TaskEnded, install(t, s, images+"/BMC/7.0").State)
			require.Eventually(t, func() bool {
				all, err := s.Firmware(t.Context())
				return err == nil && len(all) > 1 && all[1] == bmc.FirmwareVersion{Component: "bmc", Version: "7.0"}
			}, 10*time.Second, time.Millisecond)
		})
	}
}

func TestTheVersionOfANetworkAdaptersFirmware(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	require.Equal(t, "22.31.6", version(t, s, "nic:1"))
	require.Equal(t, bmc.TaskEnded, install(t, s, firmwareServer(t)+"/NIC/23.1").State)
	require.Equal(t, "23.1", version(t, s, "nic:1"))
}

func TestAnUpdateOfFirmwareThatFails(t *testing.T) {
	t.Parallel()
	images := firmwareServer(t)
	rack := startRack(t, sim.Config{})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	task := install(t, s, images+"/Toaster/1")
	require.Equal(t, bmc.TaskFailed, task.State)
	require.Equal(t, "Exception", task.Word)
	require.Contains(t, task.Messages, `no component "Toaster"`)
	setFaults(t, rack, `{"kind":"failed_firmware","count":1}`)
	require.Contains(t, install(t, s, images+"/BIOS/9.9").Messages, "the signature of the image is wrong")
	setFaults(t, rack, `{"kind":"ignored_firmware","count":1}`)
	was := version(t, s, "nic:1")
	require.Equal(t, bmc.TaskEnded, install(t, s, images+"/NIC/9.9").State)
	require.Equal(t, was, version(t, s, "nic:1"))

	_, err := s.UpdateFirmware(t.Context(), bmc.FirmwareImage{URL: "ftp://me:hunter2@example.org/x"})
	requireFault(t, err, fault.Refused, "no firmware by FTP, only by HTTP, HTTPS")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = s.Task(t.Context(), "/redfish/v1/TaskService/Tasks/none")
	requireFault(t, err, fault.NotFound)
}

// Some BMCs tell of the task only by the header, where its monitor is, which answers as the action would have.
func TestATaskThatOnlyHasAMonitor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const service, monitor = "/redfish/v1/UpdateService", "/redfish/v1/monitors/7"
	f.set("/redfish/v1/", map[string]any{
		"Systems": link("/redfish/v1/Systems"), "UpdateService": link(service),
		"Links": map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")},
	})
	f.set(service, map[string]any{"Actions": map[string]any{"#UpdateService.SimpleUpdate": map[string]any{"target": service + "/go"}}})
	f.on(http.MethodPost, service+"/go", func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", monitor)
		w.WriteHeader(http.StatusAccepted)
		return true
	})
	answers := make(chan func(http.ResponseWriter), 3)
	f.on(http.MethodGet, monitor, func(w http.ResponseWriter, _ *http.Request) bool { (<-answers)(w); return true })
	answers <- func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) }
	answers <- func(w http.ResponseWriter) { message(w, http.StatusBadRequest, "GeneralError", "wrong machine") }
	answers <- func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }
	s := talk(t, newDriver(t, quick()), f.info(nil))
	at, err := s.UpdateFirmware(t.Context(), bmc.FirmwareImage{URL: "https://images.example.org/bios"})
	require.NoError(t, err)
	require.Equal(t, monitor, at)
	for _, want := range []bmc.TaskState{bmc.TaskRuns, bmc.TaskFailed, bmc.TaskEnded} {
		task, err := s.Task(t.Context(), at)
		require.NoError(t, err)
		require.Equal(t, want, task.State)
		if want == bmc.TaskFailed {
			require.Contains(t, task.Messages, "wrong machine")
		}
	}
}

// A BMC that keeps many tasks appends the new one, on one page or on several.
func TestTheLastTasksAreListed(t *testing.T) {
	t.Parallel()
	const service, tasks = "/redfish/v1/TaskService", "/redfish/v1/TaskService/Tasks"
	f := newFixture(t)
	f.set("/redfish/v1/", map[string]any{
		"Systems": link("/redfish/v1/Systems"), "Tasks": link(service), "Links": map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")},
	})
	f.set(service, map[string]any{"Tasks": link(tasks)})
	list := func(from, to int) (members []any) {
		for i := from; i <= to; i++ {
			members = append(members, link(tasks+"/"+strconv.Itoa(i)))
		}
		return members
	}
	s := talk(t, newDriver(t, quick()), f.info(nil))
	for _, onFirst := range []int{300, 200} {
		first := map[string]any{"Members": list(1, onFirst)}
		if onFirst < 300 {
			first["Members@odata.nextLink"] = tasks + "Page2"
			f.set(tasks+"Page2", map[string]any{"Members": list(onFirst+1, 300)})
		}
		f.set(tasks, first)
		known, err := s.Tasks(t.Context())
		require.NoError(t, err)
		require.Len(t, known, 128)
		require.Equal(t, []string{tasks + "/173", tasks + "/300"}, []string{known[0], known[127]})
	}
}

// A task that starts may have begun: the server is not booted for it.
func TestATaskThatStartsRuns(t *testing.T) {
	t.Parallel()
	const task = "/redfish/v1/TaskService/Tasks/1"
	f := newFixture(t)
	s := talk(t, newDriver(t, quick()), f.info(nil))
	for word, want := range map[string]bmc.TaskState{"Starting": bmc.TaskRuns, "Pending": bmc.TaskWaits} {
		f.set(task, map[string]any{"TaskState": word})
		now, err := s.Task(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, want, now.State, word)
	}
}

// memory is an image of firmware that was fetched.
type memory struct {
	*bytes.Reader
	closed *atomic.Int32
}

func (m memory) Close() error { m.closed.Add(1); return nil }

// A BMC that does not fetch images, or one whose image is to be checked before, gets it with the request.
func TestFirmwareIsPushed(t *testing.T) {
	t.Parallel()
	const service = "/redfish/v1/UpdateService"
	for name, c := range map[string]struct {
		protocol string
		checked  bool
		leave    string // the way that the BMC does not have
		way      string
	}{
		"in parts":                        {"nfs", false, "", "POST " + service + "/update-multipart"},
		"alone":                           {"nfs", false, "MultipartHttpPushUri", "POST " + service + "/update"},
		"because it was checked":          {"http", true, "", "POST " + service + "/update-multipart"},
		"fetched where there is no other": {"http", false, "", "POST " + service + "/Actions/UpdateService.SimpleUpdate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rack := startRack(t, sim.Config{})
			l := listed(t, rack)
			var seen []string
			var mu sync.Mutex
			target, err := url.Parse(rack)
			require.NoError(t, err)
			proxy := httputil.NewSingleHostReverseProxy(target)
			transport := &http.Transport{}
			proxy.Transport = transport
			proxy.ModifyResponse = func(r *http.Response) error {
				mu.Lock()
				seen = append(seen, r.Request.Method+" "+r.Request.URL.Path[strings.Index(r.Request.URL.Path, "/redfish"):])
				mu.Unlock()
				if c.leave != "" && strings.HasSuffix(r.Request.URL.Path, "/UpdateService") {
					b, err := io.ReadAll(r.Body)
					if err != nil {
						return err
					}
					b = []byte(strings.ReplaceAll(string(b), c.leave, strings.Repeat("x", len(c.leave))))
					r.Body = io.NopCloser(bytes.NewReader(b))
				}
				return nil
			}
			front := httptest.NewServer(proxy)
			t.Cleanup(func() { front.Close(); transport.CloseIdleConnections() })
			info := l.info()
			info["redfish_address"] = strings.Replace(l.Address, rack, front.URL, 1)
			s := talk(t, newDriver(t, quick()), info)

			var closed atomic.Int32
			image := bmc.FirmwareImage{
				URL: strings.Replace(firmwareServer(t), "http", c.protocol, 1) + "/NIC/23.1", Checked: c.checked,
				Open: func(context.Context) (bmc.FirmwareFile, error) {
					return memory{bytes.NewReader([]byte(`{"component": "NIC", "version": "23.1"}`)), &closed}, nil
				},
			}
			at, err := s.UpdateFirmware(t.Context(), image)
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				task, err := s.Task(t.Context(), at)
				require.NoError(t, err)
				require.NotEqual(t, bmc.TaskFailed, task.State, task.Messages)
				return task.Over()
			}, 10*time.Second, time.Millisecond)
			require.Equal(t, "23.1", version(t, s, "nic:1"))
			mu.Lock()
			defer mu.Unlock()
			require.Contains(t, seen, c.way)
			require.Equal(t, strings.Contains(c.way, "/update"), closed.Load() == 1)
		})
	}
}

func TestAnImageThatCannotBeFetchedIsNotPushed(t *testing.T) {
	t.Parallel()
	s := talk(t, newDriver(t, quick()), listed(t, startRack(t, sim.Config{})).info())
	_, err := s.UpdateFirmware(t.Context(), bmc.FirmwareImage{URL: "https://images.example.org/x", Checked: true, Open: func(context.Context) (bmc.FirmwareFile, error) {
		return nil, fault.Coded(fault.ImageDigestDiffers, "its checksum differs")
	}})
	require.ErrorContains(t, err, "its checksum differs")
	require.Equal(t, fault.ImageDigestDiffers, fault.CodeOf(err))
	known, err := s.Tasks(t.Context())
	require.NoError(t, err)
	require.Empty(t, known)
}
