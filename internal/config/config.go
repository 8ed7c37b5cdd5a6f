// Package config reads the settings of a role from flags, environment, YAML file and defaults, in that order of precedence, and
// checks them together. koanf reads and merges the sources. Decoding and checks are our own, because one error must name all
// that is wrong, each setting with its value, its source and what would be right, and hide secrets.
package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A setting is a field with these tags:
//
//	key      its name in the file; TEMPER_ and upper case in the environment ("." of a section becomes "_");
//	         "-" for "_" and "." as a flag
//	default  its value if no source has one; none = the type's zero value
//	help     one line for --help
//	secret   "all" is printed as ******, "url" without its password
//	flag     another name for the flag
//
// A field of another struct type is a section of the file; one without a key is not. A map is a section with
// any names, which the reader of the setting checks. A duration without a unit is in seconds, as in Ironic.
// The same key in two roles is the same setting: one file can serve all roles.

// Process has the settings of every long-running role.
type Process struct {
	LogLevel      string        `key:"log_level" default:"info" help:"least level that is logged: debug, info, warn or error"`
	LogFormat     string        `key:"log_format" default:"json" help:"json, or console for reading"`
	MetricsListen string        `key:"metrics_listen" default:"127.0.0.1:0" help:"address of /metrics and /healthz; port 0 is a free one, empty for none"`
	TLSCert       string        `key:"tls_cert" help:"file with the certificate of this process's listeners, PEM, then those that lead to an authority; read again when it changes"`
	TLSKey        string        `key:"tls_key" help:"file with that certificate's key, PEM"`
	AllowedHosts  []string      `key:"allowed_hosts" help:"host names that requests to a listener on loopback may have in their Host header, besides loopback's own; * is any"`
	ShutdownGrace time.Duration `key:"shutdown_grace" default:"20s" help:"how long a stop may take before what is left is cut off"`
}

// TLS reports whether the listeners speak https.
func (c Process) TLS() bool { return c.TLSCert != "" }

// Database says how to reach PostgreSQL, and with which keys secrets are sealed.
type Database struct {
	URL        string `key:"database_url" secret:"url" help:"PostgreSQL, as postgres://user:password@host:port/database (required)"`
	Plain      bool   `key:"database_plain" default:"false" help:"whether the connection to PostgreSQL may cross the network without TLS, where an internal network protects it"`
	MaxConns   int    `key:"database_max_conns" default:"8" help:"connections that this process may hold"`
	KeysetFile string `key:"keyset_file" help:"file with the keys that secrets are sealed with (temper keyset new makes one)"`
	Keyset     string `key:"keyset" secret:"all" help:"the keys themselves, where there is no file for them"`
}

// Temporal says how to reach Temporal. With a certificate the connection is mutual TLS.
type Temporal struct {
	Address       string `key:"temporal_address" default:"127.0.0.1:7233" help:"host:port of Temporal's frontend"`
	Namespace     string `key:"temporal_namespace" default:"temper" help:"namespace of Temper's workflows"`
	Reconcile     string `key:"temporal_reconcile_namespace" help:"namespace of the reconciliations, so that they don't appear among the operations; default: temporal_namespace with -reconcile; the value of temporal_namespace runs them there"`
	TLSCert       string `key:"temporal_tls_cert" help:"file with the client's certificate, PEM"`
	TLSKey        string `key:"temporal_tls_key" help:"file with the certificate's key, PEM"`
	TLSCA         string `key:"temporal_tls_ca" help:"file with the authorities that the frontend's certificate is checked with, PEM; also switches TLS on"`
	TLSServerName string `key:"temporal_tls_server_name" help:"name in the frontend's certificate, where it differs from the address"`
	Plain         bool   `key:"temporal_plain" default:"false" help:"whether the connection to Temporal may cross the network without TLS, where an internal network protects it"`
	UIURL         string `key:"temporal_ui_url" help:"Temporal's web UI, for links to an operation's workflow"`
}

