package format

import (
	"encoding/json"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// AsBool is a boolean of a body: a JSON boolean, or one of Ironic's words for one.
func AsBool(name string, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if b, ok := parseBool(v); ok {
			return b, nil
		}
	}
	return false, fault.New(fault.Invalid, "Invalid %s: Unrecognized value '%s', acceptable values are: %s", name, Describe(v), boolWords)
}

// Describe is a value as an error may repeat it.
func Describe(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return Clip(string(raw))
}

// Lower is s in lower case; nil stays nil.
func Lower(s *string) *string {
	if s == nil {
		return nil
	}
	l := strings.ToLower(*s)
	return &l
}

// Clip bounds what an error repeats of a request.
func Clip(s string) string {
	if len(s) > maxClip {
		return strings.ToValidUTF8(text.Truncate(s, maxClip, "..."), "")
	}
	return strings.ToValidUTF8(s, "?")
}

const boolWords = "'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'"

// parseBool reads Ironic's words for true and false (oslo_utils bool_from_string, strict).
func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}
