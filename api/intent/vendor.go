package intent

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// vendorArgs read the arguments of each method that changes something, with Ironic's checks. in has any fields.
var vendorArgs = map[string]func(in *format.Object) map[string]any{
	node.StepSendRaw:            rawArgs,
	node.StepResetBMC:           resetArgs,
	node.StepEjectMedia:         ejectArgs,
	node.StepCreateSubscription: subscriptionArgs,
	node.StepDeleteSubscription: func(in *format.Object) map[string]any { return map[string]any{node.ArgID: SubscriptionID(in)} },
}

func rawArgs(in *format.Object) map[string]any {
	words := in.Text(node.ArgRawBytes)
	if words == "" {
		in.Fail("Parameter raw_bytes (string of bytes) was not specified.")
	}
	if _, err := node.RawBytes(words); err != nil && in.Err == nil {
		in.Err = err
	}
	onlyArgs(in, node.ArgRawBytes)
	return map[string]any{node.ArgRawBytes: words}
}

func resetArgs(in *format.Object) map[string]any {
	warm := in.Boolean(node.ArgWarm)
	onlyArgs(in, node.ArgWarm)
	return map[string]any{node.ArgWarm: warm == nil || *warm}
}

// onlyArgs refuses other arguments than those. Methods of the vendor interface redfish ignore other arguments, as in Ironic.
func onlyArgs(in *format.Object, names ...string) {
	for name := range in.Fields {
		if !slices.Contains(names, name) {
			in.Fail("Unexpected arguments: %s", format.Clip(name))
		}
	}
}

// drives are the kinds of virtual drives, by Ironic's names.
var drives = []string{"cd", "dvd", "usb", "floppy"}

func ejectArgs(in *format.Object) map[string]any {
	kind := strings.ToLower(in.Text(node.ArgBootDevice))
	switch {
	case kind == "":
		return nil
	case !slices.Contains(drives, kind):
		in.Fail("Boot device %s is not a valid value, it is one of %s", format.Clip(kind), strings.Join(drives, ", "))
	}
	return map[string]any{node.ArgBootDevice: kind}
}

func subscriptionArgs(in *format.Object) map[string]any {
	destination := in.Text(node.ArgDestination)
	if u, err := url.Parse(destination); err != nil || u.Scheme == "" || u.Host == "" {
		in.Fail("Destination %s is not a valid URI", format.Clip(mask.URLs(destination)))
	}
	in.Text(node.ArgContext)
	in.Text(node.ArgProtocol)
	for _, t := range in.List(node.ArgEventTypes) {
		if _, ok := t.(string); !ok {
			in.Fail("EventTypes must be a list of strings")
		}
	}
	for _, h := range in.List(node.ArgHTTPHeaders) {
		if _, ok := h.(map[string]any); !ok {
			in.Fail("HttpHeaders must be a list of objects with the names and values of headers")
		}
	}
	args := map[string]any{}
	for _, name := range []string{node.ArgDestination, node.ArgContext, node.ArgProtocol, node.ArgEventTypes, node.ArgHTTPHeaders} {
		if in.Has(name) {
			args[name] = in.Fields[name]
		}
	}
	return args
}

// SubscriptionID reads the argument id.
func SubscriptionID(in *format.Object) string {
	id := in.Text(node.ArgID)
	if id == "" {
		in.Fail("id can't be None")
	}
	return id
}

// VendorMethodOf returns the method of n's vendor interface that a request names. Without a method, or with another HTTP method than
// that, the error is Ironic's; http is "" where that does not matter.
func VendorMethodOf(n *node.Node, name, http string) (node.VendorMethod, error) {
	if name == "" {
		return node.VendorMethod{}, fault.New(fault.Invalid, "Method not specified")
	}
	m, ok := n.VendorMethod(name)
	switch {
	case !ok:
		return m, admission.NoVendorMethod(name)
	case http != "" && m.HTTP != http:
		return m, fault.New(fault.Invalid, "The method %s does not support HTTP %s", m.Name, http)
	}
	return m, nil
}

// DecideVendor opens an operation that calls a method which changes something. in has the arguments.
func (s *Service) DecideVendor(n *node.Node, fl *Fleet, method string, in *format.Object, by string) (*node.Request, error) {
	d, err := admission.Vendor(n, method, fl.Reservation(n))
	if err != nil {
		return nil, err
	}
	if err := fl.RequireCovered(n); err != nil {
		return nil, err
	}
	if err := s.Drivers.Validate(n.Driver, n.DriverInfo); err != nil {
		return nil, err
	}
	args, err := readVendorArgs(method, in)
	if err != nil {
		return nil, err
	}
	steps, err := plan.Steps(d.Open, n, nil, plan.Options{Vendor: node.VendorCall{Method: method, Args: args}})
	if err != nil {
		return nil, err
	}
	r := &node.Request{Apply: d.Apply, Secrets: node.Secrets{}}
	r.Open = &node.Operation{Kind: d.Open, Steps: sealSteps(n, d.Open, steps, r.Secrets), RequestedBy: by}
	return r, nil
}

// readVendorArgs reads the arguments of a method that changes something.
func readVendorArgs(method string, in *format.Object) (map[string]any, error) {
	read := vendorArgs[method]
	if read == nil {
		return nil, fault.New(fault.Invalid, "The method %s changes nothing, and needs no operation: read with GET", format.Clip(method))
	}
	copied := &format.Object{Fields: in.Fields}
	args := read(copied)
	return args, copied.Err
}

// VendorObstacles returns everything that is in the way of a call of a method of the vendor interface.
func (s *Service) VendorObstacles(n *node.Node, fl *Fleet, method string, in *format.Object) (all []error) {
	_, admitted := admission.Vendor(n, method, fl.Reservation(n))
	_, wrong := readVendorArgs(method, in)
	for _, err := range []error{admitted, fl.RequireCovered(n), s.Drivers.Validate(n.Driver, n.DriverInfo), wrong} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// ReadVendor has a conductor read what the method m reads, with the arguments in.
func (s *Service) ReadVendor(c *gin.Context, m node.VendorMethod, in *format.Object) (node.BMCReading, error) {
	id := ""
	if m.Reads == node.ReadSubscription {
		if id = SubscriptionID(in); in.Err != nil {
			return node.BMCReading{}, in.Err
		}
	}
	return s.read(c, m.Reads, id, func(n *node.Node) error {
		_, err := VendorMethodOf(n, m.Name, m.HTTP)
		return err
	})
}
