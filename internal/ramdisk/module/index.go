package module

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Index finds modules and what has to be loaded before them, in a running system. Its files are those of depmod(8):
// modules.dep, modules.alias and modules.softdep.
type Index struct {
	dir     string
	paths   map[string]string   // of a module, below dir
	depends map[string][]string // names
	soft    map[string][]string
	aliases aliases
}

// IndexFiles returns the index of modules as files, by name. They are the same for the same modules.
func IndexFiles(all []Info) map[string][]byte {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	paths := map[string]string{}
	for _, info := range all {
		paths[info.Name] = info.Path
	}
	var dep, alias, soft bytes.Buffer
	for _, info := range all {
		fmt.Fprintf(&dep, "%s:", info.Path)
		for _, name := range info.Depends {
			if path, ok := paths[name]; ok {
				fmt.Fprintf(&dep, " %s", path)
			}
		}
		fmt.Fprintln(&dep)
		for _, a := range info.Aliases {
			fmt.Fprintf(&alias, "alias %s %s\n", a, info.Name)
		}
		if len(info.Soft) > 0 {
			fmt.Fprintf(&soft, "softdep %s pre: %s\n", info.Name, strings.Join(info.Soft, " "))
		}
	}
	return map[string][]byte{"modules.dep": dep.Bytes(), "modules.alias": alias.Bytes(), "modules.softdep": soft.Bytes()}
}

// OpenIndex reads the index of the modules below dir.
func OpenIndex(dir string) (*Index, error) {
	x := &Index{dir: dir, paths: map[string]string{}, depends: map[string][]string{}, soft: map[string][]string{}, aliases: aliases{}}
	name := func(path string) string { return Name(strings.TrimSuffix(filepath.Base(path), ".ko")) }
	for file, line := range map[string]func(f []string){
		"modules.dep": func(f []string) {
			path := strings.TrimSuffix(f[0], ":")
			x.paths[name(path)] = path
			for _, dep := range f[1:] {
				x.depends[name(path)] = append(x.depends[name(path)], name(dep))
			}
		},
		"modules.alias": func(f []string) {
			if len(f) == 3 {
				x.aliases.add(f[1], f[2])
			}
		},
		"modules.softdep": func(f []string) {
			for _, dep := range f[2:] {
				if !strings.HasSuffix(dep, ":") {
					x.soft[f[1]] = append(x.soft[f[1]], dep)
				}
			}
		},
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("read the index of modules: %w", err)
		}
		for text := range strings.Lines(string(b)) {
			if f := strings.Fields(text); len(f) > 0 && (file == "modules.dep" || len(f) > 2) {
				line(f)
			}
		}
	}
	return x, nil
}

// Order returns the modules that a device, an alias or a module's name asks for, as the paths of their files in the order
// in which they are to be loaded. There may be none.
func (x *Index) Order(wanted string) []string {
	var order []string
	seen := map[string]bool{}
	var add func(name string)
	addAny := func(wanted string) {
		if _, ok := x.paths[Name(wanted)]; ok {
			add(Name(wanted))
			return
		}
		for _, name := range x.aliases.match(wanted) {
			add(name)
		}
	}
	add = func(name string) {
		path, known := x.paths[name]
		if seen[name] || !known {
			return
		}
		seen[name] = true
		for _, dep := range x.soft[name] {
			addAny(dep)
		}
		for _, dep := range x.depends[name] {
			add(dep)
		}
		order = append(order, filepath.Join(x.dir, path))
	}
	addAny(wanted)
	return order
}