// ReconcileNamespace returns the namespace of the reconciliations.
func (c Temporal) ReconcileNamespace() string { return cmp.Or(c.Reconcile, c.Namespace+"-reconcile") }

// TLS reports whether the connection to Temporal is encrypted.
func (c Temporal) TLS() bool { return c.TLSCert != "" || c.TLSCA != "" }

// Liveness says when a process counts as dead.
type Liveness struct {
	HeartbeatTimeout           time.Duration `key:"heartbeat_timeout" default:"5s" help:"silence after which a step is given to another conductor"`
	ConductorHeartbeatInterval time.Duration `key:"conductor_heartbeat_interval" default:"3s" help:"pause between the signs of life of a conductor"`
	ConductorHeartbeatTimeout  time.Duration `key:"conductor_heartbeat_timeout" default:"15s" help:"silence after which a conductor counts as dead"`
	ReconcileInterval          time.Duration `key:"reconcile_interval" default:"10s" help:"pause between two runs of the reconciliation"`
	WaitForConductor           time.Duration `key:"wait_for_conductor" default:"15m" help:"how long an operation waits for a conductor that covers its node; 0 = it fails at once"`
	WaitInGroup                GroupWaits    `key:"wait_for_conductor_groups" help:"the same for single conductor groups, as rack-7=1h,default=0; the default group's name here is default"`
}

// GroupWaits are durations by the name of a conductor group.
type GroupWaits map[string]string

// ByGroup returns the durations by group; "" is the default group. The error says what would be right.
func (w GroupWaits) ByGroup() (map[string]time.Duration, error) {
	out := make(map[string]time.Duration, len(w))
	for group, text := range w {
		d, err := duration(text)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("group %s: want a duration of 0 or more, such as 90s", group)
		}
		if group = strings.ToLower(group); group == "default" {
			group = ""
		}
		out[group] = d
	}
	return out, nil
}

// Patience says how long an operation waits for hardware.
type Patience struct {
	DeployCallback  time.Duration `key:"deploy_callback_timeout" default:"30m" help:"how long a deploy waits for the agent"`
	CleanCallback   time.Duration `key:"clean_callback_timeout" default:"30m" help:"how long a cleaning waits for the agent"`
	InspectCallback time.Duration `key:"inspect_callback_timeout" default:"30m" help:"how long an inspection waits for the agent"`
	RescueCallback  time.Duration `key:"rescue_callback_timeout" default:"30m" help:"how long a rescue waits for the agent"`
	ServiceCallback time.Duration `key:"service_callback_timeout" default:"30m" help:"how long a service waits for the agent"`
	Power           time.Duration `key:"power_timeout" default:"60s" help:"how long a server may take to change its power state"`
	BootSigns       time.Duration `key:"boot_timeout" default:"10m" help:"how long a server that was switched on to boot the agent may show no sign of booting before it is switched off and on again; signs are what its BMC reports and, of a CD that Temper makes, that it is read; 0 = no limit"`
	BootTries       int           `key:"boot_tries" default:"2" help:"how often a server is switched on that shows no sign of booting, before the step fails"`
	SoftPower       time.Duration `key:"soft_power_off_timeout" default:"10m" help:"how long a server may take to shut down when it was asked to, where the request does not say"`
	Media           time.Duration `key:"virtual_media_timeout" default:"2m" help:"how long to wait for a virtual medium to appear before the request to insert it is sent again; at most 2m30s, because an undo has to wait as long"`
	Busy            time.Duration `key:"bmc_busy_timeout" default:"10m" help:"how long a BMC or an agent may answer \"try again later\" before that counts as a failure of the step (of a requested power change: power_timeout)"`
	Away            time.Duration `key:"bmc_away_timeout" default:"10m" help:"how long a BMC may give no answer before the step that needs it fails; 0 = each time counts as a failure of the step"`
	BMCConnect      time.Duration `key:"bmc_connect_timeout" default:"4s" help:"how long connecting to a BMC may take"`
	BMCRequest      time.Duration `key:"bmc_request_timeout" default:"4s" help:"how long at least the answer of a BMC is awaited, connecting included"`
	BMCRequestMax   time.Duration `key:"bmc_request_timeout_max" default:"60s" help:"how long at most it is awaited, where the BMC has shown that it needs longer; the same as bmc_request_timeout: nothing is learned"`
	BMCPerSecond    int           `key:"bmc_requests_per_second" default:"50" help:"how many requests a conductor sends to one BMC in any second at most"`
	BMCPerSecondOf  Limits        `key:"bmc_requests_per_second_vendors" help:"the same for BMCs that speak Redfish and name a vendor that begins so, as supermicro=10"`
}

