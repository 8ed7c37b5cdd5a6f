package agent

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Text is a string that the agent may send as null, a number or a boolean, because it
// passes on the output of lsblk, dmidecode and ipmitool.
type Text string

// UnmarshalJSON accepts any scalar. An object or list becomes its JSON text.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = Text(looseText(b))
	return nil
}

// MarshalJSON writes the empty text as null, as the agent does for unknown values.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Number is a whole number that the agent may send as null, a float or a string of digits.
// Anything else reads as 0.
type Number int64

// UnmarshalJSON never fails: one odd value must not make the whole inventory unreadable.
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

// looseText returns a JSON value as text: strings unquoted, null as "", the rest as it is.
func looseText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if err := jsonvalue.Unmarshal(raw, &s); err == nil {
		return s
	}
	return string(raw)
}
