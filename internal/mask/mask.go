// Package mask masks what may be secret in URLs within a text: a user and password
// before an @, and the query, which has the signature of a signed URL. Masked text
// may go into errors, logs, histories and unauthenticated answers.
//
// It is our own because net/url masks only the password of a URL that it can parse: here URLs are
// parts of other people's errors, often cut off or broken, and their queries are secret, too.
package mask

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Masked replaces each secret.
const Masked = "******"

// Within reports whether v, a value of JSON, is or holds a mask.
func Within(v any) bool {
	switch v := v.(type) {
	case string:
		return v == Masked
	case []any:
		return slices.ContainsFunc(v, Within)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), Within)
	}
	return false
}

// URLs returns text with the user, password, query values and fragment of every URL
// in it masked. It also masks parameters outside URLs whose names say that they are
// secret, such as "sig=...", and what is secret in the path of a CD or an image that Temper serves. Applying it twice is the same as applying it once.
func URLs(text string) string {
	if strings.Contains(text, "://") {
		text = inURLs(text)
	}
	if strings.Contains(text, "/boot/") || strings.Contains(text, "/images/") {
		text = mediumKey.ReplaceAllString(text, "${1}"+Masked)
	}
	if strings.Contains(text, "=") {
		text = lone.ReplaceAllString(text, "${1}"+Masked)
	}
	return text
}

// MediumKey is the form of the secret part of the path of a CD that Temper makes for one boot (package medium), or of an image.
const MediumKey = `[a-z2-7]{26}`

var mediumKey = regexp.MustCompile(`(/(?:boot|images)/)` + MediumKey + `\b`)

// lone matches secret parameters outside URLs: in the path of a redirect, or in an
// error that quotes a part of a URL.
var lone = regexp.MustCompile(`(?i)([?&\s"'(]?\b(?:sig|[\w-]*(?:signature|token|passw(?:or)?d|secret|credential|access_?key(?:_?id)?|api_?key))=)[^\s&"'<>\\*][^\s&"'<>\\]*`)

func inURLs(text string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		i += len("://")
		out.WriteString(text[:i])
		n := length(text[i:])
		out.WriteString(rest(text[i : i+n]))
		text = text[i+n:]
	}
}

// length returns how many bytes of s belong to the URL that s begins with. A
// backslash ends the URL unless it begins a \u sequence of JSON.
func length(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ' || c == 0x7f || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`':
			return i
		case c == '\\' && !strings.HasPrefix(s[i:], `\u`):
			return i
		}
	}
	return len(s)
}

// rest masks s, a URL without its scheme.
func rest(s string) string {
	tail := s[len(strings.TrimRight(s, ".,:;!)]}")):] // punctuation after the URL
	s = s[:len(s)-len(tail)]
	end := strings.IndexAny(s, "/?#")
	if end < 0 {
		end = len(s)
	}
	at := strings.LastIndexByte(s[:end], '@')
	if at < 0 && !isPort(s[:end]) {
		at = strings.LastIndexByte(s, '@') // a password with a slash in it
	}
	user := ""
	if at >= 0 {
		user, s = Masked+"@", s[at+1:]
	}
	s, fragment, hasFragment := strings.Cut(s, "#")
	path, query, hasQuery := strings.Cut(s, "?")
	out := user + path
	if hasQuery {
		out += "?" + values(query)
	}
	if hasFragment && fragment != "" {
		out += "#" + Masked
	}
	return out + tail
}

// isPort reports whether what follows the colon in host:port can be a port. It is
// true if there is no colon.
func isPort(host string) bool {
	i := strings.LastIndexByte(host, ':')
	return i < 0 || strings.Contains(host[i:], "]") || strings.Trim(host[i+1:], "0123456789") == ""
}

// values masks the values in a query, and parts that have no name.
func values(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, named := strings.Cut(part, "=")
		switch {
		case named && value != "":
			parts[i] = name + "=" + Masked
		case !named && part != "":
			parts[i] = Masked
		}
	}
	return strings.Join(parts, "&")
}

// Value returns a copy of v, a value as encoding/json decodes it, with URLs applied
// to every string in it.
func Value(v any) any {
	switch v := v.(type) {
	case string:
		return URLs(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = Value(e)
		}
		return out
	case map[string]any:
		return Dict(v)
	}
	return v
}

// Dict is Value for a JSON object.
func Dict(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = Value(v)
	}
	return out
}