// Erasing says how agents erase disks. The settings are Ironic's.
type Erasing struct {
	ATAErase    bool `key:"enable_ata_secure_erase" default:"true" help:"whether erase_devices has disks erase themselves by ATA secure erase, where they can; else they are overwritten"`
	NVMeErase   bool `key:"enable_nvme_secure_erase" default:"true" help:"the same by NVMe format or sanitize"`
	EraseGoesOn bool `key:"continue_if_disk_secure_erase_fails" default:"false" help:"whether a disk that should erase itself and can't, as a frozen one, is overwritten; else erase_devices fails and says why"`
}

// Safe is how long after the end of a run nothing of it can act any more: its step has stopped within the heartbeat
// timeout, and a request that it sent until then is over, unless it is recorded as one that may take longer.
func Safe(l Liveness, w Patience) time.Duration { return l.HeartbeatTimeout + w.BMCRequest }

// Steering says what an operation does about a step that fails, unless the request says it.
type Steering struct {
	OnFailure    string        `key:"on_failure" default:"fail" help:"what an operation does when a step has failed for good: fail, or hold for a decision"`
	DecisionWait time.Duration `key:"decision_wait" default:"24h" help:"how long it holds before it fails"`
	DeathWithin  time.Duration `key:"step_death_within" default:"10s" help:"a conductor that dies so soon after it took a step up, with nothing recorded since, counts as one that died of it"`
	DeathPause   time.Duration `key:"step_death_pause" default:"1m" help:"how long the next try is put off when three conductors in a row died of a step; twice as long after each further one, at most 10m"`
	StepLimits   Limits        `key:"step_limits" help:"how often a step may fail before it has failed for good, by interface.step, as deploy.write_image=2; others 5"`
}

// Limits are whole numbers by name.
type Limits map[string]string

// Numbers returns the limits as numbers. The error names one that is not a number above 0.
func (l Limits) Numbers() (map[string]int, error) {
	out := make(map[string]int, len(l))
	for name, s := range l {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is not a whole number above 0", name, s)
		}
		out[name] = n
	}
	return out, nil
}

// Rules are what the site allows, and its defaults for settings of nodes.
type Rules struct {
	AutomatedClean  bool   `key:"automated_clean" default:"true" help:"whether nodes are cleaned before they become available"`
	DedicatedNodes  bool   `key:"dedicated_nodes" default:"false" help:"whether a node with an owner or lessee is only for allocations of that project, and for those that name the node"`
	AutomaticLessee bool   `key:"automatic_lessee" default:"true" help:"whether the project of an instance (instance_info.project_id) becomes the lessee of a node that has none, until the instance goes"`
	UnhealthyNodes  string `key:"unhealthy_nodes" default:"offered" help:"whether available nodes in critical health are offered to allocations and compute services: offered or withheld"`
	AllowMD5        bool   `key:"allow_md5_checksum" default:"false" help:"whether images may be checked by md5, which does not protect against forged ones"`
	OwnNodes        bool   `key:"project_admin_can_manage_own_nodes" default:"true" help:"whether administrators and services of a project may create and delete nodes that their project owns"`
	ImageDownload   string `key:"image_download_source" default:"http" help:"how agents get images where a node does not say: http is from image_source, local is from temper boot, or the API, at agent_url, which fetches each image once"`
	AgentTLS        bool   `key:"agent_require_tls" default:"true" help:"whether agents must be spoken to by https"`
	AgentLoopback   bool   `key:"agent_allow_loopback" default:"false" help:"whether agents may be on this machine, as simulated ones are"`
}

