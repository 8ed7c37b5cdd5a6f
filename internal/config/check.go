package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/origin"
)

// problems collects what is wrong with settings that could be read.
type problems struct {
	found  []Setting
	broken map[string]bool // settings that could not be decoded; their error is reported already
	list   []error
}

// refuse adds a problem: the setting, its value and source, and what would be right.
func (p *problems) refuse(key, want string, args ...any) {
	if p.broken[key] {
		return
	}
	i := slices.IndexFunc(p.found, func(s Setting) bool { return s.Key == key })
	p.list = append(p.list, fmt.Errorf("%s: %q from %s: "+want, append([]any{key, p.found[i].Value, p.found[i].Source}, args...)...))
}

// requirePositive refuses durations that are not above zero.
func (p *problems) requirePositive(durations map[string]time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(durations)) {
		if durations[key] <= 0 {
			p.refuse(key, "want more than 0")
		}
	}
}

func (p *problems) requireNotNegative(key string, d time.Duration) {
	if d < 0 {
		p.refuse(key, "want 0 or more")
	}
}

func (p *problems) requireAtLeast(key string, least, n int) {
	if n < least {
		p.refuse(key, "want at least %d", least)
	}
}

// requireOrder refuses a low that is not below high.
func (p *problems) requireOrder(lowKey string, low time.Duration, highKey string, high time.Duration) {
	if low > 0 && high > 0 && low >= high && !p.broken[highKey] {
		p.refuse(lowKey, "want less than %s, which is %s", highKey, high)
	}
}

// requireAddress refuses an address on which nobody can listen.
func (p *problems) requireAddress(key, value string) {
	if _, err := net.ResolveTCPAddr("tcp", value); value == "" || err != nil {
		p.refuse(key, "want host:port, such as 127.0.0.1:0")
	}
}

func (p *problems) requireFile(key, path string) {
	if path == "" {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		p.refuse(key, "want a file that can be read: %w", err)
		return
	}
	_ = f.Close() // only opened to see whether it can be read
}

func (p *problems) requireURL(key, value string, schemes ...string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		p.refuse(key, "want a URL that begins with %s://", strings.Join(schemes, ":// or "))
	}
}

func (c Process) check(p *problems) {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel) {
		p.refuse("log_level", "want debug, info, warn or error")
	}
	if c.LogFormat != "json" && c.LogFormat != "console" {
		p.refuse("log_format", "want json or console")
	}
	if c.MetricsListen != "" {
		p.requireAddress("metrics_listen", c.MetricsListen)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		p.refuse("tls_cert", "want it together with tls_key, or neither")
	}
	p.requireFile("tls_cert", c.TLSCert)
	p.requireFile("tls_key", c.TLSKey)
	p.requirePositive(map[string]time.Duration{"shutdown_grace": c.ShutdownGrace})
}

func (c Database) check(p *problems) {
	if c.KeysetFile == "" && c.Keyset == "" {
		p.refuse("keyset_file", "want a file made by temper keyset new, or the keys themselves in keyset")
	}
	c.checkWithoutKeys(p)
}

// checkWithoutKeys is check for a role that needs no keys.
func (c Database) checkWithoutKeys(p *problems) {
	p.requireDatabase(c.URL, c.Plain)
	if c.MaxConns < 2 {
		p.refuse("database_max_conns", "want at least 2")
	}
	switch {
	case c.KeysetFile != "" && c.Keyset != "":
		p.refuse("keyset_file", "want it empty, because keyset is set too")
	default:
		p.requireFile("keyset_file", c.KeysetFile)
	}
}

func (c Temporal) check(p *problems) {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		p.refuse("temporal_address", "want host:port")
	} else if c.plain() && !c.Plain {
		p.refuse("temporal_address", "want temporal_tls_ca, because the connection would cross the network without TLS; "+
			"temporal_plain allows that, where an internal network protects it")
	}
	if c.Namespace == "" {
		p.refuse("temporal_namespace", "want a name")
	}
	if c.UIURL != "" {
		p.requireURL("temporal_ui_url", c.UIURL, "http", "https")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		p.refuse("temporal_tls_cert", "want it together with temporal_tls_key, or neither")
	}
	if c.TLSServerName != "" && !c.TLS() {
		p.refuse("temporal_tls_server_name", "want it with temporal_tls_cert or temporal_tls_ca only: without them there is no TLS")
	}
	p.requireFile("temporal_tls_cert", c.TLSCert)
	p.requireFile("temporal_tls_key", c.TLSKey)
	p.requireFile("temporal_tls_ca", c.TLSCA)
}

