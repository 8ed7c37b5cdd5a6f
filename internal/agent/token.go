package agent

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"strings"
)

// Masked is what answers contain in place of a secret.
const Masked = "******"

// MinToken is the least number of characters of a token that agents accept, as the ironic-python-agent does.
const MinToken = 32

// RevealAgain is how many more times a token is shown to the source that got it first, so
// that a boot survives a lost answer (Ironic: never).
const RevealAgain = 3

// NewToken returns a new agent token: 43 URL-safe characters from 32 random bytes, as
// Ironic's are.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// SameToken compares two tokens in constant time. An empty or masked token equals none.
func SameToken(want, got string) bool {
	return want != "" && got != "" && want != Masked &&
		subtle.ConstantTimeCompare([]byte(want), []byte(got)) == 1
}

// Source is the sender of a lookup.
type Source struct {
	MACs []string // from the query, in any order and case
	IP   string   // remote address without the port
}

// TokenReveals records how often a node's token was shown, and to whom. It is written in the
// transaction of the lookup, before the answer is sent. The zero value is for a new token.
type TokenReveals struct {
	Count int      `json:"count"`
	MACs  []string `json:"macs,omitempty"` // sorted, lower case
	IP    string   `json:"ip,omitempty"`
	// Closed means that the token is shown to nobody any more: the agent has sent a
	// heartbeat, or the token is built into the ramdisk.
	Closed bool `json:"closed,omitempty"`
}

// Reveal reports whether the answer to a lookup from s contains the token, and returns the
// new record. A source without MACs or address gets it only once, because it can't be
// distinguished from another one.
func (r TokenReveals) Reveal(s Source) (clear bool, next TokenReveals) {
	if r.Closed {
		return false, r
	}
	macs := macSet(s.MACs)
	if r.Count == 0 {
		return true, TokenReveals{Count: 1, MACs: macs, IP: s.IP}
	}
	same := len(macs) > 0 && s.IP != "" && s.IP == r.IP && slices.Equal(macs, r.MACs)
	if !same || r.Count > RevealAgain {
		return false, r
	}
	r.Count++
	return true, r
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
