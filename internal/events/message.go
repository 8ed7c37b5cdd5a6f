package events

import (
	"bytes"
	"fmt"
	"strconv"
)

// Message is one block of a stream.
type Message struct {
	Seq   int64 // the stream has had everything up to this number
	Reset bool  // events were missed; Data says which
	Data  []byte
}

// Messages are the messages in what Stream.Next has returned.
func Messages(blocks []byte) (out []Message, err error) {
	for block := range bytes.SplitSeq(bytes.TrimSuffix(blocks, []byte("\n\n")), []byte("\n\n")) {
		var m Message
		for line := range bytes.SplitSeq(block, []byte("\n")) {
			field, value, _ := bytes.Cut(line, []byte(": "))
			switch string(field) {
			case "id":
				if m.Seq, err = strconv.ParseInt(string(value), 10, 64); err != nil {
					return nil, fmt.Errorf("read a block of the event stream: %w", err)
				}
			case "event":
				m.Reset = string(value) == "reset"
			case "data":
				m.Data = value
			}
		}
		out = append(out, m)
	}
	return out, nil
}
