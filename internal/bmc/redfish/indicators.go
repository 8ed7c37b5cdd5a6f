package redfish

import (
	"context"
	"path"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// lit is a resource that may have a light. Newer services have LocationIndicatorActive, which can't blink; older ones IndicatorLED.
type lit struct {
	ID     looseString                  `json:"Id"`
	ETag   looseString                  `json:"@odata.etag"`
	LED    loose[*schemas.IndicatorLED] `json:"IndicatorLED"`
	Active loose[*bool]                 `json:"LocationIndicatorActive"`
}

// light is a light as it was read.
type light struct {
	node.Indicator
	lit
	path, etag string
}

// ledStates has Redfish's names of states.
var ledStates = map[string]schemas.IndicatorLED{
	node.IndicatorOn: schemas.LitIndicatorLED, node.IndicatorOff: schemas.OffIndicatorLED, node.IndicatorBlinking: schemas.BlinkingIndicatorLED,
}

// ReadIndicators reads the lights of the system, of its chassis and of its drives.
func (s *session) ReadIndicators(ctx context.Context) ([]node.Indicator, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	all, err := s.lights(ctx, "")
	var out []node.Indicator
	for _, l := range all {
		out = append(out, l.Indicator)
	}
	return out, s.wrap("read the lights", err)
}

// lights reads the lights of a component, "" = of all.
func (s *session) lights(ctx context.Context, component string) (all []light, err error) {
	sys, err := s.readSystem(ctx)
	if err != nil {
		return nil, err
	}
	of := map[string][]string{node.LightOfSystem: {sys.path}, node.LightOfChassis: sys.Links.v.Chassis}
	if (component == "" || component == node.LightOfDisk) && sys.Storage != "" {
		if of[node.LightOfDisk], err = s.drivePaths(ctx, sys.Storage); err != nil {
			return nil, err
		}
	}
	for _, c := range []string{node.LightOfSystem, node.LightOfChassis, node.LightOfDisk} {
		if component != "" && c != component {
			continue
		}
		paths := of[c]
		for _, at := range paths[:min(len(paths), maxMembers)] {
			l := light{path: at}
			a, err := s.read(ctx, at, &l.lit)
			switch {
			case err != nil && !skippable(err):
				return nil, err
			case err == nil && l.has():
				l.etag = a.etag(l.ETag)
				l.describe(c)
				all = append(all, l)
			}
		}
	}
	return all, nil
}

// drivePaths returns the paths of the drives of a collection of storage.
func (s *session) drivePaths(ctx context.Context, collection link) (paths []string, err error) {
	err = each(ctx, s, collection, func(st storage) { paths = append(paths, st.Drives[:min(len(st.Drives), maxMembers-len(paths))]...) })
	return paths, err
}

// has reports whether there is a light. A light that the BMC can't read is null, and may be written all the same.
func (l lit) has() bool { return l.LED.v != nil || l.Active.v != nil }

func (l *light) describe(component string) {
	l.Indicator = node.Indicator{Component: component, Name: firstNonBlank(l.ID.short(), path.Base(l.path)), State: node.IndicatorUnknown}
	if l.LED.v == nil {
		l.States = []string{node.IndicatorOff, node.IndicatorOn}
		l.State = map[bool]string{true: node.IndicatorOn, false: node.IndicatorOff}[*l.Active.v]
		return
	}
	l.States = []string{node.IndicatorBlinking, node.IndicatorOff, node.IndicatorOn}
	for state, led := range ledStates {
		if led == *l.LED.v {
			l.State = state
		}
	}
}

// SetIndicator switches a light.
func (s *session) SetIndicator(ctx context.Context, component, name, state string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("switch a light", s.setIndicator(bmc.Asking(ctx, bmc.NameIndicator(component, name, state)), component, name, state))
}

func (s *session) setIndicator(ctx context.Context, component, name, state string) error {
	all, err := s.lights(ctx, component)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Name != name {
			continue
		}
		body := map[string]any{"IndicatorLED": ledStates[state]}
		if l.LED.v == nil {
			body = map[string]any{"LocationIndicatorActive": state != node.IndicatorOff}
		}
		return s.patch(ctx, l.path, l.etag, body)
	}
	return fault.New(fault.NotFound, "the server has no light %q of the component %q", printable(name, 80), printable(component, 80))
}
