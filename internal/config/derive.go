package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// Derive returns the YAML of the file at base ("" = none), with the settings of over, by key, in place of its own.
func Derive(base string, over map[string]any) ([]byte, error) {
	k := koanf.New(".")
	if base != "" {
		if err := k.Load(file.Provider(base), yaml.Parser()); err != nil {
			return nil, fmt.Errorf("read settings from %s: %w", base, err)
		}
	}
	if err := k.Load(confmap.Provider(over, "."), nil); err != nil {
		return nil, fmt.Errorf("put settings together: %w", err)
	}
	return k.Marshal(yaml.Parser())
}

// Without returns environ without TEMPER_CONFIG and without the variables that would take precedence over the settings of over.
func Without(environ []string, over map[string]any) []string {
	names := []string{envPrefix + "CONFIG"}
	for key := range over {
		names = append(names, field{key: key}.env())
	}
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(names, name)
	})
}
