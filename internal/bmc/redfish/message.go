package redfish

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"

	"go.temper.dev/temper/internal/jsonvalue"
)

// message is a message of a BMC, from a standard registry or the vendor's own.
type message struct {
	ID         looseString `json:"MessageId"`
	Message    looseString
	Args       looseList[looseString] `json:"MessageArgs"`
	Properties looseList[looseString] `json:"RelatedProperties"`
}

// messages are the messages of an error or a task. Some BMCs send a single message
// instead of a list.
type messages looseList[message]

// UnmarshalJSON never fails.
func (l *messages) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		var single loose[message]
		_ = single.UnmarshalJSON(b)
		*l = messages{single.v}
		return nil
	}
	return (*looseList[message])(l).UnmarshalJSON(b)
}

// texts returns the first texts, or the ids if no message has a text.
func (l messages) texts() string {
	var texts, ids []string
	for _, m := range l {
		if m.Message != "" && len(texts) < maxMessages {
			texts = append(texts, string(m.Message))
		}
		if m.ID != "" && len(ids) < maxMessages {
			ids = append(ids, string(m.ID))
		}
	}
	if len(texts) == 0 {
		texts = ids
	}
	return strings.Join(texts, " ")
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

// errorBody is the body of an error answer.
type errorBody struct {
	Error *struct {
		Code    looseString
		Message looseString
		Infos   messages `json:"@Message.ExtendedInfo"`
	}
}

// errorBody returns the error in the answer's body, nil if it is not a Redfish error.
func (a *answer) errorBody() *errorBody {
	var p errorBody
	if jsonvalue.Unmarshal(a.body, &p) != nil || p.Error == nil {
		return nil
	}
	return &p
}

// hasMessage reports whether a message of the answer has this id, in any version of the
// registry.
func (a *answer) hasMessage(id string) bool {
	p := a.errorBody()
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

// details returns what the messages of an error name besides their texts: ids, arguments and
// properties, in one line.
func (a *answer) details() string {
	p := a.errorBody()
	if p == nil {
		return ""
	}
	words := []string{string(p.Error.Code)}
	for _, m := range p.Error.Infos[:min(len(p.Error.Infos), maxMessages)] {
		words = append(words, string(m.ID), joinWords(m.Args), joinWords(m.Properties))
	}
	return printable(strings.Join(words, " "), 4*maxMessage)
}

// explanation returns the BMC's explanation of an error as one short line. A body that is
// no Redfish error is quoted only if it is text and not a web page.
func (a *answer) explanation() string {
	p := a.errorBody()
	if p == nil {
		body := bytes.TrimSpace(a.body)
		if bytes.HasPrefix(body, []byte("<")) {
			return ""
		}
		return printable(string(body[:min(len(body), 8*maxMessage)]), maxMessage)
	}
	// The registry's texts and error.message often say the same. If they differ,
	// either may be the helpful one. An id is quoted only if there is no text.
	text, own := p.Error.Infos.texts(), string(p.Error.Message)
	switch {
	case own == "" || strings.Contains(own, "ExtendedInfo") || strings.Contains(text, own):
	case p.Error.Infos.hasText():
		text += " " + own
	default:
		text = own
	}
	return printable(firstNonBlank(text, firstNonBlank(own, string(p.Error.Code))), maxMessage)
}

// namedBy reports whether a refusal of the BMC names the property.
func namedBy(err error, property string) bool {
	var no *refusal
	return errors.As(err, &no) && slices.ContainsFunc(strings.FieldsFunc(no.details, func(r rune) bool {
		return !unicode.IsLetter(r)
	}), func(word string) bool { return word == property })
}
