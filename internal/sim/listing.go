package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// Server is the JSON of a server in {rack_url}/servers.
type Server struct {
	Name            string                 `json:"name"`
	Persona         string                 `json:"persona"` // the machine that the BMC answers as
	Serial          string                 `json:"serial"`
	RedfishAddress  string                 `json:"redfish_address"`
	RedfishSystemID string                 `json:"redfish_system_id"`
	RedfishUsername string                 `json:"redfish_username"`
	RedfishPassword string                 `json:"redfish_password"`
	RedfishVerifyCA any                    `json:"redfish_verify_ca"`      // path of a PEM file with TLS, else true
	IPMIAddress     string                 `json:"ipmi_address,omitempty"` // absent where the rack has no IPMI
	IPMIPort        int                    `json:"ipmi_port,omitempty"`
	IPMIUsername    string                 `json:"ipmi_username,omitempty"`
	IPMIPassword    string                 `json:"ipmi_password,omitempty"`
	IPMISessions    int                    `json:"ipmi_sessions"`
	MACs            []string               `json:"macs"`
	SSHAddress      string                 `json:"ssh_address,omitempty"` // that leads to port 22 of a virtual machine since it was switched on
	Powered         bool                   `json:"powered"`               // power_state is On or PoweringOff
	PowerState      machine.Power          `json:"power_state"`
	PowerActions    []machine.PowerAction  `json:"power_actions"`
	BootedFrom      *machine.Source        `json:"booted_from"`  // null if it is off or booting, or has nothing to boot from
	BootingFrom     *machine.Source        `json:"booting_from"` // what the firmware is loading at the moment
	Media           *string                `json:"media"`        // URL of the virtual CD's image, null where empty
	MediaSHA256     *string                `json:"media_sha256"`
	BootOverride    *string                `json:"boot_override"` // Redfish's target, null where disabled
	BootEnabled     string                 `json:"boot_override_enabled"`
	BootMode        string                 `json:"boot_override_mode"`
	AgentCommands   []machine.AgentCommand `json:"agent_commands"`
	AgentPhase      string                 `json:"agent_phase"` // "", inspecting, looking up, up, locked down, dead
	Volumes         int                    `json:"volumes"`     // of its storage controller
	machine.Counts
	BadLogins int `json:"bad_logins"`
	Sessions  int `json:"sessions"`
	// EventSubscriptions are the destinations of the subscriptions to the events of the BMC, the oldest first.
	EventSubscriptions []string `json:"event_subscriptions"`
	DiskSHA256         *string  `json:"disk_sha256"`
	DiskImageBytes     int64    `json:"disk_image_bytes"`
	ConfigDriveSHA256  *string  `json:"config_drive_sha256"`
}

func (r *Rack) describe(s *machine.Server) Server {
	onDisk, media, boot, power := s.Disk.State(), s.Media(), s.BootOverride(), s.PowerState()
	out := Server{
		Name: s.Name, Persona: s.Persona(), Serial: s.Serial, RedfishAddress: r.addr.bmcURL(s.Name), RedfishSystemID: r.redfish.SystemOf(s),
		RedfishUsername: s.Username, RedfishPassword: s.PasswordNow(), RedfishVerifyCA: true, MACs: s.MACs(),
		Powered: power == machine.On || power == machine.PoweringOff, PowerState: power, PowerActions: s.PowerActions(),
		BootEnabled: boot.Enabled, BootMode: boot.Mode, AgentCommands: s.AgentCommands(), AgentPhase: r.fleet.Phase(s.Name),
		Volumes: len(s.Volumes()), Counts: s.Counts(), BadLogins: s.BadLogins(), Sessions: len(s.Sessions()),
	}
	if ssh := s.SSH.Load(); ssh != nil {
		out.SSHAddress = *ssh
	}
	out.EventSubscriptions = []string{}
	for _, one := range s.Subscriptions() {
		out.EventSubscriptions = append(out.EventSubscriptions, one.Destination)
	}
	if r.cfg.IPMI {
		out.IPMIAddress, out.IPMIPort = r.addr.ipmiHost, r.addr.ipmiPorts[s.Name]
		out.IPMIUsername, out.IPMIPassword, out.IPMISessions = s.Username, s.PasswordNow(), r.fronts[s.Name].Sessions()
	}
	if r.cfg.TLS {
		out.RedfishVerifyCA = filepath.Join(r.dir, caFile)
	}
	if booted := s.Booted(); booted != machine.None {
		out.BootedFrom = &booted
	}
	if booting := s.Booting(); booting != machine.None {
		out.BootingFrom = &booting
	}
	if media.Inserted {
		out.Media, out.MediaSHA256 = &media.Image, &media.SHA256
	}
	if boot.Enabled != "Disabled" {
		out.BootOverride = &boot.Target
	}
	if onDisk.Image != nil {
		out.DiskSHA256, out.DiskImageBytes = &onDisk.Image.SHA256, onDisk.Image.Size
	}
	if onDisk.ConfigDrive != nil {
		out.ConfigDriveSHA256 = &onDisk.ConfigDrive.SHA256
	}
	return out
}

// controlAPI handles the rack's own API, its images, and the BMCs that have no listener of
// their own.
func (r *Rack) controlAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /servers", r.getServers)
	mux.HandleFunc("GET /servers/{name}", r.withServer(func(w http.ResponseWriter, _ *http.Request, s *machine.Server) {
		reply(w, http.StatusOK, r.describe(s))
	}))
	mux.HandleFunc("GET /servers/{name}/faults", r.withServer(getFaults))
	mux.HandleFunc("PUT /servers/{name}/faults", r.withServer(putFaults))
	mux.HandleFunc("DELETE /servers/{name}/faults", r.withServer(func(w http.ResponseWriter, _ *http.Request, s *machine.Server) {
		s.Faults.Clear()
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.Handle("/images/", http.StripPrefix("/images/", r.images))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	if !r.cfg.TLS && !r.cfg.PerServerAddress {
		mux.HandleFunc("/bmc/", r.serveBMC)
	}
	return mux
}

func (r *Rack) getServers(w http.ResponseWriter, _ *http.Request) {
	out := make([]Server, len(r.servers))
	for i, s := range r.servers {
		out[i] = r.describe(s)
	}
	reply(w, http.StatusOK, out)
}

func (r *Rack) withServer(h func(http.ResponseWriter, *http.Request, *machine.Server)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		s := r.byName[q.PathValue("name")]
		if s == nil {
			reply(w, http.StatusNotFound, map[string]string{"error": fmt.Sprintf("no server %q in this rack", q.PathValue("name"))})
			return
		}
		h(w, q, s)
	}
}

func getFaults(w http.ResponseWriter, _ *http.Request, s *machine.Server) {
	reply(w, http.StatusOK, s.Faults.Remaining())
}

func putFaults(w http.ResponseWriter, q *http.Request, s *machine.Server) {
	b, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 1<<20))
	if err != nil {
		reply(w, http.StatusRequestEntityTooLarge, map[string]string{"error": err.Error()})
		return
	}
	l, err := faults.Parse(b)
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	s.SetFaults(l)
	reply(w, http.StatusOK, s.Faults.Remaining())
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has hung up
}
