package redfish_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/dial"
)

const (
	username = "admin"
	password = `pa"ss&wörd/<7>`
	nodeID   = "5d4b5a3c-0000-4000-8000-000000000001"
	sysPath  = "/redfish/v1/Systems/1"
	cdPath   = "/redfish/v1/Managers/1/VirtualMedia/Cd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a small BMC: one system, one virtual CD, sessions, and answers that
// a test can replace. It is written from the Redfish documents, not from the
// driver.
type fixture struct {
	srv *httptest.Server

	mu       sync.Mutex
	power    string
	boot     map[string]any
	etag     int
	cd       string
	tokens   map[string]bool
	logins   int // passwords that were received: requests for a session, and basic credentials
	changes  []string
	requests []string
	busy     int // requests under way
	maxBusy  int
	hooks    []hook
	docs     map[string]any // resources that only answer GET
}

// hook may answer a request instead of the fixture.
type hook func(w http.ResponseWriter, r *http.Request) (handled bool)

func newFixture(t *testing.T) *fixture {
	f := &fixture{
		power:  "Off",
		boot:   map[string]any{"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", "BootSourceOverrideMode": "UEFI"},
		tokens: map[string]bool{},
		docs:   documents(),
	}
	f.srv = httptest.NewServer(f)
	t.Cleanup(f.srv.Close)
	return f
}

// documents are the resources that never change.
func documents() map[string]any {
	members := func(paths ...string) map[string]any {
		list := []any{}
		for _, p := range paths {
			list = append(list, link(p))
		}
		return map[string]any{"Members": list, "Members@odata.count": len(list)}
	}
	return map[string]any{
		"/redfish/v1/":                               map[string]any{"RedfishVersion": "1.15.0", "Systems": link("/redfish/v1/Systems"), "Managers": link("/redfish/v1/Managers"), "SessionService": link("/redfish/v1/SessionService"), "Links": map[string]any{"Sessions": link("/redfish/v1/SessionService/Sessions")}},
		"/redfish/v1/Systems":                        members(sysPath),
		"/redfish/v1/Managers":                       members("/redfish/v1/Managers/1"),
		"/redfish/v1/Managers/1":                     map[string]any{"Id": "1", "VirtualMedia": link("/redfish/v1/Managers/1/VirtualMedia")},
		"/redfish/v1/Managers/1/VirtualMedia":        members("/redfish/v1/Managers/1/VirtualMedia/Floppy", cdPath),
		"/redfish/v1/Managers/1/VirtualMedia/Floppy": map[string]any{"MediaTypes": []string{"Floppy", "USBStick"}},
		sysPath + "/Processors":                      members(sysPath+"/Processors/1", sysPath+"/Processors/2"),
		sysPath + "/Processors/1":                    map[string]any{"Id": "CPU 1", "ProcessorType": "CPU", "InstructionSet": "x86-64", "Model": "Xeon", "TotalCores": 8, "TotalThreads": 16},
		sysPath + "/Processors/2":                    map[string]any{"Id": "CPU 2", "ProcessorType": "CPU", "InstructionSet": "x86-64", "Model": "Xeon", "TotalCores": 8, "TotalThreads": 16},
		sysPath + "/Storage":                         members(sysPath + "/Storage/1"),
		sysPath + "/Storage/1":                       map[string]any{"Drives": []any{link(sysPath + "/Storage/1/Drives/1"), link(sysPath + "/Storage/1/Drives/2")}},
		sysPath + "/Storage/1/Drives/1":              map[string]any{"Id": "1", "Name": "Disk 1", "CapacityBytes": 480103981056, "MediaType": "SSD", "SerialNumber": "S1", "Model": "PM883"},
		sysPath + "/Storage/1/Drives/2":              map[string]any{"Id": "2", "Name": "Disk 2", "CapacityBytes": 960197124096, "MediaType": "SSD", "Protocol": "NVMe", "SerialNumber": "S2", "Model": "P4510"},
		sysPath + "/EthernetInterfaces":              members(sysPath+"/EthernetInterfaces/1", sysPath+"/EthernetInterfaces/2"),
		sysPath + "/EthernetInterfaces/1":            map[string]any{"Id": "NIC.1", "MACAddress": "52:54:00:AA:BB:01", "LinkStatus": "LinkUp", "Status": map[string]any{"State": "Enabled"}},
		sysPath + "/EthernetInterfaces/2":            map[string]any{"Id": "NIC.2", "MACAddress": "52-54-00-aa-bb-02", "LinkStatus": "LinkDown", "InterfaceEnabled": false},
	}
}

func link(path string) map[string]any { return map[string]any{"@odata.id": path} }

// info is driver_info for the fixture; more sets or, with nil, unsets.
func (f *fixture) info(more map[string]any) map[string]any {
	out := map[string]any{"redfish_address": f.srv.URL, "redfish_username": username, "redfish_password": password}
	for k, v := range more {
		if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}

// on lets h answer the requests with this method and path suffix. The fixture answers those that h declines.
func (f *fixture) on(method, suffix string, h func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = append(f.hooks, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == method && strings.HasSuffix(r.URL.Path, suffix) && h(w, r)
	})
}

// once is like on, for the first such request only.
func (f *fixture) once(method, suffix string, h http.HandlerFunc) {
	f.times(1, method, suffix, h)
}

func (f *fixture) times(n int, method, suffix string, h http.HandlerFunc) {
	var mu sync.Mutex
	f.on(method, suffix, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		mine := n > 0
		n--
		mu.Unlock()
		if mine {
			h(w, r)
		}
		return mine
	})
}

