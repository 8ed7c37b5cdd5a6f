package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// biosResource is the Bios of a system, or its settings resource.
type biosResource struct {
	ETag       looseString `json:"@odata.etag"`
	Registry   looseString `json:"AttributeRegistry"`
	Attributes attributes
	Settings   loose[struct {
		SettingsObject link
		ApplyTimes     looseList[looseString] `json:"SupportedApplyTimes"`
		Messages       messages
	}] `json:"@Redfish.Settings"`
	Actions loose[struct {
		Reset schemas.ActionTarget `json:"#Bios.ResetBios"`
	}]
}

// attributes are BIOS settings by name, at most maxSettings. A value of another type than a string, a bool or a number reads as nil.
type attributes map[string]any

// UnmarshalJSON never fails.
func (a *attributes) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	*a = attributes{}
	if jsonvalue.Unmarshal(b, &all) != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names[:min(len(names), maxSettings)] {
		if name == "" || strings.Contains(name, "@") || printable(name, maxShort) != name {
			continue
		}
		var v any
		_ = jsonvalue.Unmarshal(all[name], &v) // it was decoded already
		switch text := v.(type) {
		case string:
			v = strings.ToValidUTF8(strings.Clone(text[:min(len(text), maxText)]), "")
		case bool, json.Number:
		default:
			v = nil
		}
		(*a)[name] = v
	}
	return nil
}

// biosReading is the Bios of a system as it was read.
type biosReading struct {
	biosResource
	path, etag string
}

func (s *session) readBIOS(ctx context.Context) (biosReading, error) {
	sys, err := s.recentSystem(ctx)
	if err != nil {
		return biosReading{}, err
	}
	if sys.BIOS == "" {
		return biosReading{}, fault.New(fault.Refused, "the BMC shows no BIOS settings of %s", sys.path)
	}
	return s.readBIOSAt(ctx, string(sys.BIOS))
}

func (s *session) readBIOSAt(ctx context.Context, path string) (biosReading, error) {
	r := biosReading{path: path}
	a, err := s.read(ctx, path, &r.biosResource)
	if err != nil {
		return r, err
	}
	r.etag = a.etag(r.ETag)
	return r, nil
}

// pending returns the resource in which the settings of the next boot are, which is r itself where there is no other one.
func (s *session) pending(ctx context.Context, r biosReading) (biosReading, error) {
	if at := string(r.Settings.v.SettingsObject); at != "" {
		return s.readBIOSAt(ctx, at)
	}
	return r, nil
}

// BIOS implements bmc.BIOSControl.
func (s *session) BIOS(ctx context.Context) (bmc.BIOS, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	b, err := s.bios(ctx)
	return b, s.wrap("read the BIOS settings", err)
}

func (s *session) bios(ctx context.Context) (bmc.BIOS, error) {
	r, err := s.readBIOS(ctx)
	if err != nil {
		return bmc.BIOS{}, err
	}
	out := bmc.BIOS{Registry: r.Registry.short(), Values: r.Attributes, Pending: map[string]any{}}
	if text := r.Settings.v.Messages.texts(); text != "" {
		out.Messages = []string{printable(text, maxMessage)}
	}
	next, err := s.pending(ctx, r)
	if err != nil && !skippable(err) {
		return bmc.BIOS{}, err
	}
	for name, v := range next.Attributes {
		if have, ok := r.Attributes[name]; v != nil && (!ok || have != v) {
			out.Pending[name] = v
		}
	}
	return out, nil
}

// SetBIOS implements bmc.BIOSControl.
func (s *session) SetBIOS(ctx context.Context, values map[string]any) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("change BIOS settings", s.setBIOS(bmc.Asking(ctx, bmc.NameSetBIOS(values)), values))
}

func (s *session) setBIOS(ctx context.Context, values map[string]any) error {
	r, err := s.readBIOS(ctx)
	if err != nil {
		return err
	}
	next, err := s.pending(ctx, r)
	if err != nil {
		return err
	}
	body := map[string]any{"Attributes": values}
	if slices.Contains(r.Settings.v.ApplyTimes, "OnReset") { // iDRACs apply nothing without it
		body["@Redfish.SettingsApplyTime"] = map[string]any{"@odata.type": "#Settings.v1_0_0.PreferredApplyTime", "ApplyTime": "OnReset"}
	}
	err = s.patch(ctx, next.path, next.etag, body, secretSettings(values)...)
	if refused(err) {
		return fault.CodedAs(fault.Refused, fault.BIOSSettingRefused, "BIOS setting %s: %w", refusedSettings(err, values), err)
	}
	return err
}

// secretSettings returns the values of settings that are passwords.
func secretSettings(values map[string]any) (secrets []string) {
	for name, v := range values {
		if text, ok := v.(string); ok && strings.Contains(strings.ToLower(name), "password") {
			secrets = append(secrets, text)
		}
	}
	return secrets
}

// refusedSettings returns the names of the settings that the refusal names, or of all if it names none.
func refusedSettings(err error, values map[string]any) string {
	var no *refusal
	errors.As(err, &no)
	all := slices.Sorted(maps.Keys(values))
	words := strings.FieldsFunc(no.details, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)
	})
	for i := range words {
		words[i] = strings.Trim(words[i], ".-")
	}
	named := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(words, name) })
	if len(named) == 0 {
		named = all
	}
	return joinWords(named)
}

// ResetBIOS implements bmc.BIOSControl.
func (s *session) ResetBIOS(ctx context.Context) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("reset the BIOS settings", s.resetBIOS(bmc.Asking(ctx, bmc.NameResetBIOS)))
}

func (s *session) resetBIOS(ctx context.Context) error {
	r, err := s.readBIOS(ctx)
	if err != nil {
		return err
	}
	target := r.Actions.v.Reset.Target
	if target == "" {
		return fault.New(fault.Refused, "the BMC can't reset the BIOS settings (%s has no action Bios.ResetBios)", r.path)
	}
	return s.change(ctx, http.MethodPost, target, "", map[string]any{})
}
