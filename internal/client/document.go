package client

import (
	"encoding/json"

	"go.temper.dev/temper/internal/jsonvalue"
)

// document keeps an answer as the API sent it. A struct has only the fields that this program uses, but is shown as JSON with
// all of them.
type document struct {
	raw json.RawMessage
}

// Raw returns the answer as the API sent it; null if there is none.
func (d document) Raw() json.RawMessage {
	if d.raw == nil {
		return json.RawMessage("null")
	}
	return d.raw
}

// MarshalJSON returns the answer as the API sent it.
func (d document) MarshalJSON() ([]byte, error) { return d.Raw(), nil }

// Fields returns all fields of the answer.
func (d document) Fields() map[string]any {
	var all map[string]any
	if jsonvalue.Unmarshal(d.raw, &all) != nil {
		return nil
	}
	return all
}

func keep(raw []byte) document { return document{raw: append(json.RawMessage{}, raw...)} }
