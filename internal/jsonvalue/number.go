package jsonvalue

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Int returns v if it is a number without a fraction that fits into 64 bits, however it is spelled:
// 3, 3.0 and 30e-1 are the same.
func Int(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, true
		}
		r, ok := exact(v)
		if !ok || !r.IsInt() || !r.Num().IsInt64() {
			return 0, false
		}
		return r.Num().Int64(), true
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > math.MaxInt64/2 {
			return 0, false
		}
		return int64(v), true
	case int64:
		return v, true
	case int:
		return int64(v), true
	}
	return 0, false
}

// IntOrText is Int for what may also be given as a string of digits, as Ironic allows for sizes and ports.
func IntOrText(v any) (n int64, ok bool) {
	if s, isText := v.(string); isText {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		return n, err == nil
	}
	return Int(v)
}

// Plain returns n without an exponent and without zeros at its end: 1e3 and 1000.0 are 1000.
func Plain(n json.Number) string {
	r, ok := exact(n)
	if !ok {
		return n.String()
	}
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

// Float returns v if it is a number in the range of a float64.
func Float(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	}
	n, ok := Int(v)
	return float64(n), ok
}

// exact returns the value of n. Numbers that Check refuses have none, because their exponents
// could take any amount of memory.
func exact(n json.Number) (*big.Rat, bool) {
	if !storable(n.String()) {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}
