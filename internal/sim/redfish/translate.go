package redfish

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// translates reports whether answers of the persona have other paths or words than the
// standard's service.
func (p *Persona) translates() bool {
	return len(p.moves) > 0 || p.slashes || p.registry != "" || p.gzip
}

// nowhere is a path that no resource has.
const nowhere = root + "/Nowhere"

// below reports whether path is at or below base, and returns the rest.
func below(path, base string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, base)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// canonical returns the standard's path of the resource that the persona has at path.
func (p *Persona) canonical(path string) string {
	best, found := move{}, false
	for _, v := range p.moves {
		if _, ok := below(path, v.to); ok && len(v.to) >= len(best.to) {
			best, found = v, true
		}
	}
	if found {
		rest, _ := below(path, best.to)
		return best.from + rest
	}
	for _, v := range p.moves {
		if _, ok := below(path, v.from); ok && v.from != v.to {
			return nowhere
		}
	}
	return path
}

// shown returns the persona's path of the resource that the standard has at path.
func (p *Persona) shown(path string) string {
	for _, v := range p.moves {
		if rest, ok := below(path, v.from); ok {
			return v.to + rest
		}
	}
	return path
}

// links are the strings in JSON that are paths of this service.
var links = regexp.MustCompile(`"/redfish/v1[^"#?]*["#?]`)

// translate returns the JSON with the persona's paths and registry.
func (p *Persona) translate(body []byte) []byte {
	body = links.ReplaceAllFunc(body, func(link []byte) []byte {
		end := link[len(link)-1:] // a quote, # before the fragment, or ? before the query
		path := p.shown(string(link[1 : len(link)-1]))
		if p.slashes && !strings.HasSuffix(path, "/") && !strings.Contains(path, "/Actions/") {
			path += "/"
		}
		return []byte(`"` + path + string(end))
	})
	if p.registry != "" {
		body = bytes.ReplaceAll(body, []byte(`"Base.1.17.`), []byte(`"`+p.registry+`.`))
	}
	return body
}

func compress(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

// translator keeps an answer until flush, which translates and sends it.
type translator struct {
	http.ResponseWriter
	persona *Persona
	gzip    bool // the client allows it
	status  int
	body    bytes.Buffer
}

// WriteHeader keeps the status.
func (t *translator) WriteHeader(status int) { t.status = status }

// Write keeps the body.
func (t *translator) Write(b []byte) (int, error) { return t.body.Write(b) }

func (t *translator) flush() {
	h := t.ResponseWriter.Header()
	if at := h.Get("Location"); at != "" {
		h.Set("Location", t.persona.shown(at))
	}
	body := t.body.Bytes()
	if strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		body = t.persona.translate(body)
	}
	if t.persona.gzip && t.gzip && len(body) > 0 {
		body = compress(body)
		h.Set("Content-Encoding", "gzip")
		if tag := h.Get("ETag"); tag != "" {
			h.Set("ETag", strings.TrimSuffix(tag, `"`)+`-gzip"`)
		}
	}
	if len(body) > 0 {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if t.status != 0 {
		t.ResponseWriter.WriteHeader(t.status)
	}
	_, _ = t.ResponseWriter.Write(body)
}
