package redfish

import (
	"bytes"
	"encoding/json"
	"strings"
)

// message is one of a BMC's messages, from a registry or the BMC's own.
type message struct {
	ID      text `json:"MessageId"`
	Message text
}

// messages are the messages of an error or a task. Some BMCs send a single one
// instead of a list.
type messages several[message]

// UnmarshalJSON never fails.
func (l *messages) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		var alone loose[message]
		_ = alone.UnmarshalJSON(b)
		*l = messages{alone.v}
		return nil
	}
	return (*several[message])(l).UnmarshalJSON(b)
}

// words returns the first texts, or the ids if no message has a text.
func (l messages) words() string {
	var told, ids []string
	for _, m := range l {
		if m.Message != "" && len(told) < maxMessages {
			told = append(told, string(m.Message))
		}
		if m.ID != "" && len(ids) < maxMessages {
			ids = append(ids, string(m.ID))
		}
	}
	if len(told) == 0 {
		told = ids
	}
	return strings.Join(told, " ")
}

// hasText reports whether a message has a text besides its id.
func (l messages) hasText() bool {
	for _, m := range l {
		if m.Message != "" {
			return true
		}
	}
	return false
}

// problem is the body of an error answer.
type problem struct {
	Error *struct {
		Code    text
		Message text
		Infos   messages `json:"@Message.ExtendedInfo"`
	}
}

// problem returns the error in the answer's body, nil if it is not a Redfish error.
func (a *answer) problem() *problem {
	var p problem
	if json.Unmarshal(a.body, &p) != nil || p.Error == nil {
		return nil
	}
	return &p
}

// says reports whether a message of the BMC has this id, of whatever version of
// the registry.
func (a *answer) says(id string) bool {
	p := a.problem()
	if p == nil {
		return false
	}
	for _, m := range p.Error.Infos {
		if string(m.ID) == id || strings.HasSuffix(string(m.ID), "."+id) {
			return true
		}
	}
	return strings.HasSuffix(string(p.Error.Code), "."+id)
}

// words returns the BMC's explanation of an error as one short line. A body that is
// no Redfish error is quoted only if it is text and not a web page.
func (a *answer) words() string {
	p := a.problem()
	if p == nil {
		body := bytes.TrimSpace(a.body)
		if bytes.HasPrefix(body, []byte("<")) {
			return ""
		}
		return clean(string(body[:min(len(body), 8*maxMessage)]), maxMessage)
	}
	// The registry's texts and error.message often say the same. If they differ,
	// either may be the helpful one. An id is quoted only if there is no text.
	said, own := p.Error.Infos.words(), string(p.Error.Message)
	switch {
	case own == "" || strings.Contains(own, "ExtendedInfo") || strings.Contains(said, own):
	case p.Error.Infos.hasText():
		said += " " + own
	default:
		said = own
	}
	return clean(firstOf(said, firstOf(own, string(p.Error.Code))), maxMessage)
}
