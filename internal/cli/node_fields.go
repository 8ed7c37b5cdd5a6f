package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// field is a flag that sets a field of a node, a port or a record.
type field struct {
	flag, name string // name is the API's
	dict       bool   // given as KEY=VALUE
	text       bool   // dict: the API wants strings
	boolean    bool
	number     bool
	list       bool // given as A,B, or several times
	steps      bool // a list of steps, in JSON or a file
	keep       bool // temper node unset can't remove it
	setOnly    bool // the API does not take it at creation
	help       string
}

// nodeFields are the fields of a node that a client sets, without its interfaces.
var nodeFields = []field{
	{flag: "name", name: "name", help: "`name`"},
	{flag: "driver", name: "driver", keep: true, help: "hardware `type`: see temper driver list"},
	{flag: "driver-info", name: "driver_info", dict: true, help: "how to reach the BMC, see temper driver show; a password that is - is asked for; @FILE: an object"},
	{flag: "property", name: "properties", dict: true, help: "properties of the server, such as cpu_arch=x86_64; @FILE: an object"},
	{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
	{flag: "instance-info", name: "instance_info", dict: true, help: "what is deployed on it; @FILE: an object"},
	{flag: "network-data", name: "network_data", dict: true, help: "network of the ramdisk; @FILE: an object"},
	{flag: "resource-class", name: "resource_class", help: "resource `class`, by which schedulers choose nodes"},
	{flag: "conductor-group", name: "conductor_group", help: "conductor `group` whose conductors serve it"},
	{flag: "description", name: "description", help: "`text` for people"},
	{flag: "owner", name: "owner", help: "`owner`"},
	{flag: "lessee", name: "lessee", help: "`lessee`"},
	{flag: "chassis-uuid", name: "chassis_uuid", help: "`uuid` of the chassis that it stands in"},
	{flag: "shard", name: "shard", help: "`shard`"},
	{flag: "instance-uuid", name: "instance_uuid", help: "`uuid` of the instance on it"},
	{flag: "automated-clean", name: "automated_clean", boolean: true, help: "clean it before it becomes available"},
	{flag: "disable-power-off", name: "disable_power_off", boolean: true, help: "never power it off"},
	{flag: "protected", name: "protected", boolean: true, setOnly: true, help: "refuse to undeploy and rebuild it"},
	{flag: "protected-reason", name: "protected_reason", setOnly: true, help: "`why` it is protected"},
	{flag: "retired", name: "retired", boolean: true, help: "keep it out of service after its next cleaning"},
	{flag: "retired-reason", name: "retired_reason", help: "`why` it is retired"},
}

// fieldFlags are the flags of fields that a command has.
type fieldFlags struct {
	fields []field
	texts  map[string]*string
	bools  map[string]*bool
	ints   map[string]*int
	steps  map[string][]any
	dicts  map[string]*keyValues
	lists  map[string]*[]string
	set    *pflag.FlagSet
}

// addFields adds a flag to c for each field.
func addFields(c *cobra.Command, fields []field) *fieldFlags {
	ff := &fieldFlags{fields: fields, texts: map[string]*string{}, bools: map[string]*bool{}, ints: map[string]*int{}, steps: map[string][]any{}, dicts: map[string]*keyValues{}, lists: map[string]*[]string{}, set: c.Flags()}
	for _, one := range fields {
		switch {
		case one.dict:
			ff.dicts[one.flag] = &keyValues{text: one.text}
			ff.set.Var(ff.dicts[one.flag], one.flag, one.help)
		case one.list:
			ff.lists[one.flag] = ff.set.StringSlice(one.flag, nil, one.help)
		case one.boolean:
			ff.bools[one.flag] = ff.set.Bool(one.flag, false, one.help)
		case one.number:
			ff.ints[one.flag] = ff.set.Int(one.flag, 0, one.help)
		default:
			ff.texts[one.flag] = ff.set.String(one.flag, "", one.help)
		}
	}
	c.PreRunE = func(*cobra.Command, []string) error {
		for _, one := range fields {
			if one.steps {
				var err error
				if ff.steps[one.flag], err = readSteps(one.flag, *ff.texts[one.flag]); err != nil {
					return err
				}
			}
			if one.dict {
				if err := ff.dicts[one.flag].ask(c.InOrStdin(), c.ErrOrStderr()); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return ff
}

// values returns the fields that were given, by their names in the API.
func (ff *fieldFlags) values() map[string]any {
	out := map[string]any{}
	for _, one := range ff.fields {
		switch {
		case !ff.set.Changed(one.flag):
		case one.dict:
			out[one.name] = ff.dicts[one.flag].values
		case one.list:
			out[one.name] = *ff.lists[one.flag]
		case one.boolean:
			out[one.name] = *ff.bools[one.flag]
		case one.number:
			out[one.name] = *ff.ints[one.flag]
		case one.steps:
			out[one.name] = ff.steps[one.flag]
		default:
			out[one.name] = *ff.texts[one.flag]
		}
	}
	return out
}

// patch returns what the flags change. Dictionaries change key by key, so that their other keys stay.
func (ff *fieldFlags) patch() (client.Patch, error) {
	values := ff.values()
	var out client.Patch
	for _, one := range ff.fields {
		v, given := values[one.name]
		keys, isDict := v.(map[string]any)
		switch {
		case !given:
		case isDict:
			changes, err := patchKeys(one, keys)
			if err != nil {
				return nil, err
			}
			out = append(out, changes...)
		case v == "":
			out = append(out, client.Remove("/"+one.name))
		default:
			out = append(out, client.Set("/"+one.name, v))
		}
	}
	return out, nil
}

// patchable are the keys that Ironic accepts in the path of a PATCH.
var patchable = regexp.MustCompile(`^[\p{L}\p{N}_-]+$`)

func patchKeys(one field, keys map[string]any) (client.Patch, error) {
	var out client.Patch
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := checkKey(one, key); err != nil {
			return nil, err
		}
		if keys[key] == nil {
			out = append(out, client.Remove("/"+one.name+"/"+key))
			continue
		}
		out = append(out, client.Set("/"+one.name+"/"+key, keys[key]))
	}
	return out, nil
}

func checkKey(one field, key string) error {
	if !patchable.MatchString(key) {
		return fmt.Errorf("the key %q of --%s can not be changed by itself: Ironic's PATCH takes letters, digits, _ and - only", key, one.flag)
	}
	return nil
}

// interfaceFlags are --interface and what goes with it.
type interfaceFlags struct {
	given map[string]string
	reset bool
}

func (i *interfaceFlags) addTo(c *cobra.Command, reset bool) {
	c.Flags().StringToStringVar(&i.given, "interface", nil, "`KIND=IMPLEMENTATION` of interfaces, such as deploy=direct")
	if reset {
		c.Flags().BoolVar(&i.reset, "reset-interfaces", false, "with --driver: reset the interfaces that --interface does not name to the driver's defaults")
	}
	var kinds []string
	for _, k := range node.Interfaces {
		kinds = append(kinds, k+"=")
	}
	must(c.RegisterFlagCompletionFunc("interface", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)))
}

// check refuses kinds of interfaces that no node has.
func (i *interfaceFlags) check() error {
	for kind := range i.given {
		if !slices.Contains(node.Interfaces, kind) {
			return fmt.Errorf("there is no interface %q: want one of %s", kind, strings.Join(node.Interfaces, ", "))
		}
	}
	return nil
}

func (i *interfaceFlags) patch() client.Patch {
	var out client.Patch
	for _, kind := range slices.Sorted(maps.Keys(i.given)) {
		out = append(out, client.Set("/"+kind+"_interface", i.given[kind]))
	}
	return out
}
