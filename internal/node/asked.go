package node

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// The bounds of what a request may ask for.
const (
	MaxSteps    = 255
	MaxStepName = 255
)

var stepName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// ValidateSteps reads the clean_steps or deploy_steps of a request for an
// operation of kind k. Nothing is known yet of what the node offers (Plan).
// raw absent or null is no steps, which cleaning by hand refuses.
// Errors: fault.Invalid, naming the step by its place.
func ValidateSteps(k Kind, raw json.RawMessage) ([]Step, error) {
	spec := k.Spec()
	field := spec.AskedSteps
	var asked []json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &asked); err != nil {
			return nil, fault.New(fault.Invalid, "Invalid %s: not a list of steps", field)
		}
	}
	switch {
	case len(asked) == 0 && spec.AskedOnly:
		return nil, fault.New(fault.Invalid, `"%s" is required when setting target provision state to %s`, field, spec.Verb)
	case len(asked) > MaxSteps:
		return nil, fault.New(fault.Invalid, "Invalid %s: %d steps, more than %d", field, len(asked), MaxSteps)
	}
	steps := make([]Step, 0, len(asked))
	for i, a := range asked {
		s, err := readStep(spec.Family, a)
		if err != nil {
			return nil, fault.New(fault.Invalid, "Invalid %s: step %d: %w", field, i, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func readStep(f Family, raw json.RawMessage) (Step, error) {
	bad := func(format string, args ...any) (Step, error) {
		return Step{}, fault.New(fault.Invalid, format, args...)
	}
	var a map[string]json.RawMessage
	if json.Unmarshal(raw, &a) != nil || a == nil {
		return bad("not of type 'object'")
	}
	required := []string{"interface", "step"}
	if f == DeployFamily {
		required = []string{"interface", "step", "args", "priority"}
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
	s := Step{Asked: true}
	switch {
	case json.Unmarshal(a["interface"], &s.Interface) != nil || rank[s.Interface] == 0:
		return bad("interface %s is not one of %s", text.Cut(string(a["interface"])), stepInterfaces)
	case json.Unmarshal(a["step"], &s.Step) != nil || !stepName.MatchString(s.Step):
		return bad("'step' %s is not a step's name: letters, digits, _ . -", text.Cut(string(a["step"])))
	case len(s.Step) > MaxStepName:
		return bad("'step' has %d characters, more than %d", len(s.Step), MaxStepName)
	}
	var err error
	if s.Args, err = readArgs(a["args"]); err != nil {
		return Step{}, err
	}
	if f == DeployFamily {
		if s.Priority, err = readPriority(a["priority"]); err != nil {
			return Step{}, err
		}
	}
	return s, checkReserved(s)
}

func readArgs(raw json.RawMessage) (map[string]any, error) {
	if raw == nil {
		return nil, nil
	}
	var args map[string]any
	if err := json.Unmarshal(raw, &args); err != nil || args == nil {
		return nil, fault.New(fault.Invalid, "'args' is not of type 'object'")
	}
	if depth(args) > MaxDepth {
		return nil, fault.New(fault.Invalid, "'args' nests deeper than %d", MaxDepth)
	}
	for name := range args {
		if len(name) > MaxStepName {
			return nil, fault.New(fault.Invalid, "an argument's name has %d characters, more than %d", len(name), MaxStepName)
		}
	}
	return args, nil
}

// readPriority takes an integer, or digits in a string, as Ironic does.
func readPriority(raw json.RawMessage) (int, error) {
	digits := string(raw)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		digits = quoted
	}
	p, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0, fault.New(fault.Invalid, "'priority' %s is not an integer from 0 to %d", text.Cut(digits), math.MaxInt32)
	}
	return int(p), nil
}

// maxWait bounds the reserved step wait, in seconds: a day.
const maxWait = 24 * 60 * 60

// checkReserved: of the reserved steps only wait takes an argument, a number of seconds.
func checkReserved(s Step) error {
	if !IsReserved(s.Step) {
		return nil
	}
	takes := s.Rule().Args
	for name, v := range s.Args {
		if _, ok := takes[name]; !ok {
			return fault.New(fault.Invalid, "step %s has an unexpected argument: %s", s.Step, text.Cut(name))
		}
		if n, ok := v.(float64); !ok || n < 0 || n > maxWait || n != math.Trunc(n) {
			return fault.New(fault.Invalid, "'%s' of step %s is not a whole number from 0 to %d", name, s.Step, maxWait)
		}
	}
	return nil
}

// MaskArgs takes the secrets out of the arguments of steps: by the name of an
// argument, and where the step says that one is secret. secrets are by step and
// JSON pointer and fit any plan that is merged from this one. steps is not changed.
func MaskArgs(n *Node, k Kind, steps []Step) (masked []Step, secrets map[string]any) {
	specs := map[string]StepSpec{}
	for _, s := range specsOf(n, k.Spec().Family) {
		specs[s.Name()] = s
	}
	secrets = map[string]any{}
	masked = make([]Step, len(steps))
	for i, s := range steps {
		if len(s.Args) > 0 {
			args, found := Mask(s.Args)
			for name, v := range args {
				if specs[s.Name()].Args[name].Secret && v != Masked {
					delete(found, "/"+escape(name))
					args[name] = seal(s.Args[name], "/"+escape(name), found)
				}
			}
			for path, v := range found {
				secrets[argsKey(steps, i)+path] = v
			}
			s.Args = args
		}
		masked[i] = s
	}
	return masked, secrets
}

// ClearArgs are the arguments of step i with the secrets of MaskArgs back in
// place, for the one who runs it.
func ClearArgs(steps []Step, i int, secrets map[string]any) map[string]any {
	if len(steps[i].Args) == 0 {
		return nil
	}
	prefix := argsKey(steps, i)
	mine := map[string]any{}
	for key, v := range secrets {
		if path, ok := strings.CutPrefix(key, prefix); ok && strings.HasPrefix(path, "/") {
			mine[path] = v
		}
	}
	return Unmask(steps[i].Args, mine)
}
