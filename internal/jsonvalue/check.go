package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDigits is how many digits a number may have before and after its decimal point, when it is
// written without an exponent, as PostgreSQL keeps it. Every float64 has fewer.
const MaxDigits = 400

// PlaceError says which value of a document can't be kept as it was sent.
type PlaceError struct {
	Place  string // JSON pointer (RFC 6901); "" is the whole document
	Reason string // a predicate, such as "is not valid UTF-8"
}

// Error never has the value, because it may be a secret.
func (e *PlaceError) Error() string {
	if e.Place == "" {
		return "The value " + e.Reason
	}
	return e.Place + " " + e.Reason
}

// Why a value can't be kept.
const (
	notUTF8       = "is text that is not valid UTF-8"
	loneSurrogate = "is text with half of a surrogate pair (\\ud800 to \\udfff), which is no character"
	hasNUL        = "is text with the character U+0000 (NUL), which can't be stored"
	repeated      = "is given more than once"
	badKey        = "has a key that "
)

var tooLong = fmt.Sprintf("is a number with more than %d digits before or after the decimal point", MaxDigits)

// Check returns a *PlaceError if the document b has a value that would not come back as it was sent:
// text that is not Unicode or that PostgreSQL can't store, a number that is too large, or a key that
// its object has twice. Encoding/json itself replaces such text by U+FFFD and takes the last of the keys.
// What is not JSON is left to the decoder.
func Check(b []byte) error {
	return (&checker{b: b}).check()
}

// CheckNumbers is Check for the numbers alone.
func CheckNumbers(b []byte) error {
	return (&checker{b: b, numbersOnly: true}).check()
}

// Marshal is json.Marshal for values that are sent elsewhere. It refuses, with a *PlaceError, what Check refuses.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return b, (&checker{b: b, encoded: true}).check()
}

// checker walks through a document once. It stops at what is not JSON.
type checker struct {
	b           []byte
	numbersOnly bool
	encoded     bool // by encoding/json, which writes \ufffd for what is not UTF-8, and U+FFFD itself as it is
	at          int
	place       []string
	wrong       *PlaceError
}

func (c *checker) check() error {
	if c.value(); c.wrong != nil {
		return c.wrong
	}
	return nil
}

func (c *checker) fail(reason string) bool {
	var place strings.Builder
	for _, p := range c.place {
		place.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	c.wrong = &PlaceError{Place: place.String(), Reason: reason}
	return false
}

// next returns the next byte that is no space; 0 at the end.
func (c *checker) next() byte {
	for ; c.at < len(c.b); c.at++ {
		switch ch := c.b[c.at]; ch {
		case ' ', '\t', '\r', '\n':
		default:
			return ch
		}
	}
	return 0
}

// value walks over a value, and reports whether to go on.
func (c *checker) value() bool {
	switch ch := c.next(); {
	case ch == '{':
		return c.object()
	case ch == '[':
		return c.array()
	case ch == '"':
		text, ok := c.text()
		if reason := c.wrongText(text); reason != "" {
			return c.fail(reason)
		}
		return ok
	case ch == 0 || strings.IndexByte(",:]}", ch) >= 0:
		return false
	default: // a number, true, false or null
		begin := c.at
		for c.at < len(c.b) && strings.IndexByte(",:]} \t\r\n", c.b[c.at]) < 0 {
			c.at++
		}
		if isNumber := ch == '-' || ch >= '0' && ch <= '9'; isNumber && !storable(string(c.b[begin:c.at])) {
			return c.fail(tooLong)
		}
		return true
	}
}

func (c *checker) object() bool {
	seen := map[string]bool{}
	return c.members('}', func(int) bool {
		if c.next() != '"' {
			return false
		}
		text, ok := c.text()
		if reason := c.wrongText(text); reason != "" {
			return c.fail(badKey + reason)
		}
		key := ""
		if !ok || json.Unmarshal(text, &key) != nil || c.next() != ':' {
			return false
		}
		c.at++
		c.place = append(c.place, key)
		if seen[key] && !c.numbersOnly {
			return c.fail(repeated)
		}
		seen[key] = true
		ok = c.value()
		c.place = c.place[:len(c.place)-1]
		return ok
	})
}

func (c *checker) array() bool {
	return c.members(']', func(i int) bool {
		c.place = append(c.place, strconv.Itoa(i))
		ok := c.value()
		c.place = c.place[:len(c.place)-1]
		return ok
	})
}

// members walks over the members of an object or array up to end.
func (c *checker) members(end byte, one func(i int) bool) bool {
	c.at++
	if c.next() == end {
		c.at++
		return true
	}
	for i := 0; ; i++ {
		if !one(i) {
			return false
		}
		switch c.next() {
		case ',':
			c.at++
		case end:
			c.at++
			return true
		default:
			return false
		}
	}
}

// text walks over a string, which it returns with its quotes.
func (c *checker) text() (quoted []byte, ok bool) {
	begin := c.at
	for c.at++; c.at < len(c.b); c.at++ {
		switch c.b[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return c.b[begin:c.at], true
		}
	}
	return nil, false
}

// wrongText says why a string can't be kept; "" = it can.
func (c *checker) wrongText(quoted []byte) string {
	if c.numbersOnly {
		return ""
	}
	if !utf8.Valid(quoted) {
		return notUTF8
	}
	high := false // the escape before is the first half of a pair
	for rest := quoted; ; {
		i := bytes.IndexByte(rest, '\\')
		if high && i != 0 {
			return loneSurrogate
		}
		if i < 0 || i+2 > len(rest) {
			return ""
		}
		r, isUnicode := escaped(rest[i:])
		low := isUnicode && r >= 0xdc00 && r <= 0xdfff
		switch {
		case c.encoded && isUnicode && r == utf8.RuneError:
			return notUTF8
		case high != low:
			return loneSurrogate
		case isUnicode && r == 0:
			return hasNUL
		}
		high = isUnicode && r >= 0xd800 && r <= 0xdbff
		if isUnicode {
			rest = rest[i+6:]
		} else {
			rest = rest[i+2:]
		}
	}
}

// escaped returns the code unit of an escape such as \u00e9.
func escaped(b []byte) (r uint64, ok bool) {
	if len(b) < 6 || b[1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return r, err == nil
}

// storable reports whether a number has at most MaxDigits digits on each side of its decimal point.
func storable(number string) bool {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	shift := 0
	if scientific {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift < -2*MaxDigits || shift > 2*MaxDigits {
			return false
		}
	}
	return len(whole)+shift <= MaxDigits && len(fraction)-shift <= MaxDigits
}
