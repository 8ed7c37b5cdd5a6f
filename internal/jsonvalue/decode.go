package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Unmarshal is json.Unmarshal, except that a number without a type of its own becomes a json.Number.
// A float64 would round serial numbers and other integers above 2^53.
//
// An UnmarshalJSON method that calls json.Unmarshal would lose that for everything within it, so it
// calls Unmarshal, too.
func Unmarshal(b []byte, v any) error {
	d := NewDecoder(bytes.NewReader(b))
	err := d.Decode(v)
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if ended || err == nil && len(bytes.TrimLeft(b[d.InputOffset():], " \t\r\n")) > 0 {
		return json.Unmarshal(b, new(json.RawMessage)) // a document that ends too early, or does not end: the error of encoding/json
	}
	return err
}

// NewDecoder returns json.NewDecoder with the numbers of Unmarshal.
func NewDecoder(r io.Reader) *json.Decoder {
	d := json.NewDecoder(r)
	d.UseNumber()
	return d
}
