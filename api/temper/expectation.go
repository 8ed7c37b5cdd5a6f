package temper

import (
	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/node"
)

// expectation is how long a step usually takes, as clients see it.
type expectation struct {
	Seconds any `json:"expected_seconds"` // null = no such step has succeeded lately
	Samples int `json:"expected_samples"`
	Basis   any `json:"expected_basis"`
}

// expected shows u; nil = not known.
func expected(u *node.Usual) expectation {
	if u == nil {
		return expectation{}
	}
	return expectation{Seconds: u.Within().Seconds(), Samples: u.Samples, Basis: format.OrNull(string(u.Basis))}
}
