package hostile

import (
	"encoding/json"
	"net/http"
	"strings"
)

const (
	root     = "/redfish/v1"
	sessions = root + "/SessionService/Sessions"
	system   = root + "/Systems/1"
	manager  = root + "/Managers/1"
	cd       = manager + "/VirtualMedia/Cd"
)

// object is a JSON object.
type object = map[string]any

// state is what requests change.
type state struct {
	power, image string
	boot         object
}

func newState() state {
	return state{power: "Off", boot: object{"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}}
}

func ref(path string) object { return object{"@odata.id": path} }

func members(paths ...string) object {
	list := []any{}
	for _, p := range paths {
		list = append(list, ref(p))
	}
	return object{"Members": list, "Members@odata.count": len(list)}
}

// resources never change.
var resources = map[string]object{
	root:                              {"Systems": ref(root + "/Systems"), "Managers": ref(root + "/Managers"), "Links": object{"Sessions": ref(sessions)}},
	root + "/Systems":                 members(system),
	root + "/Managers":                members(manager),
	manager:                           {"Id": "1", "VirtualMedia": ref(manager + "/VirtualMedia")},
	manager + "/VirtualMedia":         members(cd),
	system + "/Processors":            members(system + "/Processors/1"),
	system + "/Processors/1":          {"ProcessorType": "CPU", "InstructionSet": "x86-64", "TotalCores": 8, "TotalThreads": 16},
	system + "/Storage":               members(system + "/Storage/1"),
	system + "/Storage/1":             {"Drives": []any{ref(system + "/Storage/1/Drives/1")}},
	system + "/Storage/1/Drives/1":    {"Id": "1", "Name": "Disk 1", "CapacityBytes": 480103981056, "MediaType": "SSD"},
	system + "/SimpleStorage":         members(system + "/SimpleStorage/1"),
	system + "/SimpleStorage/1":       {"Devices": []any{object{"Name": "Disk 1", "CapacityBytes": 480103981056}}},
	system + "/EthernetInterfaces":    members(system + "/EthernetInterfaces/1"),
	system + "/EthernetInterfaces/1":  {"Id": "1", "MACAddress": "02:00:00:00:00:01", "Status": object{"State": "Enabled"}},
	system + "/ResetActionInfo":       {"Parameters": []any{object{"Name": "ResetType", "AllowableValues": []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart", "Nmi"}}}},
	system + "/Settings":              {"Id": "Settings"},
	root + "/SessionService":          {"Sessions": ref(sessions)},
	sessions:                          members(),
	root + "/TaskService/Tasks/1":     {"TaskState": "Running"},
	root + "/Chassis":                 members(),
	root + "/UpdateService":           {"Id": "UpdateService"},
	system + "/Bios":                  {"Id": "Bios", "Attributes": object{}},
	system + "/Memory":                members(),
	system + "/Storage/1/Volumes":     members(),
	manager + "/EthernetInterfaces":   members(),
	root + "/AccountService":          {"Id": "AccountService"},
	root + "/AccountService/Accounts": members(),
}

// serve answers like an ordinary BMC.
func (b *BMC) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	if i := strings.Index(path, root); i > 0 { // the service may be below another path
		path = path[i:]
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		b.change(w, r, path)
		return
	}
	doc, ok := resources[path]
	switch {
	case path == system:
		doc = b.system()
	case path == cd:
		doc = b.drive()
	case !ok:
		http.NotFound(w, r)
		return
	}
	reply(w, http.StatusOK, doc)
}

func (b *BMC) system() object {
	b.mu.Lock()
	defer b.mu.Unlock()
	boot := object{"BootSourceOverrideTarget@Redfish.AllowableValues": []string{"None", "Pxe", "Cd", "Hdd"}}
	for k, v := range b.state.boot {
		boot[k] = v
	}
	return object{
		"Id": "1", "PowerState": b.state.power, "Boot": boot, "Manufacturer": "Mallory", "Model": "Trap",
		"Status":           object{"State": "Enabled", "Health": "OK"},
		"ProcessorSummary": object{"CoreCount": 8}, "MemorySummary": object{"TotalSystemMemoryGiB": 32},
		"Processors": ref(system + "/Processors"), "Storage": ref(system + "/Storage"), "SimpleStorage": ref(system + "/SimpleStorage"),
		"EthernetInterfaces": ref(system + "/EthernetInterfaces"),
		"Links":              object{"ManagedBy": []any{ref(manager)}},
		"@Redfish.Settings":  object{"SettingsObject": ref(system + "/Settings")},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": system + "/Actions/ComputerSystem.Reset", "@Redfish.ActionInfo": system + "/ResetActionInfo",
		}},
	}
}

func (b *BMC) drive() object {
	b.mu.Lock()
	defer b.mu.Unlock()
	return object{
		"Id": "Cd", "MediaTypes": []string{"CD", "DVD"}, "Inserted": b.state.image != "", "Image": b.state.image,
		"Actions": object{
			"#VirtualMedia.InsertMedia": object{"target": cd + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  object{"target": cd + "/Actions/VirtualMedia.EjectMedia"},
		},
	}
}

// change makes the requested change without checking anything.
func (b *BMC) change(w http.ResponseWriter, r *http.Request, path string) {
	var in struct {
		ResetType, Image string
		Boot             object
	}
	_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in) // what is no JSON changes nothing
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case path == sessions && r.Method == http.MethodPost:
		w.Header().Set("X-Auth-Token", "token")
		w.Header().Set("Location", sessions+"/1")
		w.WriteHeader(http.StatusCreated)
		return
	case strings.HasSuffix(path, ".Reset"):
		b.state.power = "On"
		if in.ResetType == "ForceOff" || in.ResetType == "GracefulShutdown" {
			b.state.power = "Off"
		}
	case strings.HasSuffix(path, ".InsertMedia"):
		b.state.image = in.Image
	case strings.HasSuffix(path, ".EjectMedia"):
		b.state.image = ""
	case path == system:
		for k, v := range in.Boot {
			b.state.boot[k] = v
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func reply(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // a client that hung up misses it
}
