package jsonlimit

import "io"

// Reader reads a JSON document from another reader, and fails with an ExceededError
// as soon as the document exceeds a limit. It recognizes strings, objects and
// arrays only; whether the document is valid JSON is left to the decoder.
type Reader struct {
	from   io.Reader
	limits Limits
	// Reserve, if set, is called with the number of bytes that Read has kept so
	// far, before Read returns more of them. Read returns its error.
	Reserve func(kept int64) error

	sent, kept, elements, depth int64
	text                        text
	err                         error
}

// text is the reader's position within a string.
type text struct {
	inside  bool
	length  int64 // bytes of the string so far, without quotes
	escaped bool  // the previous byte is a backslash that begins an escape sequence
	hex     int   // digits of a \u sequence that are still to come
	cut     bool  // the rest of the string is dropped
}

// NewReader returns a Reader that reads a document from r within limits.
func NewReader(r io.Reader, l Limits) *Reader { return &Reader{from: r, limits: l.withDefaults()} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for r.err == nil && len(p) > 0 {
		// Reading one byte more than is allowed distinguishes a document that is too
		// large from one that is exactly as large as allowed.
		room := min(int64(len(p)), r.limits.Bytes+1-r.sent)
		n, err := r.from.Read(p[:room])
		r.sent += int64(n)
		if r.sent > r.limits.Bytes {
			return 0, r.fail(&ExceededError{Bytes, r.limits.Bytes})
		}
		kept := r.scan(p[:n])
		if r.err != nil {
			return 0, r.err
		}
		if r.kept += int64(kept); r.kept > r.limits.Kept {
			return 0, r.fail(&ExceededError{Bytes, r.limits.Kept})
		}
		if kept > 0 && r.Reserve != nil {
			if err := r.Reserve(r.kept); err != nil {
				return 0, r.fail(err)
			}
		}
		r.err = err
		if kept > 0 {
			return kept, err
		}
	}
	return 0, r.err
}

func (r *Reader) fail(err error) error {
	r.err = err
	return err
}

// scan counts the elements in p, and moves the bytes that are kept to the beginning of p.
func (r *Reader) scan(p []byte) (kept int) {
	for _, c := range p {
		if r.text.inside {
			if !r.text.next(c, r.limits.Text) {
				continue
			}
		} else if !r.structure(c) {
			return 0
		}
		p[kept] = c
		kept++
	}
	return kept
}

// structure scans a byte outside strings, and reports whether the limits still hold.
func (r *Reader) structure(c byte) bool {
	switch c {
	case '"':
		r.text = text{inside: true}
		return true
	case '{', '[':
		r.elements++
		r.depth++
	case '}', ']':
		r.depth--
	case ',':
		r.elements++
	default:
		return true
	}
	switch {
	case r.elements > r.limits.Elements:
		r.err = &ExceededError{Elements, r.limits.Elements}
	case r.depth > r.limits.Depth:
		r.err = &ExceededError{Depth, r.limits.Depth}
	}
	return r.err == nil
}

// next scans a byte of a string, including the closing quote, and reports whether
// it is kept. An escape sequence is kept whole or not at all.
func (t *text) next(c byte, limit int64) (keep bool) {
	begins := !t.escaped && t.hex == 0
	if begins && c == '"' {
		t.inside = false
		return true
	}
	if begins && limit > 0 && t.length >= limit {
		t.cut = true
	}
	t.length++
	switch {
	case t.escaped:
		t.escaped = false
		if c == 'u' {
			t.hex = 4
		}
	case t.hex > 0:
		t.hex--
	case c == '\\':
		t.escaped = true
	}
	return !t.cut
}
