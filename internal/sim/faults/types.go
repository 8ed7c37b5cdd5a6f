package faults

import (
	"fmt"
	"strings"
)

//go:generate go test -run ^TestTheFaultsStandInTheDocumentation$ . -update

// target is what a type of fault strikes.
type target string

const (
	requests target = "requests to the BMC or the agent"
	power    target = "power requests"
	device   target = "virtual media, the boot override"
	upkeep   target = "BIOS settings, firmware"
	storage  target = "storage"
	accounts target = "accounts"
	sensors  target = "sensors and health"
	packets  target = "packets of IPMI"
	ramdisk  target = "the agent"
)

// description describes a type of fault.
type description struct {
	typ    Type
	target target
	does   string
	fields string // the fields that it uses in addition to count and probability
}

// descriptions has a row for each type.
var descriptions = []description{
	{Latency, requests, "the answer is delayed", "delay when method path command"},
	{Unavailable, requests, "503 with the delay as Retry-After", "delay when method path command"},
	{Unauthorized, requests, "401, and the session of the request is deleted", "when method path command"},
	{Reset, requests, "the connection is reset", "when method path command"},
	{Hang, requests, "no answer, and after the delay (0s = 10 minutes) the connection is closed", "delay when method path command"},
	{Truncated, requests, "the answer ends in the middle of its JSON", "when method path command"},
	{Mistyped, requests, "the answer has strings instead of numbers and lists instead of strings", "when method path command"},

	{LostPower, power, "the request is accepted and has no effect", ""},
	{SlowPower, power, "the power changes only after the delay", "delay"},
	{NoBoot, power, "the server is switched on and never begins to boot", ""},

	{SlowInsert, device, "InsertMedia is answered after the delay, and takes effect even if the client has hung up", "delay"},
	{AlwaysContinuous, device, "the boot override always reads Continuous and can't be disabled, as with sushy-tools", ""},

	{IgnoredBIOS, upkeep, "BIOS settings are accepted, and the boot drops them", ""},
	{RefusedVolume, storage, "the controller refuses to make a volume", ""},
	{FailedVolume, storage, "a volume is not made, and its task ends with an error", ""},

	{IgnoredFirmware, upkeep, "an update of firmware ends well and changes nothing", ""},
	{FailedFirmware, upkeep, "an update of firmware fails, and the task says why", ""},
	{SlowFirmware, upkeep, "after an update of its own firmware the BMC does not answer for the delay", "delay"},

	{TruncatedPassword, accounts, "of a new password only the first 8 characters are kept", ""},

	{FailedFan, sensors, "fan 1 stands still, and its health is critical", ""},
	{FailedDrive, sensors, "the health of drive 1 is critical", ""},
	{Overheated, sensors, "the first processor is hotter than its critical threshold, if the server is on", ""},
	{HiddenHealth, sensors, "the system says that it is healthy, whatever its parts say", ""},

	{LostPacket, packets, "the packet, or with after its answer, is lost", "when command"},
	{RepeatedPacket, packets, "the packet, or with after its answer, comes twice; only packets of a login reach the BMC twice, because it drops repeated ones of a session", "when"},
	{SessionLimit, packets, "a login is refused because there are too many sessions", ""},
	{Silence, packets, "nothing is received", ""},
	{ConsoleInUse, packets, "the serial console is refused, as if another session had it", ""},

	{NoAgent, ramdisk, "the server boots, but no agent starts", ""},
	{AgentDies, ramdisk, "it dies during the command or a heartbeat", "command"},
	{AgentReboots, ramdisk, "it reboots during the command and forgets everything", "command"},
	{WrongChecksum, ramdisk, "it computes a wrong digest of the image", ""},
	{Twice, ramdisk, "it sends each request to this path of the API twice; its list of commands has each command twice", "method path"},
	{Unheard, ramdisk, "it does not receive the API's answers to requests to this path", "method path"},
}

// descriptionOf maps each type to its row of descriptions.
var descriptionOf = func() map[Type]description {
	by := map[Type]description{}
	for _, d := range descriptions {
		by[d.typ] = d
	}
	return by
}()

// strikesRequests reports whether faults of the type strike any HTTP request.
func (k Type) strikesRequests() bool { return descriptionOf[k].target == requests }

// fields describes the fields of a fault.
var fields = []struct{ name, means string }{
	{"kind", "one of the kinds above"},
	{"count", "how often it strikes; 0 = until it is deleted"},
	{"probability", "probability that a matching request is struck, 0 to 1; absent = 1"},
	{"delay", "a duration such as 250ms or 20s"},
	{"when", "before (default): the request has no effect; after: it takes effect and its answer is lost; late (latency only): it takes effect after the delay, even if the client has hung up"},
	{"method", "strikes only requests with this method"},
	{"path", "strikes only requests whose path contains this, such as ComputerSystem.Reset; a path that begins with /v1/ is the agent's"},
	{"command", "strikes only this command of the agent: full name (deploy.execute_deploy_step), bare name or step (write_image); agent_dies also accepts heartbeat; of lost_packet it is the name in the IPMI specification (Chassis Control), or SOL Payload for the packets of the serial console"},
}

// Example is a valid list of faults.
const Example = `{"faults":[{"kind":"slow_power","delay":"20s","count":1}]}`

// Help lists the types and fields for a terminal.
func Help() string {
	var b strings.Builder
	var last target
	for _, d := range descriptions {
		if d.target != last {
			fmt.Fprintf(&b, "Faults that strike %s:\n", d.target)
			last = d.target
		}
		fmt.Fprintf(&b, "  %-17s %s%s\n", d.typ, d.does, enclosed(" (", d.fields, ")"))
	}
	b.WriteString("Fields of a fault:\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "  %-17s %s\n", f.name, f.means)
	}
	return b.String()
}

// Markdown lists the types and fields as Markdown tables.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| kind | strikes | what happens | fields |\n|---|---|---|---|\n")
	for _, d := range descriptions {
		fmt.Fprintf(&b, "| `%s` | %s | %s |%s |\n", d.typ, d.target, d.does, enclosed(" `", strings.ReplaceAll(d.fields, " ", "` `"), "`"))
	}
	b.WriteString("\nEvery kind uses `count` and `probability`, and the fields in its row.\n\n| field | means |\n|---|---|\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.means)
	}
	return b.String()
}

// enclosed returns words between open and end, "" if words is empty.
func enclosed(open, words, end string) string {
	if words == "" {
		return ""
	}
	return open + words + end
}

// typeNames lists all types, for an error.
func typeNames() string {
	var all []string
	for _, d := range descriptions {
		all = append(all, string(d.typ))
	}
	return strings.Join(all, ", ")
}
