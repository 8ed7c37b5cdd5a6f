package help

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
)

// row says how an action is written. In its texts stand {node} (in commands its name, in
// paths its UUID), {operation}, {kind} of the operation, {decision}, {verb}, {state} to which the verb leads, and
// {reason}, {cause} and {and cause} (why nodes need a person, in a command and in a path), {group}, {conductor}, {role} (the flags with which a role is started), {webhook}, and {digest} (the field of instance_info that
// has the image's digest), and {hints} (the flag for the field that has the root device hints). Only the reader knows a reason: it is WHY.
type row struct {
	command      string // follows "temper "
	effect       string // follows the command in a sentence; a fault may say it in other words
	method, path string
	body         func(*node.Node, Action) any // nil = none
}

// rows is the table of actions.
var rows = map[fault.Do]row{
	fault.ExplainNode: {"node why {node}", "says what happens to it", http.MethodGet, "/temper/v1/nodes/{node}/why", nil},
	fault.AskByName: {
		"node show {node}", "shows it; a request takes a node's name only with the header X-OpenStack-Ironic-API-Version: 1.5 or later",
		http.MethodGet, "/v1/nodes/{node}", nil,
	},
	fault.ShowStatus:   {"status", "shows which part of Temper is broken, and what to check", http.MethodGet, "/temper/v1/status", nil},
	fault.ValidateNode: {"node validate {node}", "shows what is missing", http.MethodGet, "/v1/nodes/{node}/validate", nil},
	fault.ShowHealth:   {"node health {node}", "shows which parts are wrong", http.MethodGet, "/temper/v1/nodes/{node}/health", nil},
	fault.ShowConsole:  {"node console show {node}", "shows who holds its console, and what is wrong", http.MethodGet, "/temper/v1/nodes/{node}/console", nil},
	fault.ShowLogs:     {"node logs {node}", "shows what its agent has logged", http.MethodGet, "/temper/v1/nodes/{node}/logs", nil},
	fault.ShowPorts:    {"port list --node {node}", "shows its MAC addresses", http.MethodGet, "/v1/nodes/{node}/ports", nil},
	fault.ShowInventory: {
		"node inventory {node}", "shows its hardware, with the serial number of each disk, what has changed, and how other nodes differ", http.MethodGet, "/temper/v1/nodes/{node}/inventory", nil,
	},
	fault.ChangeState: {"node {verb} {node}", "makes it {state}", http.MethodPost, "/temper/v1/nodes/{node}/operations", verb},
	fault.DeployImage: {
		"node {verb} {node} --image URL --checksum DIGEST", "makes it {state} with that image",
		http.MethodPost, "/temper/v1/nodes/{node}/operations", func(_ *node.Node, a Action) any {
			return fields{"verb": verbOf(a.Event).Target, "instance_info": fields{"image_source": "URL", "image_os_hash_algo": "sha256", "image_os_hash_value": "DIGEST"}}
		},
	},
	fault.UnholdNode:     {"node unhold {node}", "lets it go on", http.MethodPost, "/temper/v1/nodes/{node}/operations", always(fields{"verb": "unhold"})},
	fault.RecoverNode:    {"node recover {node} --reason WHY", "ends what nobody works on", http.MethodPost, "/temper/v1/nodes/{node}/recover", always(fields{"reason": "WHY"})},
	fault.TakeNode:       {"node recover {node} --force --reason WHY", "ends what holds it", http.MethodPost, "/temper/v1/nodes/{node}/recover", always(fields{"force": true, "reason": "WHY"})},
	fault.WaiveUndo:      {"node waive {node} --reason WHY", "drops what is to be undone", http.MethodPost, "/temper/v1/nodes/{node}/waive", always(fields{"reason": "WHY"})},
	fault.EndMaintenance: {"node maintenance unset {node}", "ends the maintenance", http.MethodDelete, "/v1/nodes/{node}/maintenance", nil},
	fault.Unprotect:      {"node set {node} --protected=false", "lifts that", http.MethodPatch, "/v1/nodes/{node}", always(replace("/protected", false))},
	fault.ChangeGroup:    {"node set {node} --conductor-group {group}", "moves it to that conductor group", http.MethodPatch, "/v1/nodes/{node}", group},
	fault.SetPassword: {
		"node set {node} --driver-info {password}=-", "sets the right password, which it asks for",
		http.MethodPatch, "/v1/nodes/{node}", func(n *node.Node, _ Action) any {
			return set("/driver_info/"+bmcField(n, "password"), "PASSWORD")
		},
	},
	fault.SetAddress: {
		"node set {node} --driver-info {address}=ADDRESS --driver-info {password}=-", "sets the right address, and asks for the password",
		http.MethodPatch, "/v1/nodes/{node}", func(n *node.Node, _ Action) any {
			return append(set("/driver_info/"+bmcField(n, "address"), "ADDRESS"), set("/driver_info/"+bmcField(n, "password"), "PASSWORD")...)
		},
	},
	fault.SwitchOn: {"node power on {node}", "switches it on", http.MethodPost, "/temper/v1/nodes/{node}/operations", always(fields{"verb": node.PowerOn})},
	fault.ProbeBMC: {"bmc probe {bmc}{probe flags} --username {user}", "asks the BMC directly, from this machine, and for its password: in a script add --password-file FILE or set TEMPER_BMC_PASSWORD", "", "", nil},
	fault.TrustBMC: {
		"node set {node} --driver-info redfish_verify_ca=CA_FILE --driver-info redfish_password=-", "names the authority of its certificate, and asks for the password",
		http.MethodPatch, "/v1/nodes/{node}", always(append(set("/driver_info/redfish_verify_ca", "CA_FILE"), set("/driver_info/redfish_password", "PASSWORD")...)),
	},
	fault.SetImage: {
		"node set {node} --instance-info image_source=URL --instance-info {digest}=DIGEST", "names the image to use, and its digest",
		http.MethodPatch, "/v1/nodes/{node}", func(n *node.Node, _ Action) any {
			return append(set("/instance_info/image_source", "URL"), set("/instance_info/"+digestField(n), "DIGEST")...)
		},
	},
	fault.SetDigest: {
		"node set {node} --instance-info {digest}=DIGEST", "sets the image's right digest",
		http.MethodPatch, "/v1/nodes/{node}", func(n *node.Node, _ Action) any { return set("/instance_info/"+digestField(n), "DIGEST") },
	},
	fault.SetFormat: {
		"node set {node} --instance-info image_disk_format=FORMAT", "says which format the image has",
		http.MethodPatch, "/v1/nodes/{node}", always(set("/instance_info/image_disk_format", "FORMAT")),
	},
	fault.SetRootDevice: {
		`node set {node} {hints} 'root_device={"serial": "SERIAL"}'`, "says which disk to use, by its serial number",
		http.MethodPatch, "/v1/nodes/{node}", func(n *node.Node, _ Action) any {
			return set("/"+hintsField(n)+"/root_device", fields{"serial": "SERIAL"})
		},
	},
	fault.DeployToDisk: {
		`node {verb} {node} --instance-info 'root_device={"serial": "SERIAL"}'`, "makes it {state} with its image on the disk with that serial number",
		http.MethodPost, "/temper/v1/nodes/{node}/operations", func(_ *node.Node, a Action) any {
			return fields{"verb": verbOf(a.Event).Target, "instance_info": fields{"root_device": fields{"serial": "SERIAL"}}}
		},
	},

	fault.WatchOperation:   {"operation watch {operation}", "shows how it goes on", http.MethodGet, "/temper/v1/operations/{operation}", nil},
	fault.CancelOperation:  {"operation cancel {operation}", "ends it", http.MethodPost, "/temper/v1/operations/{operation}/cancel", always(fields{})},
	fault.UnpauseOperation: {"operation unpause {operation}", "lets it go on", http.MethodPost, "/temper/v1/operations/{operation}/unpause", always(fields{})},
	fault.RetryOperation:   {"operation retry {operation}", "does the {kind} again", http.MethodPost, "/temper/v1/operations/{operation}/retry", always(fields{})},
	fault.Decide:           {"operation {decision} {operation}", "", http.MethodPost, "/temper/v1/operations/{operation}/decision", decision},
	fault.SayTemporalLost: {
		"operation recover --lost-temporal --reason WHY", "confirms that Temporal has lost its data",
		http.MethodPost, "/temper/v1/operations/recover", always(fields{"lost_temporal": true, "reason": "WHY"}),
	},

	fault.ListNeedy:         {"why --nodes --reason {reason}{cause}", "lists them", http.MethodGet, "/temper/v1/why?reason={reason}{and cause}", nil},
	fault.ListNodes:         {"node list", "shows which there are", http.MethodGet, "/v1/nodes", nil},
	fault.ListPorts:         {"port list", "shows which there are", http.MethodGet, "/v1/ports", nil},
	fault.ListOperations:    {"operation list", "shows which there are", http.MethodGet, "/temper/v1/operations", nil},
	fault.StartConductor:    {"conductor{role}", "starts it, on its host", "", "", nil},
	fault.StartOrchestrator: {"orchestrator{role}", "starts one, on its host", "", "", nil},
	fault.ForgetConductor: {
		"conductor forget {conductor}", "removes it from the list, if it does not come back", http.MethodDelete, "/temper/v1/conductors/{conductor}", nil,
	},
	fault.ListConductors: {"conductor list", "shows which there are, for which nodes, and whether they are alive", http.MethodGet, "/temper/v1/conductors", nil},

	fault.ShowWebhook:     {"webhook show {webhook}", "shows how its deliveries go", http.MethodGet, "/temper/v1/webhooks/{webhook}", nil},
	fault.ListDeadLetters: {"webhook dead-letters {webhook}", "shows them", http.MethodGet, "/temper/v1/webhooks/{webhook}/dead-letters", nil},
	fault.Redeliver:       {"webhook redeliver {webhook} --all", "sends them once more", http.MethodPost, "/temper/v1/webhooks/{webhook}/redeliver", always(fields{})},
}

