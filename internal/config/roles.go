package config

import "time"

// API is the role that serves HTTP.
type API struct {
	Process
	Database
	Temporal
	Liveness
	Patience
	Steering
	Rules
	Reach
	Following
	Webhooks
	Boot
	Agents
	ImageCache
	Listen    string   `key:"listen" default:"127.0.0.1:6385" help:"address to serve; on more than loopback auth must say who may come in"`
	PublicURL string   `key:"public_url" help:"what links begin with, where the API stands behind a proxy; empty is as the client asked"`
	Proxies   []string `key:"trusted_proxies" help:"networks of proxies whose X-Forwarded-For says which address a client has; empty is that every connection speaks for itself"`
	Auth      Auth     `key:"auth"`
	// NodeLockedWait stands for Ironic's node_locked_retry_attempts and node_locked_retry_interval, which together are 3 s.
	NodeLockedWait time.Duration `key:"node_locked_wait" default:"3s" help:"how long a request waits for the end of a short operation that holds its node, such as a change of power, before it is answered with 409; 0 = not at all"`
}

// Orchestrator is the role that runs workflows.
type Orchestrator struct {
	Process
	Database
	Temporal
	Liveness
	Patience
	Steering
	Rules
	Reaping
	Keeping
	Webhooks
	AllowLoopback bool          `key:"allow_loopback" default:"false" help:"whether images, BMCs, agents and webhooks' endpoints may be on this machine; an API that listens only on loopback lets them always"`
	AuditFile     string        `key:"audit_file" help:"file to which the audit is appended, one JSON object a line; of all orchestrators with this setting one writes at a time"`
	AuditSyslog   string        `key:"audit_syslog" help:"syslog server to which the audit is sent (RFC 5424), as unixgram:///dev/log, udp://host:514 or tcp://host:601"`
	GiveUp        time.Duration `key:"webhook_give_up" default:"24h" help:"how old an event becomes before it is given up for a webhook whose endpoint does not take it, and is a dead letter"`
}

// Conductor is the role that talks to hardware.
type Conductor struct {
	Process
	Database
	Temporal
	Liveness
	Patience
	Steering
	Erasing
	Inspecting
	Rules
	Reach
	Boot
	Name           string        `key:"conductor_name" flag:"name" help:"name in /v1/conductors; empty is the host's name"`
	Group          string        `key:"conductor_group" help:"conductor group whose nodes it serves; empty is the default group"`
	Drivers        []string      `key:"enabled_drivers" default:"redfish,idrac,ipmi,fake-hardware" help:"hardware types it serves"`
	SyncPower      time.Duration `key:"sync_power_state_interval" default:"60s" help:"pause between two readings of the power state of each node that no operation holds; 0 is none"`
	RestorePower   bool          `key:"force_power_state_during_sync" default:"false" help:"whether a server that was switched on or off by somebody else is switched back; false is that the state which was read is recorded"`
	HealthInterval time.Duration `key:"health_interval" default:"5m" help:"pause between two readings of the health and the sensors of each node that no operation holds; 0 is none"`
	SensorMetrics  string        `key:"sensor_metrics" default:"fleet" help:"series of health and sensors in /metrics: fleet is those of all nodes of this conductor together, nodes adds up to 13 series for each node"`
	BMCEvents      bool          `key:"bmc_events" default:"true" help:"whether steps that wait for a power state, a virtual medium or the beginning of a boot follow the events of BMCs that stream them, to look at once"`
	BMCEventURL    string        `key:"bmc_event_url" help:"URL at which BMCs reach the API, such as http://10.0.0.5:6385; BMCs that do not stream events send them there; empty is that their events are not used"`
	BMCProxy       string        `key:"bmc_proxy" secret:"url" help:"proxy through which it reaches BMCs, as http://host:port or socks5://host:port; empty is directly"`
	Console        Console       `key:"console"`
	Fake           Fake          `key:"fake" help:"delays of fake hardware by interface, as deploy_delay=5,clean_delay=1"`
}

// Rack is the role that simulates servers.
type Rack struct {
	Process
	Listen     string        `key:"rack_listen" flag:"listen" default:"127.0.0.1:0" help:"address to serve; port 0 is a free one"`
	Servers    int           `key:"rack_servers" flag:"servers" default:"24" help:"how many servers stand in it"`
	Personas   []string      `key:"rack_personas" flag:"persona" help:"machines that the servers are, in turn (docs/hardware.md has the names), or files of recordings; all is every one, none is generic"`
	Seed       int64         `key:"rack_seed" flag:"seed" default:"1" help:"what its randomness starts from"`
	BMCLatency time.Duration `key:"rack_bmc_latency" flag:"bmc-latency" default:"0s" help:"pause before every answer of a BMC"`
	PowerDelay time.Duration `key:"rack_power_delay" flag:"power-delay" default:"200ms" help:"how long a server takes to change its power state"`
	BootDelay  time.Duration `key:"rack_boot_delay" flag:"boot-delay" default:"500ms" help:"how long a server takes to boot"`
	StepDelay  time.Duration `key:"rack_step_delay" flag:"step-delay" default:"50ms" help:"how long an agent's command takes beside its real work"`
	TLS        bool          `key:"rack_tls" flag:"tls" default:"false" help:"whether BMCs speak https, with certificates of a CA made for the rack"`
	IPMI       bool          `key:"rack_ipmi" flag:"ipmi" default:"true" help:"whether each BMC speaks IPMI, too, at a UDP port of its own"`
	PerServer  bool          `key:"rack_address_per_server" flag:"address-per-server" default:"false" help:"whether each BMC has a loopback address of its own instead of a path"`
	Machines   string        `key:"rack_machines" flag:"machines" default:"simulated" help:"what the servers are: simulated, or qemu, virtual machines that really boot what their BMCs insert"`
	Firmware   string        `key:"rack_firmware" flag:"firmware" default:"uefi" help:"of virtual machines: uefi, uefi-secure or bios"`
	APIURL     string        `key:"api_url" help:"the API that the agents on its servers call (required)"`
	Data       string        `key:"rack_data" flag:"data" help:"folder of the servers' disks and states; empty is a temporary one"`
}

