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

// publicURL is what stands before every link of an answer.
func (s *Server) publicURL(c *gin.Context) string {
	if s.PublicURL != "" {
		return strings.TrimSuffix(s.PublicURL, "/")
	}
	scheme := "http"
	if c.Request.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.Request.Host
}

// links are the self and bookmark links of /v1/path.
func links(base, path string) []link {
	return []link{
		{Href: base + "/v1/" + path, Rel: "self"},
		{Href: base + "/" + path, Rel: "bookmark"},
	}
}

// located sets the Location header to /v1/path.
func (s *Server) located(c *gin.Context, path string) {
	c.Header("Location", s.publicURL(c)+"/v1/"+path)
}
