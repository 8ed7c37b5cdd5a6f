package module

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Set is modules of one kernel, of which some may be looked up.
type Set struct {
	byName  map[string]Info
	aliases aliases
	builtin map[string]bool
}

// NewSet makes a set of modules. builtin are the names of what is part of the kernel.
func NewSet(all []Info, builtin map[string]bool) *Set {
	s := &Set{byName: map[string]Info{}, aliases: aliases{}, builtin: builtin}
	for _, info := range all {
		s.byName[info.Name] = info
		for _, a := range info.Aliases {
			s.aliases.add(a, info.Name)
		}
	}
	return s
}

// For returns the modules that a device wants, by its modalias, such as
// pci:v00008086d00001521sv00001028sd00001F60bc02sc00i00.
func (s *Set) For(modalias string) []string { return s.aliases.match(modalias) }

// Closure returns the modules with these names and all that they need, in the order of their paths. A name may be an
// alias. What is built in is left out; a name that nothing has is an error.
func (s *Set) Closure(names ...string) ([]Info, error) {
	have := map[string]Info{}
	var add func(name string, must bool) error
	add = func(name string, must bool) error {
		if _, known := have[Name(name)]; known || s.builtin[Name(name)] {
			return nil
		}
		info, ok := s.byName[Name(name)]
		if !ok {
			others := s.aliases.match(name)
			if len(others) == 0 && must {
				return fmt.Errorf("the kernel has no module %s", name)
			}
			for _, other := range others {
				if err := add(other, must); err != nil {
					return err
				}
			}
			return nil
		}
		have[info.Name] = info
		for _, dep := range info.Depends {
			if err := add(dep, true); err != nil {
				return fmt.Errorf("%w, which %s needs", err, info.Name)
			}
		}
		for _, dep := range info.Soft {
			if err := add(dep, false); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range names {
		if err := add(name, true); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(have), func(a, b Info) int { return strings.Compare(a.Path, b.Path) }), nil
}

// aliases are patterns with the names of their modules, by the pattern's bus: what stands before its first colon.
type aliases map[string][]alias

type alias struct{ pattern, name string }

func (a aliases) add(pattern, name string) {
	bus, _, _ := strings.Cut(pattern, ":")
	if strings.ContainsAny(bus, "*?[") {
		bus = "" // fits any bus
	}
	a[bus] = append(a[bus], alias{pattern, name})
}

// match returns the names of the modules whose patterns fit, without repetition.
func (a aliases) match(modalias string) []string {
	bus, _, _ := strings.Cut(modalias, ":")
	var names []string
	for _, list := range [][]alias{a[bus], a[""]} {
		for _, x := range list {
			// A pattern is fnmatch's. A modalias with a slash in it is none that has a pattern.
			if ok, err := path.Match(x.pattern, modalias); err == nil && ok && !slices.Contains(names, x.name) {
				names = append(names, x.name)
			}
		}
	}
	return names
}
