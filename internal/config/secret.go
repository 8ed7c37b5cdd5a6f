package config

import "net/url"

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
	masked := *u
	if _, has := u.User.Password(); has {
		masked.User = url.User(u.User.Username())
	}
	q := masked.Query()
	if q.Has("password") {
		q.Del("password")
		masked.RawQuery = q.Encode()
	}
	return masked.String()
}
