package config

import (
	"net/url"
	"strings"
)

// Masked is shown instead of a secret.
const Masked = "******"

// mask hides the secret in s: all of it, or the password of a URL. A value that should be a URL and is none is hidden completely.
func mask(s, secret string) string {
	if s == "" || secret == "" {
		return s
	}
	u, err := url.Parse(s)
	if secret != "url" || err != nil || u.Host == "" {
		return Masked
	}
	// The mask is put in afterwards, because net/url writes a star as %2A.
	const hole = "masked-password"
	masked := *u
	if _, has := u.User.Password(); has {
		masked.User = url.UserPassword(u.User.Username(), hole)
	}
	if q := masked.Query(); q.Has("password") {
		q.Set("password", hole)
		masked.RawQuery = q.Encode()
	}
	return strings.ReplaceAll(masked.String(), hole, Masked)
}
