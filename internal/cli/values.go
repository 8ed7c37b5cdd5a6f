package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
)

// maxFile bounds a file of fields or steps, in bytes.
const maxFile = 1 << 20

// keyValues is a flag that takes KEY=VALUE and may be repeated.
type keyValues struct {
	values map[string]any
	text   bool // all values are text, even if they look like JSON
}

// String is always empty, because help and errors show it and the values may be secrets.
func (p *keyValues) String() string { return "" }

// Type is the flag's type in help.
func (p *keyValues) Type() string { return "KEY=VALUE" }

// Set takes KEY=VALUE, or @FILE with an object. A VALUE that is valid JSON is read as JSON, any other as text; passwords are
// always text, and one that is "-" is asked for. Errors do not repeat values.
func (p *keyValues) Set(s string) error {
	if p.values == nil {
		p.values = map[string]any{}
	}
	if file, ok := strings.CutPrefix(s, "@"); ok {
		return p.readFile(file)
	}
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("want KEY=VALUE, or @FILE with an object")
	}
	p.values[key] = value
	if p.text || mask.IsSecretKey(key) {
		return nil
	}
	var v any
	d := jsonvalue.NewDecoder(strings.NewReader(value))
	if json.Valid([]byte(value)) && d.Decode(&v) == nil {
		if v == nil {
			return errNull(key)
		}
		p.values[key] = v
	}
	return nil
}

func (p *keyValues) readFile(path string) error {
	raw, err := input.File(path, maxFile)
	if err != nil {
		return err
	}
	v, err := readYAML(raw)
	all, isObject := v.(map[string]any)
	if err != nil || v != nil && !isObject {
		return fmt.Errorf("%s is no object in JSON or YAML", path)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no fields", path)
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if all[k] == nil {
			return errNull(k)
		}
		p.values[k] = all[k]
	}
	return nil
}

// ask asks for the passwords that are "-". It is called when the command runs, because flags are parsed for help, too.
func (p *keyValues) ask(in io.Reader, out io.Writer) error {
	for _, key := range slices.Sorted(maps.Keys(p.values)) {
		if p.values[key] != "-" || !mask.IsSecretKey(key) {
			continue
		}
		secret, err := input.Secret(key, in, out)
		if err != nil {
			return err
		}
		p.values[key] = secret
	}
	return nil
}

func errNull(key string) error {
	return fmt.Errorf("%s is null: leave it out, or remove it with temper node unset", key)
}

// readSteps reads a list of steps: JSON itself, or a file of JSON or YAML. "" = none.
func readSteps(flag, s string) ([]any, error) {
	if s == "" {
		return nil, nil
	}
	raw := []byte(s)
	if !strings.HasPrefix(strings.TrimSpace(s), "[") {
		var err error
		if raw, err = input.File(s, maxFile); err != nil {
			return nil, exit.Usage(fmt.Errorf("--%s wants a list in JSON, or a file with one: %w", flag, err))
		}
	}
	v, err := readYAML(raw)
	steps, _ := v.([]any)
	if err != nil || len(steps) == 0 {
		return nil, exit.Usage(fmt.Errorf(`--%s wants a list of steps, like [{"interface": "bios", "step": "factory_reset"}]`, flag))
	}
	return steps, nil
}
