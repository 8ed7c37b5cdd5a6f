package redfish

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// registryFile says where the BMC has a registry, in which languages.
type registryFile struct {
	Registry looseString
	Location looseList[struct {
		Language looseString
		URI      looseString `json:"Uri"`
	}]
}

// attributeRegistry says of each BIOS setting what it can be.
type attributeRegistry struct {
	Entries loose[struct{ Attributes registryAttributes }] `json:"RegistryEntries"`
}

type registryAttribute struct {
	Name          looseString `json:"AttributeName"`
	Type          looseString
	Value         looseList[struct{ ValueName looseString }]
	LowerBound    loose[json.Number]
	UpperBound    loose[json.Number]
	MinLength     loose[json.Number]
	MaxLength     loose[json.Number]
	ReadOnly      loose[*bool]
	ResetRequired loose[*bool]
	IsUnique      loose[*bool] `json:"IsSystemUniqueProperty"`
}

type registryAttributes []registryAttribute

// UnmarshalJSON never fails.
func (l *registryAttributes) UnmarshalJSON(b []byte) error {
	*l = listUpTo[registryAttribute](b, maxSettings)
	return nil
}

// BIOSRegistry implements bmc.BIOSControl.
func (s *session) BIOSRegistry(ctx context.Context, name string) (map[string]node.BIOSSetting, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	all, err := s.biosRegistry(ctx, name)
	return all, s.wrap("read what the BIOS settings can be", err)
}

func (s *session) biosRegistry(ctx context.Context, name string) (map[string]node.BIOSSetting, error) {
	out := map[string]node.BIOSSetting{}
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil || name == "" || root.Registries == "" {
		return out, err
	}
	files, err := s.members(ctx, string(root.Registries))
	if err != nil {
		return out, err
	}
	family, _, _ := strings.Cut(name, ".")
	for _, at := range files {
		if id := path.Base(at); !strings.HasPrefix(id, family) && !strings.HasPrefix(name, id) {
			continue
		}
		var file registryFile
		if _, err := s.read(ctx, at, &file); err != nil && !skippable(err) {
			return out, err
		}
		if uri := file.english(); uri != "" {
			var r attributeRegistry
			if _, err := s.read(ctx, uri, &r); err != nil {
				return out, err
			}
			for _, a := range r.Entries.v.Attributes {
				out[string(a.Name)] = a.setting()
			}
			return out, nil
		}
	}
	return out, nil
}

// english returns where the registry is in English, or in the first language that the BMC names.
func (f registryFile) english() string {
	if len(f.Location) == 0 {
		return ""
	}
	i := max(0, slices.IndexFunc(f.Location, func(l struct {
		Language looseString
		URI      looseString `json:"Uri"`
	},
	) bool {
		return strings.HasPrefix(string(l.Language), "en")
	}))
	return string(f.Location[i].URI)
}

func (a registryAttribute) setting() node.BIOSSetting {
	out := node.BIOSSetting{
		Name: string(a.Name), LowerBound: whole(a.LowerBound.v), UpperBound: whole(a.UpperBound.v), MinLength: whole(a.MinLength.v), MaxLength: whole(a.MaxLength.v),
		ReadOnly: a.ReadOnly.v, ResetRequired: a.ResetRequired.v, Unique: a.IsUnique.v,
	}
	if t := a.Type.short(); t != "" {
		out.Type = &t
	}
	for _, v := range a.Value {
		if word := v.ValueName.short(); word != "" {
			out.Allowed = append(out.Allowed, word)
		}
	}
	return out
}

// whole returns n, nil if it is no integer.
func whole(n json.Number) *int64 {
	i, ok := jsonvalue.Int(n)
	if !ok {
		return nil
	}
	return &i
}
