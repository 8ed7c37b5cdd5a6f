package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// Setting is one setting and where it came from, for logs.
type Setting struct {
	Key, Value string // secrets are masked
	Source     string // "default", "file PATH", "environment NAME" or "flag --NAME"
}

// Load reads the settings of role, a pointer to one of this package's role structs. Its sources are fs (flags made by Flags, of
// which only those that are set count), environ, and the file that either names. The error joins all that is wrong, each with
// key, value, source and what would be right. The extra checks run after role was filled in.
func Load(role Role, fs *pflag.FlagSet, environ []string, extra ...func() error) ([]Setting, error) {
	v := reflect.ValueOf(role).Elem()
	fields := fieldsOf(v.Type())
	l, err := readLayers(fields, fs, environ)
	if err != nil {
		return nil, err
	}
	wrong := l.unknownKeys()
	found := make([]Setting, 0, len(fields))
	broken := map[string]bool{} // settings that could not be decoded are not checked
	for _, f := range fields {
		raw, source := l.value(f)
		if err := decode(v.FieldByIndex(f.index), raw); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %q from %s: %w", f.key, mask(fmt.Sprint(raw), f.secret), source, err))
			broken[f.key] = true
		}
		found = append(found, Setting{Key: f.key, Value: format(v.FieldByIndex(f.index), f.secret), Source: source})
	}
	p := &problems{broken: broken, found: found}
	role.check(p)
	for _, check := range extra {
		if err := check(); err != nil {
			p.list = append(p.list, err)
		}
	}
	return found, errors.Join(append(wrong, p.list...)...)
}

// layer is one source of settings.
type layer struct {
	k      *koanf.Koanf
	source func(f field) string
}

// layers are the sources, the one with the highest precedence first.
type layers struct {
	all  []layer
	file *koanf.Koanf
	path string
}

func readLayers(fields []field, fs *pflag.FlagSet, environ []string) (*layers, error) {
	flags, err := load(posflag.ProviderWithFlag(fs, ".", nil, flagKeys(fields, fs)), nil)
	if err != nil {
		return nil, fmt.Errorf("read flags: %w", err)
	}
	vars, err := load(env.Provider(".", env.Opt{
		Prefix: envPrefix, TransformFunc: envKeys(), EnvironFunc: func() []string { return environ },
	}), nil)
	if err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	defaults := map[string]any{}
	for _, f := range fields {
		if f.kind.Kind() != reflect.Pointer { // a pointer without a value is not set, which differs from empty
			defaults[f.key] = f.def
		}
	}
	base, err := load(confmap.Provider(defaults, "."), nil)
	if err != nil {
		return nil, fmt.Errorf("read defaults: %w", err)
	}
	l := &layers{file: koanf.New("."), path: FilePath(fs, environ)}
	if l.path != "" {
		if l.file, err = load(file.Provider(l.path), yaml.Parser()); err != nil {
			return nil, fmt.Errorf("read settings from %s: %w", l.path, err)
		}
	}
	l.all = []layer{
		{flags, func(f field) string { return "flag --" + f.flag }},
		{vars, func(f field) string { return "environment " + f.env() }},
		{l.file, func(field) string { return "file " + l.path }},
		{base, func(field) string { return "default" }},
	}
	return l, nil
}

func load(p koanf.Provider, parser koanf.Parser) (*koanf.Koanf, error) {
	k := koanf.New(".")
	return k, k.Load(p, parser)
}

// FilePath returns the file that --config or TEMPER_CONFIG names; "" = none.
func FilePath(fs *pflag.FlagSet, environ []string) string {
	if f := fs.Lookup(ConfigFlag); f != nil && f.Changed {
		return f.Value.String()
	}
	for _, e := range environ {
		if path, ok := strings.CutPrefix(e, envPrefix+"CONFIG="); ok {
			return path
		}
	}
	return ""
}

// flagKeys returns a function that turns flags that are set into settings.
func flagKeys(fields []field, fs *pflag.FlagSet) func(*pflag.Flag) (string, any) {
	byFlag := map[string]field{}
	for _, f := range fields {
		byFlag[f.flag] = f
	}
	return func(flag *pflag.Flag) (string, any) {
		f, ok := byFlag[flag.Name]
		if !ok || !flag.Changed {
			return "", nil
		}
		if f.isSection() {
			m, _ := fs.GetStringToString(flag.Name) // Flags has made it one
			return f.key, m
		}
		return f.key, flag.Value.String()
	}
}

// envKeys returns a function that turns variables into settings. It ignores other variables with our prefix.
func envKeys() func(name, value string) (string, any) {
	byName := map[string]string{}
	open := map[string]string{}
	for key, f := range allFields() {
		if f.isSection() {
			open[f.env()+"_"] = key
			continue
		}
		byName[f.env()] = key
	}
	return func(name, value string) (string, any) {
		if key, ok := byName[name]; ok {
			return key, value
		}
		for prefix, key := range open {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				return key + "." + strings.ToLower(rest), value
			}
		}
		return "", nil
	}
}

// value returns the value of the first layer that has the setting. A section is merged from all layers.
func (l *layers) value(f field) (raw any, source string) {
	if f.isSection() {
		return l.section(f)
	}
	for _, one := range l.all {
		if one.k.Exists(f.key) {
			return one.k.Get(f.key), one.source(f)
		}
	}
	return nil, "default"
}

func (l *layers) section(f field) (any, string) {
	merged := map[string]any{}
	var sources []string
	for _, one := range slices.Backward(l.all) {
		raw := one.k.Get(f.key)
		if raw == nil || raw == "" {
			continue
		}
		m, ok := raw.(map[string]any)
		if of, flags := raw.(map[string]string); flags {
			m, ok = map[string]any{}, true
			for k, v := range of {
				m[k] = v
			}
		}
		if !ok {
			return raw, one.source(f)
		}
		maps.Copy(merged, m)
		sources = append(sources, one.source(f))
	}
	if len(sources) == 0 {
		sources = []string{"default"}
	}
	return merged, strings.Join(sources, ", ")
}

// unknownKeys returns an error for each key of the file that no role has, which is most often a typing error.
func (l *layers) unknownKeys() []error {
	all := allFields()
	var wrong []error
	for _, key := range l.file.Keys() {
		section, _, _ := strings.Cut(key, ".")
		if _, ok := all[key]; ok || all[section].kind != nil && all[section].isSection() {
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s: no role has a setting of this name (file %s)", key, l.path))
	}
	return wrong
}