// set replaces a resource.
func (f *fixture) set(path string, doc any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.docs[path] = doc
}

func (f *fixture) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// count returns how many requests began with prefix ("POST /redfish/v1/Sess").
func (f *fixture) count(prefix string) int {
	n := 0
	for _, r := range f.seen() {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func (f *fixture) changed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.changes)
}

func (f *fixture) shown() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logins
}

func (f *fixture) dropTokens() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.tokens)
}

func (f *fixture) openSessions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tokens)
}

func (f *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	f.busy++
	f.maxBusy = max(f.maxBusy, f.busy)
	hooks := slices.Clone(f.hooks)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.busy--
		f.mu.Unlock()
	}()
	for _, h := range hooks {
		if h(w, r) {
			return
		}
	}
	f.serve(w, r)
}

// serve answers as a BMC without faults.
func (f *fixture) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := r.URL.Path
	switch {
	case r.Method == http.MethodPost && path == "/redfish/v1/SessionService/Sessions":
		f.login(w, r)
		return
	case path != "/redfish/v1/" && !f.admits(r):
		message(w, http.StatusUnauthorized, "Base.1.8.NoValidSession", "There is no valid session established with the implementation.")
		return
	case r.Method == http.MethodDelete && strings.HasPrefix(path, "/redfish/v1/SessionService/Sessions/"):
		delete(f.tokens, strings.TrimPrefix(path, "/redfish/v1/SessionService/Sessions/"))
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method != http.MethodGet:
		f.change(w, r)
		return
	case path == sysPath:
		w.Header().Set("ETag", f.tag())
		reply(w, f.system())
		return
	case path == cdPath:
		reply(w, f.media())
		return
	}
	doc, ok := f.docs[path]
	if !ok {
		message(w, http.StatusNotFound, "Base.1.8.ResourceMissingAtURI", "The resource at the URI "+path+" was not found.")
		return
	}
	reply(w, doc)
}

func (f *fixture) tag() string { return fmt.Sprintf(`W/"%d"`, f.etag) }

func (f *fixture) login(w http.ResponseWriter, r *http.Request) {
	f.logins++
	var c struct{ UserName, Password string }
	if json.NewDecoder(r.Body).Decode(&c) != nil || c.UserName != username || c.Password != password {
		message(w, http.StatusUnauthorized, "Base.1.8.ResourceAtUriUnauthorized",
			fmt.Sprintf("While accessing the service, user %q with password %q was not authorized.", c.UserName, c.Password))
		return
	}
	token := fmt.Sprintf("token-%d", f.logins)
	f.tokens[token] = true
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", "/redfish/v1/SessionService/Sessions/"+token)
	w.WriteHeader(http.StatusCreated)
	reply(w, map[string]any{"@odata.id": "/redfish/v1/SessionService/Sessions/" + token})
}

func (f *fixture) admits(r *http.Request) bool {
	if user, pass, ok := r.BasicAuth(); ok {
		f.logins++
		return user == username && pass == password
	}
	return f.tokens[r.Header.Get("X-Auth-Token")]
}

func (f *fixture) system() map[string]any {
	boot := map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Pxe", "Hdd", "Cd", "BiosSetup"}}
	for k, v := range f.boot {
		boot[k] = v
	}
	doc := map[string]any{
		"@odata.id": sysPath, "Id": "1", "PowerState": f.power, "Boot": boot,
		"Manufacturer": "Contoso", "Model": "3500", "SerialNumber": "437XR1138R2", "UUID": "38947555-7742-3448-3784-823347823834",
		"Status":           map[string]any{"State": "Enabled", "Health": "OK", "HealthRollup": "Warning"},
		"ProcessorSummary": map[string]any{"Count": 2, "CoreCount": 16, "LogicalProcessorCount": 32, "Model": "Intel Xeon"},
		"MemorySummary":    map[string]any{"TotalSystemMemoryGiB": 96},
		"Processors":       link(sysPath + "/Processors"), "Storage": link(sysPath + "/Storage"),
		"EthernetInterfaces": link(sysPath + "/EthernetInterfaces"),
		"Links":              map[string]any{"ManagedBy": []any{link("/redfish/v1/Managers/1")}},
		"Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{
			"target":                            sysPath + "/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart", "Nmi"},
		}},
	}
	for k, v := range f.docs {
		if name, ok := strings.CutPrefix(k, "system:"); ok {
			if doc[name] = v; v == nil {
				delete(doc, name)
			}
		}
	}
	return doc
}

