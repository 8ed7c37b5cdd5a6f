package intent

import (
	"context"
	"slices"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/text"
)

// BootDeviceOf reads the fields boot_device and persistent of a request.
func BootDeviceOf(in *format.Object) (node.BootDevice, error) {
	in.Require("boot_device")
	b := node.BootDevice{Device: in.Text("boot_device")}
	if persistent := in.Boolean("persistent"); persistent != nil {
		b.Persistent = *persistent
	}
	if in.Err == nil && !slices.Contains(node.BootDevices, b.Device) {
		return b, fault.New(fault.Invalid, "Invalid boot device %s specified.", format.Clip(b.Device))
	}
	return b, in.Err
}

// DecideManagement opens an operation of kind k, which makes one request to the management interface. o has the boot device or the
// arguments of its step.
func (s *Service) DecideManagement(n *node.Node, fl *Fleet, k node.OperationKind, o plan.Options, by string) (*node.Request, error) {
	d, err := admission.Management(n, k, fl.Reservation(n))
	if err != nil {
		return nil, err
	}
	if err := fl.RequireCovered(n); err != nil {
		return nil, err
	}
	if err := s.Drivers.Validate(n.Driver, n.DriverInfo); err != nil {
		return nil, err
	}
	steps, err := plan.Steps(k, n, nil, o)
	if err != nil {
		return nil, err
	}
	r := &node.Request{Apply: d.Apply, Secrets: node.Secrets{}}
	r.Open = &node.Operation{Kind: k, Steps: sealSteps(n, k, steps, r.Secrets), RequestedBy: by}
	return r, nil
}

// ManagementObstacles returns everything that is in the way of a request to the management interface.
func (s *Service) ManagementObstacles(n *node.Node, fl *Fleet, k node.OperationKind) (all []error) {
	_, admitted := admission.Management(n, k, fl.Reservation(n))
	for _, err := range []error{admitted, fl.RequireCovered(n), s.Drivers.Validate(n.Driver, n.DriverInfo)} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// ReadBoot has a conductor read what is about the boot device from the BMC of the request's node.
func (s *Service) ReadBoot(c *gin.Context, what node.Reading) (node.BMCReading, error) {
	return s.read(c, what, "", func(n *node.Node) error { return admission.SupportsManagement(n, node.KindBootDevice) })
}

// ReadManagement has a conductor read what is about requests of kind k; word is Ironic's name of what the management interface has to
// support.
func (s *Service) ReadManagement(c *gin.Context, what node.Reading, k node.OperationKind, word string) (node.BMCReading, error) {
	return s.read(c, what, "", func(n *node.Node) error {
		if admission.SupportsManagement(n, k) != nil {
			return n.Unsupported(word)
		}
		return nil
	})
}

// read has a conductor read something from the BMC of the request's node, of several the one with that id, unless the node does not
// support it.
func (s *Service) read(c *gin.Context, what node.Reading, id string, supports func(*node.Node) error) (node.BMCReading, error) {
	n, fl, err := s.NodeAndFleet(c)
	if err == nil {
		err = fl.RequireCovered(n)
	}
	if err == nil {
		err = supports(n)
	}
	if err == nil {
		err = s.Drivers.Validate(n.Driver, n.DriverInfo)
	}
	if err != nil {
		return node.BMCReading{}, err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.AnswerWithin)
	defer cancel()
	out, err := s.Operations.Read(ctx, n, what, id)
	return out, afterReading(asRefusal(err), n)
}

// afterReading adds to the error of a reading from n's BMC what explains it and what mends it.
func afterReading(err error, n *node.Node) error {
	if !fault.Is(err, fault.Refused) {
		return err
	}
	list := []help.Item{help.Of(n, help.Action{Do: fault.ExplainNode})}
	for _, a := range help.Remedies(n, n.Driver, fault.CodeOf(err)) {
		list = append(list, help.Of(n, a))
	}
	return format.WithHelp(err, list...)
}

// Finish waits until o has ended, AnswerWithin at most. It returns o as it is then, and why it has not succeeded; nil = it has.
func (s *Service) Finish(c *gin.Context, o *node.Operation) (*node.Operation, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.AnswerWithin)
	defer cancel()
	if err := s.Operations.Await(ctx, o); err != nil && ctx.Err() == nil {
		httpd.Logger(c).Warn("the end of an operation could not be waited for", zap.Int64("operation", o.ID), zap.Error(err))
	}
	now, err := s.Store.Operation(c.Request.Context(), o.ID)
	switch {
	case err != nil:
		return nil, err
	case now.EndedAt == nil && now.LiveWait().Silent():
		w := now.LiveWait()
		err := fault.CodedAs(fault.Refused, fault.BMCSilent, "The BMC of node %s has given no answer since %s (%s). Operation %d (%s) has not ended yet, and asks it again until %s.",
			o.NodeUUID, text.Moment(w.Since), text.Clause(w.Unread), o.ID, o.Kind, text.Moment(*w.Until))
		return now, format.WithHelp(err, help.Of(nil, help.Action{Do: fault.WatchOperation, Operation: o.ID}))
	case now.EndedAt == nil:
		err := fault.Coded(fault.OperationNotEnded, "Operation %d (%s) of node %s has not ended yet, and goes on.", o.ID, o.Kind, o.NodeUUID)
		return now, format.WithHelp(err, help.Of(nil, help.Action{Do: fault.WatchOperation, Operation: o.ID}))
	case now.Outcome == node.Succeeded:
		return now, nil
	}
	kind := fault.Refused
	switch now.Cause.Row().Kind {
	case fault.Invalid, fault.NotFound:
		kind = now.Cause.Row().Kind
	}
	if now.Cause == fault.BootDeviceRefused {
		kind = fault.Invalid
	}
	err = fault.CodedAs(kind, now.Cause, "Operation %d (%s) of node %s has %s: %s", o.ID, o.Kind, o.NodeUUID, now.Outcome, now.Error)
	return now, format.WithHelp(err, s.afterFailure(c, now)...)
}

// afterFailure returns what can be done about an operation that has failed.
func (s *Service) afterFailure(c *gin.Context, o *node.Operation) []help.Item {
	n, err := s.Store.Node(c.Request.Context(), o.NodeUUID)
	if err != nil {
		n = &node.Node{UUID: o.NodeUUID, Name: o.NodeName}
	}
	list := []help.Item{help.Of(n, help.Action{Do: fault.ExplainNode})}
	if o.Kind == node.KindNMI && n.PowerState == node.PowerOff {
		list = append(list, help.Of(n, help.Action{Do: fault.SwitchOn}))
	}
	return list
}

// asRefusal returns the error of a request to hardware as fault.Refused, with its code and text. With its own kind the client would
// get 503 for a BMC that does not answer, as if a part of Temper were unavailable.
func asRefusal(err error) error {
	switch fault.KindOf(err) {
	case fault.Unreachable, fault.Busy, fault.Denied, fault.Untrusted, fault.OutcomeUnknown:
		return fault.CodedAs(fault.Refused, fault.CodeOf(err), "%w", err)
	}
	return err
}
