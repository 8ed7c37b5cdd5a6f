// Package finding has the words for what Temper finds out about a node, an operation or a step. A finding is a code with parameters,
// which programs can use; Rows has the words of each code once. Who finds something chooses the code and its parameters. What a code of an error means stands in fault.Codes.
package finding

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Code names a finding. Codes stay as they are; words may change.
type Code string

// Params are the values of a finding that its words name: strings, numbers, times (time.Time, *time.Time), durations, and Past.
type Params map[string]any

// MarshalJSON writes times in UTC, and durations in seconds.
func (p Params) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for name, value := range p {
		if !there(value) {
			continue
		}
		switch v := value.(type) {
		case *time.Time:
			value = v.UTC()
		case Past:
			value = time.Time(v).UTC()
		case time.Time:
			value = v.UTC()
		case time.Duration:
			value = v.Seconds()
		}
		out[name] = value
	}
	return json.Marshal(out)
}

// Past is a time that words name together with how long ago it was.
type Past time.Time

// Finding is one thing that was found out.
type Finding struct {
	Code       Code   `json:"code"`
	Role       Role   `json:"role"` // what part of an explanation it is
	Parameters Params `json:"parameters"`
	// Actions are what somebody can do because of it.
	Actions []help.Action `json:"-"`
}

// Of returns a finding. A parameter that is "", zero or nil is not there.
func Of(code Code, p Params, can ...help.Action) Finding {
	if p == nil {
		p = Params{}
	}
	return Finding{Code: code, Role: Rows[code].Role, Parameters: p, Actions: can}
}

// there reports whether the value of a parameter is there.
func there(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case *time.Time:
		return v != nil
	case time.Duration:
		return v != 0
	}
	return true
}

// Label names a node: its name, or else its UUID.
func Label(n *node.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return n.UUID
}

// Reader says how words name times.
type Reader struct {
	Now    time.Time              // when the words are read
	Format func(time.Time) string // of times in words that are read at any time; nil = they are read at Now, and may say how long ago
}

// Clock names a time for r.
func (r Reader) Clock(t time.Time) string {
	if r.Format != nil {
		return r.Format(t)
	}
	return text.Clock(t, r.Now)
}

var (
	optional  = regexp.MustCompile(`\[[^\[\]]*\]`)
	parameter = regexp.MustCompile(`\{([a-z ]+)\}`)
)

// Words says f in a sentence or clause without a full stop. A part of the row's words in brackets is left out unless all of its
// parameters are there.
func (f Finding) Words(r Reader) string {
	words := Rows[f.Code].Words
	for optional.MatchString(words) {
		words = optional.ReplaceAllStringFunc(words, func(part string) string {
			for _, name := range parameter.FindAllStringSubmatch(part, -1) {
				if !there(f.Parameters[name[1]]) {
					return ""
				}
			}
			return f.fill(part[1:len(part)-1], r)
		})
	}
	return shown.Replace(f.fill(words, r))
}

// hidden hides the brackets of a value, which are none of the row's.
var hidden = strings.NewReplacer("[", "\x01", "]", "\x02", "{", "\x03", "}", "\x04")

var shown = strings.NewReplacer("\x01", "[", "\x02", "]", "\x03", "{", "\x04", "}")

func (f Finding) fill(words string, r Reader) string {
	return parameter.ReplaceAllStringFunc(words, func(p string) string {
		return hidden.Replace(r.value(f.Parameters[p[1:len(p)-1]]))
	})
}

func (r Reader) value(v any) string {
	switch v := v.(type) {
	case time.Time:
		return r.Clock(v)
	case *time.Time:
		if v == nil {
			return ""
		}
		return r.Clock(*v)
	case Past:
		t := time.Time(v)
		if r.Format != nil {
			return r.Format(t)
		}
		return strings.TrimPrefix(text.Since(&t, r.Now), " since ")
	case time.Duration:
		return text.Duration(v)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

// All says the findings, with "; " between them.
func All(list []Finding, r Reader) string {
	words := make([]string, len(list))
	for i, f := range list {
		words[i] = f.Words(r)
	}
	return strings.Join(words, "; ")
}
