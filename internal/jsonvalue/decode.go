package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Unmarshal is json.Unmarshal, except that a number without a type of its own becomes a json.Number.
// A float64 would round serial numbers and other integers above 2^53.
//
// An UnmarshalJSON method that calls json.Unmarshal would lose that for everything within it, so it
// calls Unmarshal, too.
func Unmarshal(b []byte, v any) error {
	d := NewDecoder(bytes.NewReader(b))
	switch err := d.Decode(v); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("unexpected end of JSON input")
	case err != nil:
		return err
	}
	if rest := bytes.TrimLeft(b[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return fmt.Errorf("invalid character %q after top-level value", rest[0])
	}
	return nil
}

// NewDecoder returns json.NewDecoder with the numbers of Unmarshal.
func NewDecoder(r io.Reader) *json.Decoder {
	d := json.NewDecoder(r)
	d.UseNumber()
	return d
}
