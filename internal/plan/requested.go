package plan

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// The bounds of what a request may ask for.
const (
	MaxSteps    = 255
	MaxStepName = 255
)

var stepName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// ReadSteps reads the clean_steps or deploy_steps of a request for an
// operation of kind k. Nothing is known yet of what the node offers (Steps).
// raw absent or null is no steps, which cleaning by hand refuses.
// Errors: fault.Invalid, naming the step by its place.
func ReadSteps(k node.OperationKind, raw json.RawMessage) ([]node.Step, error) {
	spec := k.Spec()
	field := spec.AskedSteps
	var asked []json.RawMessage
	if len(raw) > 0 {
		if err := jsonvalue.Unmarshal(raw, &asked); err != nil {
			return nil, fault.New(fault.Invalid, "Invalid %s: not a list of steps", field)
		}
	}
	if err := RequireSteps(k, len(asked)); err != nil {
		return nil, err
	}
	if len(asked) > MaxSteps {
		return nil, fault.New(fault.Invalid, "Invalid %s: %d steps, more than %d", field, len(asked), MaxSteps)
	}
	steps := make([]node.Step, 0, len(asked))
	for i, a := range asked {
		required, place := []string{"interface", "step"}, ""
		if spec.Family == node.DeployFamily {
			required, place = []string{"interface", "step", "args", "priority"}, "priority"
		}
		s, at, err := readStep(required, place, a)
		if err != nil {
			return nil, fault.New(fault.Invalid, "Invalid %s: step %d: %w", field, i, err)
		}
		s.Priority = at
		steps = append(steps, s)
	}
	return steps, nil
}

// RequireSteps is fault.Invalid, in Ironic's words, where a request for an operation of kind k names no steps and such an
// operation has no others.
func RequireSteps(k node.OperationKind, steps int) error {
	if spec := k.Spec(); spec.AskedOnly && steps == 0 {
		return fault.New(fault.Invalid, `"%s" is required when setting target provision state to %s`, spec.AskedSteps, k.Verb().Target)
	}
	return nil
}

// readStep reads a step that has the required fields and perhaps args. at is the value of the field place, which orders steps; 0 if that
// is "".
func readStep(required []string, place string, raw json.RawMessage) (s node.Step, at int, err error) {
	bad := func(format string, args ...any) (node.Step, int, error) {
		return node.Step{}, 0, fault.New(fault.Invalid, format, args...)
	}
	var a map[string]json.RawMessage
	if jsonvalue.Unmarshal(raw, &a) != nil || a == nil {
		return bad("not of type 'object'")
	}
	for _, key := range required {
		if a[key] == nil {
			return bad("'%s' is a required property", key)
		}
	}
	for key := range a {
		if key != "args" && !slices.Contains(required, key) {
			return bad("property '%s' was unexpected", text.Cut(key))
		}
	}
	s = node.Step{Asked: true}
	switch {
	case jsonvalue.Unmarshal(a["interface"], &s.Interface) != nil || node.StepRank(s.Interface) == 0:
		return bad("interface %s is not one of %s", text.Cut(string(a["interface"])), node.StepInterfaces)
	case jsonvalue.Unmarshal(a["step"], &s.Step) != nil || !stepName.MatchString(s.Step):
		return bad("'step' %s is not a step's name: letters, digits, _ . -", text.Cut(string(a["step"])))
	case len(s.Step) > MaxStepName:
		return bad("'step' has %d characters, more than %d", len(s.Step), MaxStepName)
	}
	if s.Args, err = readArgs(a["args"]); err != nil {
		return node.Step{}, 0, err
	}
	if place != "" {
		if at, err = readPlace(place, a[place]); err != nil {
			return node.Step{}, 0, err
		}
	}
	return s, at, checkReserved(s)
}

func readArgs(raw json.RawMessage) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	var args map[string]any
	if err := jsonvalue.Unmarshal(raw, &args); err != nil || args == nil {
		return nil, fault.New(fault.Invalid, "'args' is not of type 'object'")
	}
	if jsonvalue.Depth(args) > node.MaxDepth {
		return nil, fault.New(fault.Invalid, "'args' nests deeper than %d", node.MaxDepth)
	}
	for name := range args {
		if len(name) > MaxStepName {
			return nil, fault.New(fault.Invalid, "an argument's name has %d characters, more than %d", len(name), MaxStepName)
		}
	}
	return args, nil
}

// readPlace takes an integer, or digits in a string, as Ironic does.
func readPlace(name string, raw json.RawMessage) (int, error) {
	digits := string(raw)
	var quoted string
	if jsonvalue.Unmarshal(raw, &quoted) == nil {
		digits = quoted
	}
	p, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0, fault.New(fault.Invalid, "'%s' %s is not an integer from 0 to %d", name, text.Cut(digits), math.MaxInt32)
	}
	return int(p), nil
}

// maxWait bounds the reserved step wait, in seconds: a day.
const maxWait = 24 * 60 * 60

// checkReserved: of the reserved steps only wait takes an argument, a number of seconds.
func checkReserved(s node.Step) error {
	if !node.IsReserved(s.Step) {
		return nil
	}
	takes := s.Rule().Args
	for name, v := range s.Args {
		if _, ok := takes[name]; !ok {
			return fault.New(fault.Invalid, "step %s has an unexpected argument: %s", s.Step, text.Cut(name))
		}
		if n, ok := jsonvalue.Int(v); !ok || n < 0 || n > maxWait {
			return fault.New(fault.Invalid, "'%s' of step %s is not a whole number from 0 to %d", name, s.Step, maxWait)
		}
	}
	return nil
}
