package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// getRoot is the version discovery document of the service.
func (s *Server) getRoot(c *gin.Context) (int, any, error) {
	version := s.versionDocument(c)
	return http.StatusOK, gin.H{
		"name":            "OpenStack Ironic API",
		"description":     "Temper: bare-metal provisioning behind Ironic's API.",
		"default_version": version,
		"versions":        []any{version},
	}, nil
}

func (s *Server) versionDocument(c *gin.Context) gin.H {
	return gin.H{
		"id":          "v1",
		"links":       []link{{Href: publicURL(c) + "/v1/", Rel: "self"}},
		"status":      "CURRENT",
		"min_version": versionString(MinMinor),
		"version":     versionString(MaxMinor),
	}
}

// rootResources are the link lists of /v1, by the version that added the
// resource. What is not built is not listed.
var rootResources = []struct {
	name  string
	since int
}{
	{"nodes", 1},
	{"ports", 1},
	{"drivers", 1},
	{"lookup", 22},
	{"heartbeat", 22},
	{"conductors", 49},
	{"allocations", minorAllocations},
	{"continue_inspection", 84},
}

// getV1 is the version document, read by gophercloud and ironicclient.
func (s *Server) getV1(c *gin.Context) (int, any, error) {
	base := publicURL(c)
	doc := gin.H{
		"id": "v1",
		"links": []link{
			{Href: base + "/v1/", Rel: "self"},
			{Href: "https://docs.openstack.org/ironic/latest/contributor/webapi.html", Rel: "describedby", Type: "text/html"},
		},
		"media_types": gin.H{"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"},
		"version":     s.versionDocument(c),
	}
	for _, r := range rootResources {
		if minor(c) >= r.since {
			doc[r.name] = links(base, r.name+"/")
		}
	}
	return http.StatusOK, doc, nil
}