// Reach limits which addresses this process connects to and which files it reads if users, BMCs or agents name them.
type Reach struct {
	AllowLoopback bool     `key:"allow_loopback" default:"false" help:"whether images, BMCs, agents and webhooks' endpoints may be on this machine; an API that listens only on loopback lets them always"`
	ImageAllow    []string `key:"image_allow" help:"networks, such as 169.254.8.0/24, in which image servers are allowed although the addresses are loopback, link-local, multicast or a cloud's metadata service"`
	ImageCA       string   `key:"image_ca" help:"file with the authorities of the certificates of image servers, registries and agent_url, PEM, besides the system's"`
	BMCAllow      []string `key:"bmc_allow" help:"networks in which BMCs are allowed although such addresses are refused (see image_allow)"`
	AgentAllow    []string `key:"agent_allow" help:"networks in which agents are allowed although such addresses are refused (see image_allow)"`
	CADir         string   `key:"bmc_ca_dir" default:"/etc/temper/ca" help:"folder of the CA files that redfish_verify_ca may name; the API and all conductors need the same files"`
}

// Networks parses a list of networks. A single address is a network of one address.
func Networks(list []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if a, alone := netip.ParseAddr(s); err != nil && alone == nil && a.Zone() == "" {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%s is not a network", s)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Reaping says what to do with nodes whose instance is gone.
type Reaping struct {
	Reap      string        `key:"reap" default:"undeploy" help:"undeploy, or report to leave them to people"`
	ReapAfter time.Duration `key:"reap_after" default:"30m" help:"how long after its instance was marked absent a node is undeployed, where the compute service does not confirm it before"`
}

// Following bounds who follows the events of an API process.
type Following struct {
	Streams int `key:"event_streams" default:"2500" help:"how many event streams an API process has at most"`
	PerUser int `key:"event_streams_per_user" default:"1000" help:"how many of them one user has at most, where users log in"`
}

// Webhooks limits where webhooks are sent.
type Webhooks struct {
	WebhookAllow []string `key:"webhook_allow" help:"networks in which webhooks' endpoints are allowed although such addresses are refused (see image_allow); the API and all orchestrators need the same"`
}

// Keeping says how long records are kept.
type Keeping struct {
	DeletedNodes time.Duration `key:"deleted_node_retention" default:"2160h" help:"how long the history and operations of a deleted node are kept; 0 keeps nothing"`
	Events       time.Duration `key:"event_retention" default:"168h" help:"how long events are kept for clients that were away; 0 keeps nothing"`
	Audit        time.Duration `key:"audit_retention" default:"2160h" help:"how long the audit is kept, in partitions of a twelfth of that time, and tokens that were revoked or have expired"`
	MostAudit    int           `key:"audit_limit" default:"10000000" help:"how many rows the audit has at most"`
	MostEvents   int           `key:"event_limit" default:"1000000" help:"how many events are kept at most"`
}

// The values of Reap.
const (
	ReapUndeploy = "undeploy"
	ReapReport   = "report"
)

// The values of Rules.UnhealthyNodes.
const (
	UnhealthyOffered  = "offered"
	UnhealthyWithheld = "withheld"
)

// The values of Conductor.SensorMetrics.
const (
	MetricsOfFleet = "fleet"
	MetricsOfNodes = "nodes"
)

// Fake says how long the interfaces of fake hardware take, by Ironic's names of its [fake] section: power_delay,
// deploy_delay, clean_delay, ...; a value is seconds, or two of them with a comma for a random time between.
type Fake map[string]string
