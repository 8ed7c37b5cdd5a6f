package client

import "encoding/json"

// document is an answer as it came. What is decoded from it has the fields that this program uses; what is shown as JSON
// has them all.
type document struct {
	raw json.RawMessage
}

// Raw is the answer as it came; null for a value that is none.
func (d document) Raw() json.RawMessage {
	if d.raw == nil {
		return json.RawMessage("null")
	}
	return d.raw
}

// MarshalJSON gives the answer back as it came.
func (d document) MarshalJSON() ([]byte, error) { return d.Raw(), nil }

// Fields are all fields of the answer.
func (d document) Fields() map[string]any {
	var all map[string]any
	if json.Unmarshal(d.raw, &all) != nil {
		return nil
	}
	return all
}

func keep(raw []byte) document { return document{raw: append(json.RawMessage{}, raw...)} }
