package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// envPrefix is the prefix of settings in the environment.
const envPrefix = "TEMPER_"

// field is one setting, as its tags describe it.
type field struct {
	key, def, help, secret, flag string
	index                        []int // for reflect.Value.FieldByIndex
	kind                         reflect.Type
}

// isSection reports whether the field is a section with any names.
func (f field) isSection() bool { return f.kind.Kind() == reflect.Map }

func (f field) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}

// fieldsOf returns the settings of a struct type, in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		sf := t.Field(i)
		key := sf.Tag.Get("key")
		if sf.Type.Kind() == reflect.Struct {
			for _, f := range fieldsOf(sf.Type) {
				if key != "" {
					f.key, f.flag = key+"."+f.key, key+"-"+f.flag
				}
				f.index = append([]int{i}, f.index...)
				all = append(all, f)
			}
			continue
		}
		f := field{
			key: key, def: sf.Tag.Get("default"), help: sf.Tag.Get("help"), secret: sf.Tag.Get("secret"),
			flag: sf.Tag.Get("flag"), index: []int{i}, kind: sf.Type,
		}
		if f.flag == "" {
			f.flag = strings.ReplaceAll(key, "_", "-")
		}
		all = append(all, f)
	}
	return all
}

// roles are all roles: a file may hold the settings of each of them.
var roles = []any{API{}, NetworkBoot{}, Orchestrator{}, Conductor{}, Rack{}, Compute{}, Migrate{}, Reseal{}, Dev{}}

// allFields returns the settings of all roles by key.
func allFields() map[string]field {
	all := map[string]field{}
	for _, r := range roles {
		for _, f := range fieldsOf(reflect.TypeOf(r)) {
			all[f.key] = f
		}
	}
	return all
}

// ConfigFlag is the flag that names the YAML file, as TEMPER_CONFIG does.
const ConfigFlag = "config"

// Flags adds a flag for every setting of the role to fs, and --config.
func Flags(fs *pflag.FlagSet, role Role) {
	fs.String(ConfigFlag, "", "YAML `file` with settings; flags and environment come before it")
	for _, f := range fieldsOf(reflect.TypeOf(role).Elem()) {
		usage := fmt.Sprintf("%s (%s, %s)", f.help, f.key, f.env())
		switch {
		case f.isSection():
			fs.StringToString(f.flag, nil, usage)
		case f.kind.Kind() == reflect.Bool:
			fs.Bool(f.flag, f.def == "true", usage)
		default:
			fs.Var(&text{value: f.def, kind: typeName(f.kind)}, f.flag, usage)
		}
	}
}

// text is a flag's value as the user wrote it. It is decoded together with all other settings, so that one error names all
// that is wrong.
type text struct{ value, kind string }

func (t *text) String() string     { return t.value }
func (t *text) Set(s string) error { t.value = s; return nil }
func (t *text) Type() string       { return t.kind }
