package mischief

import (
	"fmt"
	"strings"
)

//go:generate go test -run ^TestTheFaultsStandInTheDocumentation$ . -update

// target is what a kind of fault strikes.
type target string

const (
	requests target = "requests to the BMC or the agent"
	power    target = "power requests"
	device   target = "virtual media, the boot override"
	ramdisk  target = "the agent"
)

// described is a kind of fault with its description.
type described struct {
	kind   Kind
	target target
	does   string
	fields string // the fields that it uses in addition to count and probability
}

// table has every kind.
var table = []described{
	{Latency, requests, "the answer is delayed", "delay when method path command"},
	{Unavailable, requests, "503 with the delay as Retry-After", "delay when method path command"},
	{Unauthorized, requests, "401, and the session of the request is deleted", "when method path command"},
	{Reset, requests, "the connection is reset", "when method path command"},
	{Hang, requests, "no answer, and after the delay (0s = 10 minutes) the connection is closed", "delay when method path command"},
	{Truncated, requests, "the answer ends in the middle of its JSON", "when method path command"},
	{Mistyped, requests, "the answer has strings instead of numbers and lists instead of strings", "when method path command"},

	{LostPower, power, "the request is accepted and has no effect", ""},
	{SlowPower, power, "the power changes only after the delay", "delay"},

	{SlowInsert, device, "InsertMedia is answered after the delay, and takes effect even if the client has hung up", "delay"},
	{AlwaysContinuous, device, "the boot override always reads Continuous and can't be disabled, as with sushy-tools", ""},

	{NoAgent, ramdisk, "the server boots, but no agent starts", ""},
	{AgentDies, ramdisk, "it dies during the command or a heartbeat", "command"},
	{AgentReboots, ramdisk, "it reboots during the command and forgets everything", "command"},
	{WrongChecksum, ramdisk, "it computes a wrong digest of the image", ""},
	{Twice, ramdisk, "it sends each request to this path of the API twice; its list of commands has each command twice", "method path"},
	{Unheard, ramdisk, "it does not receive the API's answers to requests to this path", "method path"},
}

// kinds maps each kind to its row of table.
var kinds = func() map[Kind]described {
	by := map[Kind]described{}
	for _, d := range table {
		by[d.kind] = d
	}
	return by
}()

// onRequests reports whether the kind strikes HTTP requests of any sort.
func (k Kind) onRequests() bool { return kinds[k].target == requests }

// fields describes the fields of a fault.
var fields = []struct{ name, means string }{
	{"kind", "one of the kinds above"},
	{"count", "how often it strikes; 0 = until it is deleted"},
	{"probability", "probability that a matching request is struck, 0 to 1; absent = 1"},
	{"delay", "a duration such as 250ms or 20s"},
	{"when", "before (default): the request has no effect; after: it takes effect and its answer is lost"},
	{"method", "strikes only requests with this method"},
	{"path", "strikes only requests whose path contains this, such as ComputerSystem.Reset; a path that begins with /v1/ is the agent's"},
	{"command", "strikes only this command of the agent: full name (deploy.execute_deploy_step), bare name or step (write_image); agent_dies also accepts heartbeat"},
}

// Example is a valid list of faults.
const Example = `{"faults":[{"kind":"slow_power","delay":"20s","count":1}]}`

// Help lists kinds and fields for a terminal.
func Help() string {
	var b strings.Builder
	var last target
	for _, d := range table {
		if d.target != last {
			fmt.Fprintf(&b, "Faults that strike %s:\n", d.target)
			last = d.target
		}
		fmt.Fprintf(&b, "  %-17s %s%s\n", d.kind, d.does, in(" (", d.fields, ")"))
	}
	b.WriteString("Fields of a fault:\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "  %-17s %s\n", f.name, f.means)
	}
	return b.String()
}

// Markdown lists kinds and fields as Markdown tables.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| kind | strikes | what happens | fields |\n|---|---|---|---|\n")
	for _, d := range table {
		fmt.Fprintf(&b, "| `%s` | %s | %s |%s |\n", d.kind, d.target, d.does, in(" `", strings.ReplaceAll(d.fields, " ", "` `"), "`"))
	}
	b.WriteString("\nEvery kind uses `count` and `probability`, and the fields in its row.\n\n| field | means |\n|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.means)
	}
	return b.String()
}

// in returns words between open and end, "" if there are no words.
func in(open, words, end string) string {
	if words == "" {
		return ""
	}
	return open + words + end
}

// names lists all kinds, for an error.
func names() string {
	var all []string
	for _, d := range table {
		all = append(all, string(d.kind))
	}
	return strings.Join(all, ", ")
}