// minHeartbeat leaves time for the pause before a heartbeat and for its request, for which the SDK allows at least a second.
const minHeartbeat = 1500 * time.Millisecond

func (c Liveness) check(p *problems) {
	p.requirePositive(map[string]time.Duration{
		"heartbeat_timeout": c.HeartbeatTimeout, "conductor_heartbeat_interval": c.ConductorHeartbeatInterval,
		"conductor_heartbeat_timeout": c.ConductorHeartbeatTimeout, "reconcile_interval": c.ReconcileInterval,
	})
	p.requireNotNegative("wait_for_conductor", c.WaitForConductor)
	if _, err := c.WaitInGroup.ByGroup(); err != nil {
		p.refuse("wait_for_conductor_groups", "%w", err)
	}
	if c.HeartbeatTimeout > 0 && c.HeartbeatTimeout < minHeartbeat {
		p.refuse("heartbeat_timeout", "want at least %s", minHeartbeat)
	}
	p.requireOrder("conductor_heartbeat_interval", c.ConductorHeartbeatInterval,
		"conductor_heartbeat_timeout", c.ConductorHeartbeatTimeout)
}

// maxMedia is shorter than an undo may take (undoPatience in package workflows).
const maxMedia = 150 * time.Second

// maxBMCRequest is much shorter than an undo may take.
const maxBMCRequest = time.Minute

func (c Patience) check(p *problems) {
	p.requirePositive(map[string]time.Duration{
		"deploy_callback_timeout": c.DeployCallback, "clean_callback_timeout": c.CleanCallback,
		"inspect_callback_timeout": c.InspectCallback, "rescue_callback_timeout": c.RescueCallback, "service_callback_timeout": c.ServiceCallback, "power_timeout": c.Power,
		"soft_power_off_timeout": c.SoftPower, "bmc_busy_timeout": c.Busy, "bmc_connect_timeout": c.BMCConnect, "bmc_request_timeout": c.BMCRequest,
		"bmc_request_timeout_max": c.BMCRequestMax, "virtual_media_timeout": c.Media,
	})
	p.requireNotNegative("bmc_away_timeout", c.Away)
	p.requireNotNegative("boot_timeout", c.BootSigns)
	if c.BootTries < 1 {
		p.refuse("boot_tries", "want a whole number above 0")
	}
	if c.BMCRequestMax > maxBMCRequest {
		p.refuse("bmc_request_timeout_max", "want at most %s, because an undo has to wait that long for a request that may still take effect", maxBMCRequest)
	}
	if c.BMCRequest > c.BMCRequestMax {
		p.refuse("bmc_request_timeout", "want at most bmc_request_timeout_max, which is %s", c.BMCRequestMax)
	}
	if c.BMCPerSecond < 1 {
		p.refuse("bmc_requests_per_second", "want a whole number above 0")
	}
	if _, err := c.BMCPerSecondOf.Numbers(); err != nil {
		p.refuse("bmc_requests_per_second_vendors", "want a whole number above 0 for each vendor: %w", err)
	}
	if c.Media > maxMedia {
		p.refuse("virtual_media_timeout", "want at most %s, because an undo has to wait that long for a medium that may still appear", maxMedia)
	}
}

// maxDeathPause is the longest pause (node.MostPutOff).
const maxDeathPause = 10 * time.Minute

func (c Steering) check(p *problems) {
	if c.OnFailure != "fail" && c.OnFailure != "hold" {
		p.refuse("on_failure", "want fail or hold")
	}
	p.requirePositive(map[string]time.Duration{
		"decision_wait": c.DecisionWait, "step_death_within": c.DeathWithin, "step_death_pause": c.DeathPause,
	})
	if c.DeathPause > maxDeathPause {
		p.refuse("step_death_pause", "want at most %s", maxDeathPause)
	}
	if _, err := c.StepLimits.Numbers(); err != nil {
		p.refuse("step_limits", "want a whole number above 0 for each step: %w", err)
	}
}

func (c Rules) check(p *problems) {
	if c.UnhealthyNodes != UnhealthyOffered && c.UnhealthyNodes != UnhealthyWithheld {
		p.refuse("unhealthy_nodes", "want offered or withheld")
	}
	if c.ImageDownload != node.ImageFromSource && c.ImageDownload != node.ImageFromTemper {
		p.refuse("image_download_source", "want http or local")
	}
}

