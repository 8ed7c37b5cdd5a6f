package agent

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Text is a string that may arrive as null, a number or a boolean: the agent
// passes on what lsblk, dmidecode and ipmitool told it.
type Text string

// UnmarshalJSON takes any scalar; an object or list becomes its JSON text.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = Text(looseText(b))
	return nil
}

// MarshalJSON writes the empty text as null, as the agent does for what it does not know.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Number is a whole number that may arrive as null, a float or a string of
// digits; what is none of these reads as 0.
type Number int64

// UnmarshalJSON never fails: an agent whose disk has an odd size must still be heard.
func (n *Number) UnmarshalJSON(b []byte) error {
	s := strings.TrimSpace(looseText(b))
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		*n = Number(i)
		return nil
	}
	*n = 0
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < math.MaxInt64 {
		*n = Number(f)
	}
	return nil
}

// looseText is a JSON value as text: strings unquoted, null empty, the rest as written.
func looseText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		return s
	}
	return string(raw)
}
