package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Digest returns the sha256 of the rack's disk image.
func (s *Stack) Digest(ctx context.Context) (string, error) {
	b, err := s.rack(ctx, http.MethodGet, "/images/disk.raw.sha256", nil)
	if err != nil {
		return "", err
	}
	f := strings.Fields(string(b))
	if len(f) == 0 {
		return "", fmt.Errorf("the rack's checksum file is empty")
	}
	return f[0], nil
}

// Image returns the instance_info of a node that deploys the rack's disk image, checked by a sha256.
func (s *Stack) Image(digest string) map[string]any {
	return map[string]any{
		"image_source": s.RackURL + "/images/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": digest, "image_disk_format": "raw",
	}
}

// SetImage makes a node deploy the rack's disk image, checked by a sha256.
func (s *Stack) SetImage(ctx context.Context, id, digest string) error {
	return s.Set(ctx, id, map[string]any{"instance_info": s.Image(digest)})
}

// Faults sets the faults of all servers.
func (s *Stack) Faults(ctx context.Context, faults []map[string]any) error {
	servers, err := s.Servers(ctx)
	if err != nil {
		return err
	}
	for _, sv := range servers {
		if err := s.Spoil(ctx, sv.Name, faults); err != nil {
			return err
		}
	}
	return nil
}

// Spoil sets the faults of one server; none deletes them.
func (s *Stack) Spoil(ctx context.Context, server string, faults []map[string]any) error {
	if faults == nil {
		faults = []map[string]any{}
	}
	_, err := s.rack(ctx, http.MethodPut, "/servers/"+server+"/faults", map[string]any{"faults": faults})
	return err
}

// Left returns the faults of a server that can still strike.
func (s *Stack) Left(ctx context.Context, server string) ([]map[string]any, error) {
	var l struct {
		Faults []map[string]any `json:"faults"`
	}
	return l.Faults, s.readRack(ctx, "/servers/"+server+"/faults", &l)
}

// Server is a server of the rack, with what was done to it.
type Server struct {
	Name     string   `json:"name"`
	Address  string   `json:"redfish_address"`
	System   string   `json:"redfish_system_id"`
	Username string   `json:"redfish_username"`
	Password string   `json:"redfish_password"`
	VerifyCA any      `json:"redfish_verify_ca"`
	MACs     []string `json:"macs"`

	IPMIAddress  string `json:"ipmi_address"`
	IPMIPort     int    `json:"ipmi_port"`
	IPMIUsername string `json:"ipmi_username"`
	IPMIPassword string `json:"ipmi_password"`

	SSH     string `json:"ssh_address"`
	Persona string `json:"persona"`

	Powered      bool      `json:"powered"`
	BootedFrom   string    `json:"booted_from"`
	Media        string    `json:"media"`
	BootOverride string    `json:"boot_override"`
	Actions      []Action  `json:"power_actions"`
	Commands     []Command `json:"agent_commands"`
	Requests     int       `json:"bmc_requests"`
	Volumes      int       `json:"volumes"`
	VolumesMade  int       `json:"volumes_made"`
	AgentBoots   int       `json:"agent_boots"`
	Lookups      int       `json:"lookups"`
	DiskSHA256   string    `json:"disk_sha256"`

	Sessions          int    `json:"sessions"`
	Heartbeats        int    `json:"heartbeats"`
	BadLogins         int    `json:"bad_logins"`
	ConfigDriveSHA256 string `json:"config_drive_sha256"`
}

// Action is a request to change a server's power.
type Action struct {
	At     time.Time `json:"at"`
	Reset  string    `json:"reset_type"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Effect bool      `json:"effect"`
}

func (a Action) String() string { return a.Reset + " " + a.From + "->" + a.To }

// Command is a command that an agent was given.
type Command struct {
	Name   string `json:"name"`
	Boot   int    `json:"boot"`
	Step   string `json:"step"`
	Answer int    `json:"answer"`
}

// Servers returns all servers of the rack.
func (s *Stack) Servers(ctx context.Context) ([]Server, error) {
	var all []Server
	return all, s.readRack(ctx, "/servers", &all)
}

// Server returns one server of the rack.
func (s *Stack) Server(ctx context.Context, name string) (Server, error) {
	var sv Server
	return sv, s.readRack(ctx, "/servers/"+name, &sv)
}

func (s *Stack) readRack(ctx context.Context, path string, into any) error {
	b, err := s.rack(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func (s *Stack) rack(ctx context.Context, method, path string, body any) ([]byte, error) {
	a, err := Request(ctx, method, s.RackURL+path, body, nil)
	if err == nil && a.Status >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %d: %.300s", method, path, a.Status, a.Body)
	}
	return a.Body, err
}
