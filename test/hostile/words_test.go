package hostile_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

const mib = 1 << 20

// document returns JSON, or almost JSON, that is as expensive as possible to read.
func document(r *rand.Rand, size int, wrap ...string) io.Reader {
	open, shut := "", ""
	for _, key := range wrap {
		open, shut = open+`{"`+key+`":`, "}"+shut
	}
	return io.MultiReader(strings.NewReader(open), hard(r, size), strings.NewReader(shut))
}

// hard returns the expensive part: many empty values, a long one, or a deep one.
func hard(r *rand.Rand, size int) io.Reader {
	units := []string{`{}`, `[]`, `0`, `""`, `{"":{}}`, `null`, `"\u0000<&>"`, `1e308`}
	switch r.IntN(7) {
	case 0:
		return io.MultiReader(strings.NewReader(`"`), repeat(`\u0001`, size), strings.NewReader(`"`))
	case 1:
		return io.MultiReader(strings.NewReader(`"`), repeat("\xff<", size), strings.NewReader(`"`))
	case 2:
		return repeat(`[`, size)
	case 3:
		return repeat(`{"a":`, size)
	case 4:
		return io.MultiReader(strings.NewReader(`{"a":1`), repeat(`,"a":{}`, size), strings.NewReader(`}`))
	}
	unit := units[r.IntN(len(units))]
	return io.MultiReader(strings.NewReader(`[`+unit), repeat(`,`+unit, size), strings.NewReader(`]`))
}

// repeat repeats unit to about size bytes.
func repeat(unit string, size int) io.Reader {
	block := strings.Repeat(unit, max(1, 32<<10/len(unit)))
	return io.LimitReader(&again{block: block}, int64(max(1, size/len(unit))*len(unit)))
}

type again struct {
	block string
	at    int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.block[a.at:])
	a.at = (a.at + n) % len(a.block)
	return n, nil
}

func someMAC(r *rand.Rand) string {
	return fmt.Sprintf("52:54:%02x:%02x:%02x:%02x", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256))
}