func (c Reach) check(p *problems) {
	for key, list := range map[string][]string{"image_allow": c.ImageAllow, "bmc_allow": c.BMCAllow, "agent_allow": c.AgentAllow} {
		if _, err := Networks(list); err != nil {
			p.refuse(key, "want networks or addresses, such as 169.254.8.0/24,fe80::/64: %w", err)
		}
	}
	p.requireFile("image_ca", c.ImageCA)
	if c.CADir != "" && !filepath.IsAbs(c.CADir) {
		p.refuse("bmc_ca_dir", "want the absolute path of a folder, or nothing to allow no files")
	}
}

// Loopback reports whether only this machine can reach the API.
func (r *API) Loopback() bool { return origin.Loopback(r.Listen) }

// checkTimes requires that the pause between a conductor's heartbeats is shorter than step_death_within, because the time of
// its death is known to within that pause.
func checkTimes(p *problems, l Liveness, s Steering) {
	if l.ConductorHeartbeatInterval < l.ConductorHeartbeatTimeout { // otherwise Liveness.check reports it
		p.requireOrder("conductor_heartbeat_interval", l.ConductorHeartbeatInterval, "step_death_within", s.DeathWithin)
	}
}

func (r *API) check(p *problems) {
	r.Process.check(p)
	r.Webhooks.check(p)
	r.Boot.check(p)
	r.Agents.check(p, r.Boot)
	r.ImageCache.check(p)
	if _, err := Networks(r.Proxies); err != nil {
		p.refuse("trusted_proxies", "want networks or addresses, such as 10.0.0.5: %w", err)
	}
	p.requireAtLeast("event_streams", 1, r.Following.Streams)
	p.requireAtLeast("event_streams_per_user", 1, r.Following.PerUser)
	r.Database.check(p)
	r.Temporal.check(p)
	r.Liveness.check(p)
	r.Patience.check(p)
	r.Steering.check(p)
	r.Rules.check(p)
	r.Reach.check(p)
	checkTimes(p, r.Liveness, r.Steering)
	p.requireAddress("listen", r.Listen)
	if r.PublicURL != "" {
		p.requireURL("public_url", r.PublicURL, "http", "https")
	}
	r.checkAuth(p)
}

func (c Webhooks) check(p *problems) {
	if _, err := Networks(c.WebhookAllow); err != nil {
		p.refuse("webhook_allow", "want networks or addresses, such as 169.254.8.0/24,fe80::/64: %w", err)
	}
}

func (r *Orchestrator) check(p *problems) {
	r.Webhooks.check(p)
	p.requirePositive(map[string]time.Duration{"webhook_give_up": r.GiveUp})
	r.Process.check(p)
	r.Database.checkWithoutKeys(p)
	r.Temporal.check(p)
	r.Liveness.check(p)
	r.Patience.check(p)
	r.Steering.check(p)
	r.Rules.check(p)
	checkTimes(p, r.Liveness, r.Steering)
	if r.Reap != ReapUndeploy && r.Reap != ReapReport {
		p.refuse("reap", "want undeploy or report")
	}
	p.requireNotNegative("reap_after", r.ReapAfter)
	p.requireNotNegative("deleted_node_retention", r.Keeping.DeletedNodes)
	p.requireNotNegative("event_retention", r.Keeping.Events)
	p.requireAtLeast("event_limit", 0, r.Keeping.MostEvents)
	p.requireNotNegative("audit_retention", r.Keeping.Audit)
	p.requireAtLeast("audit_limit", 100, r.Keeping.MostAudit)
}

func (r *Conductor) check(p *problems) {
	r.Process.check(p)
	r.Console.check(p)
	r.Database.check(p)
	r.Temporal.check(p)
	r.Liveness.check(p)
	r.Patience.check(p)
	r.Steering.check(p)
	r.Rules.check(p)
	r.Reach.check(p)
	r.Boot.check(p)
	r.Inspecting.check(p)
	checkTimes(p, r.Liveness, r.Steering)
	p.requireNotNegative("sync_power_state_interval", r.SyncPower)
	p.requireNotNegative("health_interval", r.HealthInterval)
	if r.UnhealthyNodes == UnhealthyWithheld && r.HealthInterval == 0 {
		p.refuse("health_interval", "want more than 0 with unhealthy_nodes: withheld, because a node would be withheld for ever")
	}
	if r.SensorMetrics != MetricsOfFleet && r.SensorMetrics != MetricsOfNodes {
		p.refuse("sensor_metrics", "want fleet or nodes")
	}
	if r.Name != "" && !node.ValidServiceName(r.Name) {
		p.refuse("conductor_name", "want letters, digits, dots, dashes and underscores, at most 254")
	}
	if r.Group != "" && !node.ValidServiceName(r.Group) {
		p.refuse("conductor_group", "want letters, digits, dots, dashes and underscores, at most 254")
	}
	if r.BMCEventURL != "" {
		p.requireURL("bmc_event_url", r.BMCEventURL, "http", "https")
	}
	if r.BMCProxy != "" {
		p.requireURL("bmc_proxy", r.BMCProxy, "http", "https", "socks5")
	}
	if len(r.Drivers) == 0 {
		p.refuse("enabled_drivers", "want at least one hardware type")
	}
}

