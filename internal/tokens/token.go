// Package tokens has the tokens of service accounts: programs that use the API. A token is shown once, when it is made. Temper keeps its
// SHA-256 only (docs/tokens.md).
package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"regexp"
	"strings"
	"time"

	"go.temper.dev/temper/internal/access"
)

// Token is a token as it is kept.
type Token struct {
	ID        string // public
	Name      string // of the service account
	Grant     access.Grant
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt *time.Time // nil = never
	UsedAt    *time.Time // to the hour; nil = never
	RevokedAt *time.Time
	RevokedBy string
}

// The parts of a token: temper_, the public id, and the secret in base 62. It has only letters, digits and underscores, so that a click
// selects all of it, and programs that look for secrets in source know it by its form.
const (
	prefix    = "temper_"
	idLen     = 10
	secretLen = 43 // digits of 256 bits
)

var form = regexp.MustCompile(`^temper_([0-9A-Za-z]{10})_[0-9A-Za-z]{43}$`)

// New makes a token. It returns the text that its holder keeps, its public id, and the hash that Temper keeps.
func New() (text, id string, hash []byte) {
	id = random(8, idLen)
	text = prefix + id + "_" + random(32, secretLen)
	return text, id, hashOf(text)
}

// random returns the last digits in base 62 of a random number of that many bytes.
func random(bytes, digits int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // never fails
	s := new(big.Int).SetBytes(raw).Text(62)
	if len(s) < digits {
		s = strings.Repeat("0", digits-len(s)) + s
	}
	return s[len(s)-digits:]
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// parse returns the public id of a token, and its hash. ok is false for what can't be a token.
func parse(text string) (id string, hash []byte, ok bool) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return "", nil, false
	}
	return m[1], hashOf(text), true
}

// ValidID reports whether s can be the public id of a token.
func ValidID(s string) bool { return validID.MatchString(s) }

var validID = regexp.MustCompile(`^[0-9A-Za-z]{10}$`)

// validName is what a service account may be called. Audit, operations and logs show it.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$`)

// ValidName reports whether a service account may be called so.
func ValidName(s string) bool { return validName.MatchString(s) }
