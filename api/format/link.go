package format

import (
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Link is one of the links of a resource.
type Link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
	Type string `json:"type,omitempty"`
}

const publicURLKey = "public_url"

// PublicURL is what stands before every link of an answer, without a trailing slash.
func PublicURL(c *gin.Context) string { return c.GetString(publicURLKey) }

// SetPublicURL sets publicURL: configured or, where that is empty, the address
// that the request was sent to.
func SetPublicURL(c *gin.Context, configured string) {
	if configured == "" {
		scheme := "http"
		if c.Request.TLS != nil {
			scheme = "https"
		}
		configured = scheme + "://" + c.Request.Host
	}
	c.Set(publicURLKey, strings.TrimSuffix(configured, "/"))
}

// Links are the self and bookmark links of /v1/path.
func Links(base, path string) []Link {
	return []Link{
		{Href: base + "/v1/" + path, Rel: "self"},
		{Href: base + "/" + path, Rel: "bookmark"},
	}
}

// LinkBase is what stands before every link of an answer, as text in JSON.
type LinkBase string

// NewLinkBase returns the LinkBase of PublicURL.
func NewLinkBase(c *gin.Context) LinkBase {
	quoted := jsonvalue.AppendString(nil, PublicURL(c))
	return LinkBase(quoted[1 : len(quoted)-1])
}

// Append appends what Links returns for the path of these parts, as JSON. The parts need no escapes.
func (l LinkBase) Append(b []byte, parts ...string) []byte {
	b = append(append(append(b, `[{"href":"`...), l...), "/v1"...)
	b = appendPath(b, parts)
	b = append(append(b, `","rel":"self"},{"href":"`...), l...)
	b = appendPath(b, parts)
	return append(b, `","rel":"bookmark"}]`...)
}

func appendPath(b []byte, parts []string) []byte {
	for _, part := range parts {
		b = append(append(b, '/'), part...)
	}
	return b
}

// Located sets the Location header to /v1/path.
func Located(c *gin.Context, path string) {
	c.Header("Location", PublicURL(c)+"/v1/"+path)
}
