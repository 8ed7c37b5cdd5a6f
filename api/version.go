package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
)

// The microversions that are served. Nothing was ever dropped since 1.1.
const (
	MinMinor = 1
	MaxMinor = 95
)

// Headers of the negotiation (Ironic controllers/base.py; the second form is
// OpenStack's common one and is preferred when both are sent).
const (
	headerVersion    = "X-OpenStack-Ironic-API-Version"
	headerMinVersion = "X-OpenStack-Ironic-API-Minimum-Version"
	headerMaxVersion = "X-OpenStack-Ironic-API-Maximum-Version"
	headerCommon     = "OpenStack-API-Version"
)

const minorKey = "minor"

func versionString(minor int) string { return fmt.Sprintf("1.%d", minor) }

// negotiate gives the minor version that a request asks for: 1.1 where it says
// nothing, and fault.NotAcceptable for what is not served.
func negotiate(h http.Header) (int, error) {
	asked := requestedVersion(h)
	switch strings.ToLower(asked) {
	case "":
		return MinMinor, nil
	case "latest":
		return MaxMinor, nil
	}
	left, right, ok := strings.Cut(asked, ".")
	major, err1 := strconv.Atoi(strings.TrimSpace(left))
	minor, err2 := strconv.Atoi(strings.TrimSpace(right))
	if !ok || err1 != nil || err2 != nil {
		return 0, fault.New(fault.NotAcceptable, "Invalid value for %s header", headerVersion)
	}
	if major != 1 {
		return 0, fault.New(fault.NotAcceptable, "Mutually exclusive versions requested. Version %d.%d requested but not supported by this service. The supported version range is: [%s, %s].",
			major, minor, versionString(MinMinor), versionString(MaxMinor))
	}
	if minor < MinMinor || minor > MaxMinor {
		return 0, fault.New(fault.NotAcceptable, "Version %d.%d was requested but the minor version is not supported by this service. The supported version range is: [%s, %s].",
			major, minor, versionString(MinMinor), versionString(MaxMinor))
	}
	return minor, nil
}

func requestedVersion(h http.Header) string {
	for _, value := range h.Values(headerCommon) {
		for _, one := range strings.Split(value, ",") {
			service, version, ok := strings.Cut(strings.TrimSpace(one), " ")
			if ok && strings.EqualFold(service, "baremetal") {
				return strings.TrimSpace(version)
			}
		}
	}
	return strings.TrimSpace(h.Get(headerVersion))
}

// versioned puts the range into every answer and, under /v1, refuses versions
// that are not served. Clients renegotiate from the headers of that very 406.
func (s *Server) versioned(c *gin.Context) {
	h := c.Writer.Header()
	h.Set(headerMinVersion, versionString(MinMinor))
	h.Set(headerMaxVersion, versionString(MaxMinor))
	path := c.Request.URL.Path
	if path != "/v1" && !strings.HasPrefix(path, "/v1/") {
		c.Set(minorKey, MaxMinor)
		return
	}
	minor, err := negotiate(c.Request.Header)
	if err != nil {
		fail(c, err)
		return
	}
	h.Set(headerVersion, versionString(minor))
	c.Set(minorKey, minor)
}

// minor is the minor version that the request was accepted with.
func minor(c *gin.Context) int { return c.GetInt(minorKey) }

// since hides an endpoint from older versions: Ironic answers 404 there.
func since(first int, h handler) handler {
	return func(c *gin.Context) (int, any, error) {
		if minor(c) < first {
			return 0, nil, fault.New(fault.NotFound, "Resource could not be found.")
		}
		return h(c)
	}
}

// tooNew is the refusal of a field, filter or parameter that a version does not have.
func tooNew(first int) error {
	return fault.New(fault.NotAcceptable, "Request not acceptable. The minimal required API version should be %s", versionString(first))
}
