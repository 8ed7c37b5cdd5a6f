package agent

import (
	"encoding/json"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Lookup is the answer to GET /v1/lookup?addresses=MAC,...[&node_uuid=U]: the agent's node
// and its configuration.
type Lookup struct {
	Node   LookupNode   `json:"node"`
	Config LookupConfig `json:"config"`
}

// LookupNode is the part of a node that a client without a token may see.
type LookupNode struct {
	UUID               string         `json:"uuid"`
	Properties         map[string]any `json:"properties"`
	InstanceInfo       map[string]any `json:"instance_info"`
	DriverInternalInfo map[string]any `json:"driver_internal_info"`
	Links              []Link         `json:"links,omitempty"`
}

// Link is one of the links of an API resource.
type Link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// LookupConfig is the agent's configuration. Agents ignore fields that they don't know, and
// use their own defaults for missing ones.
type LookupConfig struct {
	// HeartbeatTimeout is the longest time between two heartbeats, in seconds.
	HeartbeatTimeout int `json:"heartbeat_timeout"`
	// AgentToken is the token the first time and Masked afterwards. Below API version 1.62
	// there is none.
	AgentToken         string `json:"agent_token,omitempty"`
	AgentTokenRequired bool   `json:"agent_token_required"`

	MD5Enabled            bool        `json:"agent_md5_checksum_enable"`
	DisableDeepInspection bool        `json:"disable_deep_image_inspection"`
	PermittedImageFormats []string    `json:"permitted_image_formats"`
	SkipBMCDetect         bool        `json:"agent_skip_bmc_detect"`
	BIOSBootloaderInstall bool        `json:"enable_bios_bootloader_install"`
	TLSMinVersion         Text        `json:"tls_min_version"`
	TLSCipherSuites       Text        `json:"tls_cipher_suites"`
	Metrics               *Metrics    `json:"metrics,omitempty"`
	MetricsStatsd         *Statsd     `json:"metrics_statsd,omitempty"`
	AgentContainers       *Containers `json:"agent_containers,omitempty"`
}

// Metrics configures the agent's metrics; the backend "noop" counts nothing.
type Metrics struct {
	Backend            Text `json:"backend"`
	PrependHost        bool `json:"prepend_host"`
	PrependUUID        bool `json:"prepend_uuid"`
	PrependHostReverse bool `json:"prepend_host_reverse"`
	GlobalPrefix       Text `json:"global_prefix"`
}

// Statsd is the server for the metrics backend "statsd".
type Statsd struct {
	Host Text `json:"statsd_host"`
	Port int  `json:"statsd_port"`
}

// Containers configures the agent's container steps.
type Containers struct {
	AllowArbitrary bool     `json:"allow_arbitrary_containers"`
	Allowed        []string `json:"allowed_containers"`
	StepsFile      Text     `json:"container_steps_file"`
	Runner         Text     `json:"runner"`
	PullOptions    []string `json:"pull_options"`
	RunOptions     []string `json:"run_options"`
	ConfFile       Text     `json:"container_conf_file"`
}

// Heartbeat is the body of POST /v1/heartbeat/<node uuid>. The answer is 202 without a body.
type Heartbeat struct {
	CallbackURL string `json:"callback_url"`
	// AgentToken (API 1.62 and newer) proves that the agent is the one that
	// looked the node up.
	AgentToken string `json:"agent_token,omitempty"`
	// AgentVersion (1.36 and newer) is the agent's release, "11.5.0".
	AgentVersion string `json:"agent_version,omitempty"`
	// AgentVerifyCA (1.68 and newer) is the PEM certificate that the agent created for
	// itself. The server at callback_url has it.
	AgentVerifyCA string `json:"agent_verify_ca,omitempty"`
	// AgentStatus and its message (1.72 and newer) come from deployers without
	// a command API (anaconda): "start", "end", "error".
	AgentStatus        string `json:"agent_status,omitempty"`
	AgentStatusMessage string `json:"agent_status_message,omitempty"`
}

// Inspection is the body of POST /v1/continue_inspection: the inventory, and everything else
// that the agent's collectors found (Ironic's plugin_data).
type Inspection struct {
	// Inventory is nil if the collectors failed before they had one.
	Inventory *Inventory
	// RawInventory is the inventory as it was sent, unknown fields included.
	RawInventory json.RawMessage
	// Error is the agent's description of what its collectors could not find.
	Error string
	// Plugin is everything else: root_disk, boot_interface, configuration,
	// logs, lldp_raw, pci_devices, ...
	Plugin map[string]json.RawMessage
}

// InspectionAnswer is the answer to an Inspection: a lookup (API 1.84 and newer), or only the
// node's uuid (older).
type InspectionAnswer struct {
	UUID   string        `json:"uuid,omitempty"`
	Node   *LookupNode   `json:"node,omitempty"`
	Config *LookupConfig `json:"config,omitempty"`
}

// MarshalJSON puts inventory, error and plugin data side by side.
func (i Inspection) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(i.Plugin)+2)
	for k, v := range i.Plugin {
		out[k] = v
	}
	switch {
	case len(i.RawInventory) > 0:
		out["inventory"] = i.RawInventory
	case i.Inventory != nil:
		out["inventory"] = i.Inventory
	}
	// The real agent always sends the key; null means that nothing failed.
	out["error"] = nil
	if i.Error != "" {
		out["error"] = i.Error
	}
	return json.Marshal(out)
}

// UnmarshalJSON takes inventory and error out and leaves the rest in Plugin.
func (i *Inspection) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := jsonvalue.Unmarshal(b, &all); err != nil {
		return err
	}
	*i = Inspection{Plugin: all}
	if raw, ok := all["inventory"]; ok && string(raw) != "null" {
		i.Inventory = new(Inventory)
		if err := jsonvalue.Unmarshal(raw, i.Inventory); err != nil {
			return err
		}
		i.RawInventory = raw
	}
	if raw, ok := all["error"]; ok {
		i.Error = looseText(raw)
	}
	delete(all, "inventory")
	delete(all, "error")
	return nil
}
