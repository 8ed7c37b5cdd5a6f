package redfish

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// simpleUpdate is the action that has the BMC fetch an image.
type simpleUpdate struct {
	schemas.ActionTarget
	Protocols looseList[looseString] `json:"TransferProtocol@Redfish.AllowableValues"`
}

// controllers have the versions of the firmware of a network adapter.
type controllers struct {
	ID          looseString `json:"Id"`
	Controllers looseList[struct{ FirmwarePackageVersion looseString }]
	Status      loose[status]
}

// Firmware implements bmc.FirmwareControl.
func (s *session) Firmware(ctx context.Context) ([]bmc.FirmwareVersion, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	all, err := s.firmware(ctx)
	return all, s.wrap("read the versions of the firmware", err)
}

func (s *session) firmware(ctx context.Context) (all []bmc.FirmwareVersion, err error) {
	sys, err := s.readSystem(ctx)
	if err != nil {
		return nil, err
	}
	add := func(component string, version looseString) {
		if v := version.short(); v != "" {
			all = append(all, bmc.FirmwareVersion{Component: component, Version: v})
		}
	}
	add(node.ComponentBIOS, sys.BIOSVersion)
	var id identity
	if err := s.askManager(ctx, sys.system, &id); err != nil {
		return nil, err
	}
	add(node.ComponentBMC, looseString(id.firmware))
	in := &inspection{session: s, sys: sys.system, path: sys.path, enough: time.Now().Add(callTime), seen: map[bmc.Part]int{}}
	paths, err := in.adapterPaths(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range paths[:min(len(paths), maxMembers)] {
		var c controllers
		_, err := s.read(ctx, at, &c)
		switch {
		case err != nil && !skippable(err):
			return nil, err
		case err == nil && !c.Status.v.absent():
			for _, one := range c.Controllers[:min(len(c.Controllers), 1)] {
				add(node.ComponentNIC+firstNonBlank(c.ID.short(), path.Base(at)), one.FirmwarePackageVersion)
			}
		}
	}
	return all, nil
}

// UpdateFirmware implements bmc.FirmwareControl.
func (s *session) UpdateFirmware(ctx context.Context, image bmc.FirmwareImage) (string, error) {
	ctx, done := withBudget(ctx, callTime+pushTime)
	defer done()
	task, err := s.updateFirmware(bmc.Asking(ctx, bmc.NameUpdateFirmware(image.URL)), image)
	return task, s.wrap("update firmware", err)
}

// updateFirmware has the BMC fetch the image, if it does that. Else, or if the image is to be checked before, it sends the image.
func (s *session) updateFirmware(ctx context.Context, image bmc.FirmwareImage) (string, error) {
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return "", err
	}
	if root.UpdateService == "" {
		return "", fault.New(fault.Refused, "the BMC has no service that updates firmware")
	}
	var service updateService
	if _, err := s.read(ctx, string(root.UpdateService), &service); err != nil {
		return "", err
	}
	scheme, _, _ := strings.Cut(image.URL, "://")
	protocol := strings.ToUpper(scheme)
	action := service.Actions.v.Simple
	fetches := action.Target != "" && (len(action.Protocols) == 0 || slices.Contains(action.Protocols, looseString(protocol)))
	pushes := image.Open != nil && (service.Push != "" || service.PushParts != "")
	switch {
	case fetches && !(pushes && image.Checked):
		body := map[string]any{"ImageURI": image.URL, "TransferProtocol": protocol}
		a, err := s.changed(ctx, http.MethodPost, action.Target, "", body, append(secretsOf(image.URL), image.URL)...)
		if err != nil {
			return "", err
		}
		return a.taskOf(), nil
	case pushes:
		return s.push(ctx, service, image)
	case action.Target == "":
		return "", fault.New(fault.Refused, "the BMC fetches no firmware by URL (%s has no action SimpleUpdate), and takes none with a request", root.UpdateService)
	}
	return "", fault.New(fault.Refused, "the BMC fetches no firmware by %s, only by %s", protocol, joinWords(action.Protocols))
}