func (f *fixture) media() map[string]any {
	doc := map[string]any{
		"@odata.id": cdPath, "@odata.etag": f.tag(), "MediaTypes": []string{"CD", "DVD"}, "Inserted": f.cd != "", "Image": nil,
		"Actions": map[string]any{
			"#VirtualMedia.InsertMedia": map[string]any{"target": cdPath + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  map[string]any{"target": cdPath + "/Actions/VirtualMedia.EjectMedia"},
		},
	}
	if f.cd != "" {
		doc["Image"] = f.cd
	}
	if f.docs["media without actions"] != nil {
		delete(doc, "Actions")
	}
	return doc
}

// change carries out a POST or PATCH.
func (f *fixture) change(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ResetType string
		Image     *string
		Boot      map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		message(w, http.StatusBadRequest, "Base.1.8.MalformedJSON", "The request body submitted was malformed JSON.")
		return
	}
	if match := r.Header.Get("If-Match"); match != "" && match != f.tag() {
		message(w, http.StatusPreconditionFailed, "Base.1.8.PreconditionFailed", "The ETag supplied did not match.")
		return
	}
	name := r.URL.Path[strings.LastIndexAny(r.URL.Path, "./")+1:]
	switch {
	case name == "Reset":
		name += " " + in.ResetType
		f.reset(in.ResetType)
	case name == "InsertMedia" || r.Method == http.MethodPatch && r.URL.Path == cdPath && in.Image != nil:
		if f.cd != "" {
			message(w, http.StatusBadRequest, "Base.1.8.ActionNotSupported", "Media is already inserted.")
			return
		}
		f.cd = *in.Image
	case name == "EjectMedia" || r.Method == http.MethodPatch && r.URL.Path == cdPath:
		f.cd = ""
	case r.Method == http.MethodPatch && r.URL.Path == sysPath:
		for k, v := range in.Boot {
			f.boot[k] = v
		}
	default:
		message(w, http.StatusNotFound, "Base.1.8.ResourceMissingAtURI", "There is no "+r.URL.Path)
		return
	}
	f.etag++
	f.changes = append(f.changes, name)
	w.WriteHeader(http.StatusNoContent)
}

func (f *fixture) reset(kind string) {
	switch {
	case kind == "On" && f.power == "Off":
		f.power = "On"
	case kind == "ForceOff" || kind == "GracefulShutdown":
		f.power = "Off"
		return
	case kind != "ForceRestart":
		return
	}
	if f.boot["BootSourceOverrideEnabled"] == "Once" {
		f.boot["BootSourceOverrideEnabled"] = "Disabled"
		f.boot["BootSourceOverrideTarget"] = "None"
	}
}

func reply(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "application/json")
	if raw, ok := doc.(json.RawMessage); ok { // a document that is broken on purpose
		_, _ = w.Write(raw)
		return
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// message answers with an error as Redfish has it.
func message(w http.ResponseWriter, status int, id, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": id, "message": "See @Message.ExtendedInfo for more information.",
		"@Message.ExtendedInfo": []any{map[string]any{"MessageId": id, "Message": text, "MessageArgs": []string{}}},
	}})
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter, _ *http.Request) {
	panic(http.ErrAbortHandler)
}

// newDriver makes a driver that is closed at the end of the test.
func newDriver(t *testing.T, c redfish.Config) *redfish.Driver {
	c.Reach.Loopback = true // the test's BMCs
	d := redfish.New(c)
	t.Cleanup(func() { d.Close(context.WithoutCancel(t.Context())) })
	return d
}

// talk opens a conversation that is closed at the end of the test.
func talk(t *testing.T, d *redfish.Driver, info map[string]any) bmc.Session {
	t.Helper()
	s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: info})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// quick is a configuration in which a test does not wait long for a time-out.
func quick() redfish.Config {
	return redfish.Config{Settings: bmc.Settings{RequestTimeout: 2 * time.Second, PerSecond: -1, Reach: dial.Reach{Loopback: true}}}
}

func newServer(t *testing.T, h http.Handler) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// silent reads a request and does not answer it.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client is gone
	<-r.Context().Done()
}
