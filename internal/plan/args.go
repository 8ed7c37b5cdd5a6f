package plan

import (
	"maps"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// checkArgs compares what was asked with what the step takes.
func checkArgs(f node.Family, s node.Step, args map[string]node.ArgSpec) error {
	var unexpected, missing []string
	for a := range s.Args {
		if _, ok := args[a]; !ok {
			unexpected = append(unexpected, text.Cut(a))
		}
	}
	for a, spec := range args {
		if _, ok := s.Args[a]; spec.Required && !ok {
			if spec.Description != "" {
				a += " (" + spec.Description + ")"
			}
			missing = append(missing, a)
		}
	}
	slices.Sort(unexpected)
	slices.Sort(missing)
	switch {
	case len(unexpected) > 0:
		return fault.New(fault.Invalid, "%s step %s has these unexpected arguments: %s", f, s.Name(), strings.Join(unexpected[:min(len(unexpected), 10)], ", "))
	case len(missing) > 0:
		return fault.New(fault.Invalid, "%s step %s is missing these required arguments: %s", f, s.Name(), strings.Join(missing, ", "))
	}
	for _, a := range slices.Sorted(maps.Keys(s.Args)) {
		// What a retry or a runbook has masked was checked when it was given.
		if check := args[a].Check; check != nil && !mask.Within(s.Args[a]) {
			if err := check(s.Args[a]); err != nil {
				return fault.Coded(fault.StepArgumentWrong, "%s step %s has a wrong argument %s: %w", f, s.Name(), a, err)
			}
		}
	}
	return nil
}
