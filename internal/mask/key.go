package mask

import (
	"slices"
	"strings"
)

// secretParts: a key that has one of these in it, in any case, names a secret.
// oslo.utils' list (strutils), and what hardware drivers and image servers add.
var secretParts = []string{
	"password", "passwd", "passphrase", "pswd", "adminpass", "admin_pass", "new_pass", "chappass",
	"secret", "token", "credential", "cookie",
	"private_key", "priv_key", "auth_key", "kg_key", "encrypted_key", "encryption_key", "api_key", "apikey", "sslkey", "fernetkey",
	"ssh_key_contents", "authorization", "configdrive", "config_drive",
}

// secretKeys are whole keys that Ironic masks besides (api, node_sanitize).
var secretKeys = []string{"image_url"}

// IsSecretKey reports whether a value under this key is masked and sealed.
func IsSecretKey(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	return slices.Contains(secretKeys, key) || slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(key, p) })
}
