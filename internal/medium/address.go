package medium

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"go.temper.dev/temper/internal/mask"
)

// PathPrefix is what the paths of media begin with. They are short, because the firmware of some BMCs takes only short addresses.
const PathPrefix = "/boot/"

// keySize is the length of a key in letters: 130 bits.
const keySize = 26

var (
	letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	keyForm = regexp.MustCompile("^" + mask.MediumKey + "$")
)

// Key is the secret part of a medium's path. It is a hash of the agent's token, so that a conductor that takes a boot over names the
// same path, and whoever has the key does not have the token.
func Key(token string) string {
	sum := sha256.Sum256([]byte("path of the medium with the token " + token))
	return letters.EncodeToString(sum[:])[:keySize]
}

// IsKey reports whether s may be a key.
func IsKey(s string) bool { return keyForm.MatchString(s) }

// Hash is what is stored of a key, so that whoever reads the database can't fetch a medium.
func Hash(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// Name is the file name in a medium's path. It differs from boot to boot, and is no secret.
func Name(key string) string { return letters.EncodeToString(Hash(key))[:8] + ".iso" }

// URL returns the address of a medium below the URL of its server. It has no query and ends in .iso, as many BMCs want it.
func URL(base, key string) string {
	return strings.TrimRight(base, "/") + PathPrefix + key + "/" + Name(key)
}
