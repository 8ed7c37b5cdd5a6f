package config

import (
	"net/url"
	"strings"
)

// Masked stands where a secret was.
const Masked = "******"

// mask hides what is secret in s: all of it, or a URL's password. What claims to be a URL and is none is hidden whole.
func mask(s, secret string) string {
	if s == "" || secret == "" {
		return s
	}
	u, err := url.Parse(s)
	if secret != "url" || err != nil || u.Host == "" {
		return Masked
	}
	// Put in unescaped: the library writes a star as %2A.
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
