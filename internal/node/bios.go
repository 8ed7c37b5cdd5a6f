package node

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// KeptReading is what was read last through an interface of a node, as the database keeps it.
type KeptReading struct {
	Interface string // bios, firmware
	Data      json.RawMessage
	FirstAt   time.Time // when it was read for the first time
	ReadAt    time.Time // when it was read last
}

// BIOSReading are the settings of a server's firmware as its BMC showed them.
type BIOSReading struct {
	Registry string        `json:"registry,omitempty"` // the name of what describes them; "" = the BMC names none
	Settings []BIOSSetting `json:"settings"`           // by name
}

// BIOSSetting is one of them. All but the first two are from the BMC's registry of attributes; nil = it does not say.
type BIOSSetting struct {
	Name  string  `json:"name"`
	Value *string `json:"value"` // as Ironic writes it; nil = the BMC does not show it, as with passwords

	Type          *string  `json:"attribute_type,omitempty"` // Enumeration, String, Integer, Boolean, Password
	Allowed       []string `json:"allowable_values,omitempty"`
	LowerBound    *int64   `json:"lower_bound,omitempty"`
	UpperBound    *int64   `json:"upper_bound,omitempty"`
	MinLength     *int64   `json:"min_length,omitempty"`
	MaxLength     *int64   `json:"max_length,omitempty"`
	ReadOnly      *bool    `json:"read_only,omitempty"`
	ResetRequired *bool    `json:"reset_required,omitempty"`
	Unique        *bool    `json:"unique,omitempty"`
}

// BIOSText is how Ironic writes the value of a setting, "" for a value that a setting can't have.
func BIOSText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case json.Number:
		return v.String()
	}
	return ""
}

// BIOSValueLike returns the value that was asked for as the type of have, because clients write numbers and truth values as texts, too.
func BIOSValueLike(have, want any) any {
	text := strings.TrimSpace(BIOSText(want))
	switch have.(type) {
	case bool:
		switch strings.ToLower(text) {
		case "true":
			return true
		case "false":
			return false
		}
	case json.Number:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return json.Number(strconv.FormatInt(n, 10))
		}
	case string:
		return BIOSText(want)
	}
	return want
}

// BIOSOrder returns the settings that the argument of a step names, by name.
func BIOSOrder(arg any) (map[string]any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) == 0 {
		return nil, fault.Coded(fault.StepArgumentWrong, "settings must be a list of objects with name and value")
	}
	out := make(map[string]any, len(list))
	for i, one := range list {
		setting, _ := one.(map[string]any)
		name, named := setting["name"].(string)
		value, given := setting["value"]
		if !named || name == "" || !given {
			return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d must have a name and a value", i)
		}
		if _, twice := out[name]; twice {
			return nil, fault.Coded(fault.StepArgumentWrong, "settings/%d: %s is there twice", i, text.Cut(name))
		}
		out[name] = value
	}
	return out, nil
}
