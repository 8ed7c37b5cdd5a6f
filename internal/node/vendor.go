package node

import (
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// VendorMethod is a method of a vendor interface, which clients call by Ironic's vendor_passthru.
type VendorMethod struct {
	Name  string
	HTTP  string // the HTTP method with which it is called
	About string // sentences, as in the list of methods
	// Sync: the answer comes when the method has ended, with what the BMC says. Others are answered when they are accepted.
	Sync bool
	// Reads is what the method reads of the BMC. If it is "", the method changes something: an operation of one step does it, which
	// has the name of the method.
	Reads Reading
}

// The methods that change something, which are the names of their steps, too.
const (
	StepSendRaw            = "send_raw"
	StepResetBMC           = "bmc_reset"
	StepEjectMedia         = "eject_vmedia"
	StepCreateSubscription = "create_subscription"
	StepDeleteSubscription = "delete_subscription"
)

// ipmiMethods are those of Ironic's vendor interface ipmitool.
var ipmiMethods = []VendorMethod{
	{
		Name: StepSendRaw, HTTP: "POST",
		About: "Sends one IPMI command to the BMC, at most once. raw_bytes (required) has its network function, its number and its data as numbers, such as \"0x06 0x01\".",
	},
	{
		Name: StepResetBMC, HTTP: "POST",
		About: "Restarts the BMC, which then does not answer for some minutes; the server runs on. warm: true (default) for a warm, false for a cold reset.",
	},
}

// redfishMethods are those of Ironic's vendor interface redfish.
var redfishMethods = []VendorMethod{
	{
		Name: StepEjectMedia, HTTP: "POST",
		About: "Ejects virtual media. boot_device (cd, dvd, usb or floppy) ejects from drives of that kind only.",
	},
	{
		Name: StepCreateSubscription, HTTP: "POST", Sync: true,
		About: "Has the BMC send its events to the URL Destination (required). Protocol (default Redfish), Context, EventTypes (default [Alert]) and HttpHeaders are Redfish's.",
	},
	{
		Name: StepDeleteSubscription, HTTP: "DELETE", Sync: true,
		About: "Deletes the subscription with this id (required).",
	},
	{
		Name: "get_all_subscriptions", HTTP: "GET", Sync: true, Reads: ReadSubscriptions,
		About: "Lists the subscriptions to the BMC's events, without those of Temper itself.",
	},
	{
		Name: "get_subscription", HTTP: "GET", Sync: true, Reads: ReadSubscription,
		About: "Shows the subscription with this id (required).",
	},
}

// VendorMethod returns the method of that name of n's vendor interface; false if it has none.
func (n *Node) VendorMethod(name string) (VendorMethod, bool) {
	all := n.Implementation("vendor").Methods
	i := slices.IndexFunc(all, func(m VendorMethod) bool { return m.Name == name })
	if i < 0 {
		return VendorMethod{}, false
	}
	return all[i], true
}

// VendorCall is a call of a method that changes something.
type VendorCall struct {
	Method string
	Args   map[string]any
}

// The arguments of the steps that call vendor methods, by Ironic's names.
const (
	ArgRawBytes    = "raw_bytes"
	ArgWarm        = "warm"
	ArgBootDevice  = argBootDevice
	ArgID          = "id"
	ArgDestination = "Destination"
	ArgProtocol    = "Protocol"
	ArgContext     = "Context"
	ArgEventTypes  = "EventTypes"
	ArgHTTPHeaders = "HttpHeaders"
)

// MaxRaw is how many bytes a raw IPMI command has at most: its network function, its number, and what fits into a message on the bus
// beside them (IPMI 2.0, 6.13.3).
const MaxRaw = 2 + 29

// RawBytes reads the bytes of a raw command: numbers as in C, separated by blanks. The error does not repeat them, because commands
// can contain passwords.
func RawBytes(words string) ([]byte, error) {
	var out []byte
	for _, word := range strings.Fields(words) {
		b, err := strconv.ParseUint(word, 0, 8)
		if err != nil || len(out) >= MaxRaw {
			return nil, fault.New(fault.Invalid, "raw_bytes must be at most %d numbers from 0x00 to 0xff, separated by blanks, such as \"0x06 0x01\"", MaxRaw)
		}
		out = append(out, byte(b))
	}
	if len(out) < 2 {
		return nil, fault.New(fault.Invalid, "raw_bytes needs a network function and the number of a command at least, such as \"0x06 0x01\"")
	}
	return out, nil
}

// SubscriptionOf returns the subscription that the arguments of StepCreateSubscription ask for, with Ironic's defaults.
func SubscriptionOf(args map[string]any) EventSubscription {
	text := func(name, otherwise string) string {
		if s, ok := args[name].(string); ok {
			return s
		}
		return otherwise
	}
	out := EventSubscription{Destination: text(ArgDestination, ""), Protocol: text(ArgProtocol, "Redfish"), Context: text(ArgContext, "")}
	types, given := args[ArgEventTypes].([]any)
	if !given {
		types = []any{"Alert"}
	}
	for _, t := range types {
		if s, ok := t.(string); ok {
			out.EventTypes = append(out.EventTypes, s)
		}
	}
	return out
}