// effects says what each decision does about the step that failed.
var effects = map[node.Action]string{
	node.ActionRetry: "runs the failed step again", node.ActionSkip: "leaves the failed step out", node.ActionAbort: "ends it",
}

type fields = map[string]any

func always(body any) func(*node.Node, Action) any {
	return func(*node.Node, Action) any { return body }
}

// digestField is the field of instance_info that has the digest of n's image: Ironic takes it in two forms. n may be nil.
func digestField(n *node.Node) string {
	const algorithm, value, checksum = "image_os_hash_algo", "image_os_hash_value", "image_checksum"
	if n != nil && n.InstanceInfo[checksum] != nil && (n.InstanceInfo[value] == nil || n.InstanceInfo[algorithm] == nil) {
		return checksum
	}
	return value
}

// hintsField is the field of n that has the root device hints which count. n may be nil.
func hintsField(n *node.Node) string {
	if n == nil {
		return rootdevice.Properties
	}
	return rootdevice.Where(n.InstanceInfo)
}

// hintsFlag is the flag of "temper node set" for hintsField.
func hintsFlag(n *node.Node) string {
	if hintsField(n) == rootdevice.InstanceInfo {
		return "--instance-info"
	}
	return "--property"
}

// bmcField is the field of driver_info that has the address, the username or the password of n's BMC. n may be nil.
func bmcField(n *node.Node, what string) string {
	driver := ""
	if n != nil {
		driver = n.Driver
	}
	return node.BMCProperty(driver, what)
}

