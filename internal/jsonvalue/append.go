package jsonvalue

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Text is a value that is JSON already, as the database keeps it.
type Text []byte

// MarshalJSON makes Text a json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) { return t, nil }

// Appender is a value that appends itself as JSON.
type Appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// Append appends v as JSON, as json.Marshal writes it. It writes the usual values itself: lists of thousands of nodes are made of
// them, and json.Marshal takes several times as long. A Text is appended as it is.
func Append(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case Appender:
		return v.AppendJSON(b)
	case Text:
		return append(b, v...), nil
	case string:
		return AppendString(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case []string:
		if v == nil {
			return append(b, "null"...), nil
		}
		return appendStrings(b, v), nil
	case map[string]any:
		if len(v) == 0 && v != nil {
			return append(b, "{}"...), nil
		}
	}
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// needsEscape are the bytes that json.Marshal does not write as they are, or not always.
var needsEscape = func() (out [256]bool) {
	for c := range out {
		out[c] = c < ' ' || c > '~'
	}
	for _, c := range `"\\<>&` {
		out[c] = true
	}
	return out
}()

// AppendString appends s as JSON.
func AppendString(b []byte, s string) []byte {
	for i := range len(s) {
		if needsEscape[s[i]] {
			text, _ := json.Marshal(s) // every string can be written
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendStrings(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

// With returns the JSON object with the members of added, which take the place of those of the same name. Names need no escapes.
func With(object []byte, added map[string]any) (Text, error) {
	for name := range added {
		if bytes.Contains(object, []byte(`"`+name+`"`)) { // perhaps only deeper inside
			return decodedWith(object, added)
		}
	}
	end := bytes.LastIndexByte(object, '}')
	if end < 0 || len(added) == 0 {
		return object, nil
	}
	out := append(make([]byte, 0, len(object)+64*len(added)), object[:end]...)
	empty := bytes.IndexByte(object, '"') < 0
	var err error
	for _, name := range slices.Sorted(maps.Keys(added)) { // the same answer each time
		if !empty {
			out = append(out, ',')
		}
		empty = false
		if out, err = Append(append(AppendString(out, name), ':'), added[name]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func decodedWith(object []byte, added map[string]any) (Text, error) {
	var all map[string]any
	if err := Unmarshal(object, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, added)
	return json.Marshal(all)
}