// Compute is the role that holds a share of the nodes for a scheduler.
type Compute struct {
	Process
	Host         string        `key:"host" help:"name of the compute service, whose instances are found by it; empty is the host's name"`
	PartitionKey *string       `key:"partition_key" help:"conductor group whose nodes it shares; \"\" is the default group only, not set is every group without services of its own (read again on SIGHUP)"`
	PeerList     []string      `key:"peer_list" help:"the compute services of this partition_key that it shares with; empty is all of them (read again on SIGHUP)"`
	Listen       string        `key:"compute_listen" flag:"listen" default:"127.0.0.1:0" help:"address to serve /inventory and /claims; port 0 is a free one; an address beyond loopback requires auth"`
	Auth         ListenerAuth  `key:"auth"`
	Interval     time.Duration `key:"compute_heartbeat_interval" default:"3s" help:"pause between two renewals of its lease, which lasts 15s"`
	APIURL       string        `key:"api_url" secret:"url" help:"the API, as http://host:port or with user:password@ (required)"`
	APICA        string        `key:"api_ca" help:"file with the authorities of the API's certificate, PEM, besides the system's"`
}

// Migrate is the command that brings the tables of PostgreSQL up to date.
type Migrate struct {
	URL   string `key:"database_url" secret:"url" help:"PostgreSQL, as postgres://user:password@host:port/database (required)"`
	Plain bool   `key:"database_plain" default:"false" help:"whether the connection to PostgreSQL may cross the network without TLS, where an internal network protects it"`
}

// Reseal is the command that seals what is secret with the newest key.
type Reseal struct {
	Database
}

// Dev is the command that runs all roles on one machine. The other settings of its file are for these roles.
type Dev struct {
	Database
	Data       string        `key:"dev_data" flag:"data" default:".temper/dev" help:"folder for everything: data, keys, logs, dev.json"`
	Listen     string        `key:"dev_listen" flag:"listen" default:"127.0.0.1:0" help:"address of the API; port 0 is a free one, and the same again at the next start"`
	Nodes      int           `key:"dev_nodes" flag:"nodes" default:"24" help:"how many nodes are enrolled, split evenly among the drivers"`
	Conductors int           `key:"dev_conductors" flag:"conductors" default:"3" help:"how many conductors run"`
	Drivers    []string      `key:"dev_drivers" flag:"drivers" default:"redfish" help:"drivers of the nodes, and of every conductor: redfish, idrac, ipmi, fake-hardware"`
	Groups     []string      `key:"dev_groups" flag:"groups" help:"conductor groups that nodes and conductors are split among; none is the default group"`
	BMCLatency time.Duration `key:"rack_bmc_latency" flag:"bmc-latency" default:"0s" help:"pause before every answer of a BMC"`
	Personas   []string      `key:"rack_personas" flag:"persona" help:"machines that the rack's servers are, in turn (docs/hardware.md has the names), or files of recordings; all is every one, none is generic"`
	Seed       int64         `key:"rack_seed" flag:"seed" default:"1" help:"what the rack's randomness starts from"`
	Machines   string        `key:"rack_machines" flag:"machines" default:"simulated" help:"what the rack's servers are: simulated, or qemu, virtual machines that really boot, which need the setting ramdisk"`
	Firmware   string        `key:"rack_firmware" flag:"firmware" default:"uefi" help:"of virtual machines: uefi, uefi-secure or bios"`
	Enroll     bool          `key:"dev_enroll" flag:"enroll" default:"true" help:"whether the nodes are enrolled"`
	Ramdisk    string        `key:"ramdisk" help:"file of the ISO that make ramdisk builds, from which the nodes boot their agent; empty is an image of the rack"`
	Computes   int           `key:"dev_computes" flag:"computes" default:"0" help:"how many compute services run"`
	Restart    bool          `key:"dev_restart" flag:"restart" default:"false" help:"whether a process that died is started again"`
}

// MachinesQEMU is the value of rack_machines for virtual machines.
const MachinesQEMU = "qemu"