// maxServers is more than one process can simulate well.
const maxServers = 20000

func (r *Rack) check(p *problems) {
	r.Process.check(p)
	p.requireAddress("rack_listen", r.Listen)
	p.requireURL("api_url", r.APIURL, "http", "https")
	if r.Servers < 0 || r.Servers > maxServers {
		p.refuse("rack_servers", "want 0 to %d", maxServers)
	}
	p.requireNotNegative("rack_bmc_latency", r.BMCLatency)
	p.requirePositive(map[string]time.Duration{
		"rack_power_delay": r.PowerDelay, "rack_boot_delay": r.BootDelay, "rack_step_delay": r.StepDelay,
	})
}

// maxInterval leaves room for three heartbeats in the part of its lease that a compute service uses.
const maxInterval = 5 * time.Second

func (r *Compute) check(p *problems) {
	r.Process.check(p)
	p.requireURL("api_url", r.APIURL, "http", "https")
	p.requireFile("api_ca", r.APICA)
	p.requireAddress("compute_listen", r.Listen)
	p.requireAuth(r.Auth, r.Process, "compute_listen", r.Listen, []string{HTTPBasic}, []string{OIDC, Keystone})
	p.requirePositive(map[string]time.Duration{"compute_heartbeat_interval": r.Interval})
	if r.Interval > maxInterval {
		p.refuse("compute_heartbeat_interval", "want at most %s", maxInterval)
	}
	if r.Host != "" && !node.ValidServiceName(r.Host) {
		p.refuse("host", "want letters, digits, dots, dashes and underscores, at most 254")
	}
	if r.PartitionKey != nil {
		if _, err := node.ValidConductorGroup(*r.PartitionKey); err != nil {
			p.refuse("partition_key", "want a conductor group: letters, digits, dots, dashes and underscores, at most 255")
		}
	}
	for _, peer := range r.PeerList {
		if !node.ValidServiceName(peer) {
			p.refuse("peer_list", "want names of compute services with commas between them")
			break
		}
	}
}

func (r *Migrate) check(p *problems) { p.requireDatabase(r.URL, r.Plain) }

func (r *Reseal) check(p *problems) { r.Database.check(p) }

// Role is a pointer to one of the role structs.
type Role interface{ check(*problems) }

// check requires neither database nor keys, because temper dev creates those that are not set.
func (r *Dev) check(p *problems) {
	if r.Data == "" {
		p.refuse("dev_data", "want a folder")
	}
	p.requireAddress("dev_listen", r.Listen)
	if r.Nodes < 0 || r.Nodes > maxServers {
		p.refuse("dev_nodes", "want 0 to %d", maxServers)
	}
	if r.Computes < 0 || r.Computes > 100 {
		p.refuse("dev_computes", "want 0 to 100")
	}
	if r.Conductors < 0 || r.Conductors > 100 {
		p.refuse("dev_conductors", "want 0 to 100")
	}
	if len(r.Drivers) == 0 {
		p.refuse("dev_drivers", "want at least one")
	}
	for _, g := range r.Groups {
		if !node.ValidServiceName(g) {
			p.refuse("dev_groups", "want names of letters, digits, dots, dashes and underscores")
		}
	}
	if r.Machines == MachinesQEMU && r.Ramdisk == "" {
		p.refuse("ramdisk", "want the ISO that make ramdisk builds, because rack_machines is qemu: virtual machines boot nothing else")
	}
	p.requireNotNegative("rack_bmc_latency", r.BMCLatency)
	p.requireFile("ramdisk", r.Ramdisk)
	p.requireFile("keyset_file", r.KeysetFile)
}