// probeFlags are the flags with which "temper bmc probe" asks n's BMC, each after a blank. n may be nil. A value that is no plain
// word is its name in capitals.
func probeFlags(n *node.Node) string {
	if n == nil {
		return ""
	}
	h, _ := node.Hardware(n.Driver)
	var out strings.Builder
	if h.ProbeFlag != "" {
		out.WriteString(" " + h.ProbeFlag)
	}
	for _, p := range h.Properties {
		value := n.DriverInfo[p.Name]
		if p.ProbeFlag == "" || value == nil || value == "" {
			continue
		}
		word := fmt.Sprint(value)
		if !plainWord.MatchString(word) {
			word = strings.ToUpper(p.Name)
		}
		out.WriteString(" " + strings.ReplaceAll(p.ProbeFlag, "{value}", word))
	}
	return out.String()
}

// plainWord is what a shell takes as one word, as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:/@\[\]-]+$`)

// bmcValue is the value of that field, or else its name in capitals: only the reader knows it.
func bmcValue(n *node.Node, what string) string {
	if n != nil {
		if value, ok := n.DriverInfo[bmcField(n, what)].(string); ok && plainWord.MatchString(value) {
			return value
		}
	}
	return strings.ToUpper(what)
}

// replace is a PATCH of one field.
func replace(path string, value any) []fields {
	return []fields{{"op": "replace", "path": path, "value": value}}
}

// set is a PATCH that sets one key, whether or not it is there.
func set(path string, value any) []fields {
	return []fields{{"op": "add", "path": path, "value": value}}
}

func verb(_ *node.Node, a Action) any     { return fields{"verb": verbOf(a.Event).Target} }
func group(_ *node.Node, a Action) any    { return replace("/conductor_group", a.Group) }
func decision(_ *node.Node, a Action) any { return fields{"action": a.Decision} }
