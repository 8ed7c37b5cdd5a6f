package api

import (
	"strings"

	"github.com/gin-gonic/gin"
)

// link is one of the links of a resource.
type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
	Type string `json:"type,omitempty"`
}

const publicURLKey = "public_url"

// publicURL is what stands before every link of an answer, without a trailing slash.
func publicURL(c *gin.Context) string { return c.GetString(publicURLKey) }

// setPublicURL sets publicURL: configured or, where that is empty, the address
// that the request was sent to.
func setPublicURL(c *gin.Context, configured string) {
	if configured == "" {
		scheme := "http"
		if c.Request.TLS != nil {
			scheme = "https"
		}
		configured = scheme + "://" + c.Request.Host
	}
	c.Set(publicURLKey, strings.TrimSuffix(configured, "/"))
}

// links are the self and bookmark links of /v1/path.
func links(base, path string) []link {
	return []link{
		{Href: base + "/v1/" + path, Rel: "self"},
		{Href: base + "/" + path, Rel: "bookmark"},
	}
}

// located sets the Location header to /v1/path.
func located(c *gin.Context, path string) {
	c.Header("Location", publicURL(c)+"/v1/"+path)
}
