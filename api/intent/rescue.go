package intent

import (
	"strings"

	"github.com/go-crypt/crypt/algorithm/shacrypt"
	"golang.org/x/crypto/ssh"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// maxRescuePassword bounds a rescue password, in bytes: the time that its hash takes grows with its length.
const maxRescuePassword = 255

// rounds are those of crypt(3) where none are given. More would let whoever sends many requests keep the API busy.
const rounds = 5000

// RescueHash returns a SHA-512 hash of the password in a request for v, with a random salt, in the format of crypt(3), which
// the ramdisk's chpasswd takes. Ironic sends such hashes, too (rescue_password_hash_algorithm). It returns "" if v takes no
// password or there is none but blanks.
func RescueHash(v node.Verb, password string) (string, error) {
	if v.Event != node.EventRescue || strings.TrimSpace(password) == "" {
		return "", nil
	}
	if n := len(password); n > maxRescuePassword {
		return "", fault.New(fault.Invalid, "The rescue password has %d bytes, more than %d.", n, maxRescuePassword)
	}
	hasher, err := shacrypt.New(shacrypt.WithSHA512(), shacrypt.WithIterations(rounds))
	if err != nil {
		return "", fault.New(fault.Internal, "hash the rescue password: %w", err)
	}
	digest, err := hasher.Hash(password)
	if err != nil {
		return "", fault.New(fault.Internal, "hash the rescue password: %w", err)
	}
	return digest.Encode(), nil
}

// maxRescueKeys bounds the public keys of a rescue together, in bytes.
const maxRescueKeys = 16 << 10

// RescueKeys checks the public keys of a request, each as a line of authorized_keys, and returns them a line each.
func RescueKeys(given []any) (string, error) {
	var lines strings.Builder
	for i, v := range given {
		key, _ := v.(string)
		key = strings.TrimSpace(key)
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(key)); err != nil || strings.ContainsAny(key, "\r\n") {
			return "", fault.New(fault.Invalid, "rescue_ssh_keys[%d] is not a public key as in authorized_keys.", i)
		}
		lines.WriteString(key + "\n")
	}
	if n := lines.Len(); n > maxRescueKeys {
		return "", fault.New(fault.Invalid, "The public keys in rescue_ssh_keys have %d bytes, more than %d.", n, maxRescueKeys)
	}
	return strings.TrimSpace(lines.String()), nil
}
