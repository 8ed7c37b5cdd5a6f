package agent

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"strings"
)

// Masked stands in every answer where a secret is.
const Masked = "******"

// RevealAgain is how many times a token is told again to the source that got
// it first, so that a lost answer does not kill the boot (Ironic: never).
const RevealAgain = 3

// NewToken makes an agent token: 43 URL-safe characters from 32 random bytes,
// the form Ironic makes.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// SameToken compares in constant time. No token is the same as none.
func SameToken(want, got string) bool {
	return want != "" && got != "" && want != Masked &&
		subtle.ConstantTimeCompare([]byte(want), []byte(got)) == 1
}

// Source is who asks in a lookup.
type Source struct {
	MACs []string // of the query, in any order and case
	IP   string   // remote address without the port
}

// Reveals is what a node remembers of telling its token; it is written in the
// same transaction as the answer is made in, before the answer is sent. A new
// token begins with the zero value.
type Reveals struct {
	Count int      `json:"count"`
	MACs  []string `json:"macs,omitempty"` // sorted, lower case
	IP    string   `json:"ip,omitempty"`
	// Closed is set by the first heartbeat and for tokens that were built into
	// the ramdisk: nothing is told any more.
	Closed bool `json:"closed,omitempty"`
}

// Ask says whether a lookup from s is told the token in the clear, and what to
// remember then. A source without MACs or address can't be told from another
// one and is never told twice.
func (r Reveals) Ask(s Source) (clear bool, next Reveals) {
	if r.Closed {
		return false, r
	}
	macs := macSet(s.MACs)
	if r.Count == 0 {
		return true, Reveals{Count: 1, MACs: macs, IP: s.IP}
	}
	same := len(macs) > 0 && s.IP != "" && s.IP == r.IP && slices.Equal(macs, r.MACs)
	if !same || r.Count > RevealAgain {
		return false, r
	}
	r.Count++
	return true, r
}

// Close is called for the first heartbeat with the right token.
func (r Reveals) Close() Reveals {
	r.Closed = true
	return r
}

func macSet(macs []string) []string {
	set := make([]string, 0, len(macs))
	for _, m := range macs {
		if m = strings.ToLower(strings.TrimSpace(m)); m != "" {
			set = append(set, m)
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}
