package ironic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
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
		"links":       []format.Link{{Href: format.PublicURL(c) + "/v1/", Rel: "self"}},
		"status":      "CURRENT",
		"min_version": format.VersionString(format.MinMinor),
		"version":     format.VersionString(format.MaxMinor),
	}
}

// rootResources are the link lists of /v1, by the version that added the
// resource. What is not built is not listed.
var rootResources = []struct {
	name  string
	since int
}{
	{"chassis", 1},
	{"nodes", 1},
	{"ports", 1},
	{"portgroups", minorPortgroups},
	{"drivers", 1},
	{"lookup", 22},
	{"heartbeat", 22},
	{"volume", minorVolume},
	{"conductors", 49},
	{"allocations", minorAllocations},
	{"deploy_templates", minorDeployTemplates},
	{"runbooks", minorRunbooks},
	{"events", minorEvents},
	{"shards", minorShards},
	{"continue_inspection", 84},
}

// getV1 is the version document, read by gophercloud and ironicclient.
func (s *Server) getV1(c *gin.Context) (int, any, error) {
	base := format.PublicURL(c)
	doc := gin.H{
		"id": "v1",
		"links": []format.Link{
			{Href: base + "/v1/", Rel: "self"},
			{Href: "https://docs.openstack.org/ironic/latest/contributor/webapi.html", Rel: "describedby", Type: "text/html"},
		},
		"media_types": gin.H{"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"},
		"version":     s.versionDocument(c),
	}
	for _, r := range rootResources {
		if format.Minor(c) >= r.since {
			doc[r.name] = format.Links(base, r.name+"/")
		}
	}
	return http.StatusOK, doc, nil
}

// lateWrites are resources whose POST, PATCH and DELETE Ironic answers with 405
// before the version that added them. None is built.
var lateWrites = map[string]int{"inspection_rules": 96}

// NotFound answers what is not there, or not built.
func NotFound(c *gin.Context) (int, any, error) {
	if rest, ok := strings.CutPrefix(c.Request.URL.Path, "/v1/"); ok {
		resource, _, _ := strings.Cut(rest, "/")
		if first, late := lateWrites[resource]; late && format.Minor(c) < first && c.Request.Method != http.MethodGet {
			return httpd.MethodNotAllowed(c)
		}
	}
	return 0, nil, fault.New(fault.NotFound, "The resource could not be found.")
}

// unbuiltResources are those of Ironic's root resources that are not built. A client
// that asks for one without a version gets the answers of /v1, too.
var unbuiltResources = []string{
	"driver", "inspection_rules",
}

// RootResources are the resources below /v1.
func RootResources() []string {
	out := slices.Clone(unbuiltResources)
	for _, r := range rootResources {
		out = append(out, r.name)
	}
	return out
}
