package format

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
	MaxMinor = 115
)

// Headers of the negotiation (Ironic controllers/base.py; the second form is
// OpenStack's common one and is preferred when both are sent).
const (
	HeaderVersion    = "X-OpenStack-Ironic-API-Version"
	HeaderMinVersion = "X-OpenStack-Ironic-API-Minimum-Version"
	HeaderMaxVersion = "X-OpenStack-Ironic-API-Maximum-Version"
	headerCommon     = "OpenStack-API-Version"
)

const minorKey = "minor"

// VersionString is a microversion as headers have it.
func VersionString(minor int) string { return fmt.Sprintf("1.%d", minor) }

// Negotiate gives the minor version that a request asks for: 1.1 where it says
// nothing, and fault.NotAcceptable for what is not served.
func Negotiate(h http.Header) (int, error) {
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
		return 0, fault.New(fault.NotAcceptable, "Invalid value for %s header", HeaderVersion)
	}
	if major != 1 {
		return 0, fault.New(fault.NotAcceptable, "Mutually exclusive versions requested. Version %d.%d requested but not supported by this service. The supported version range is: [%s, %s].",
			major, minor, VersionString(MinMinor), VersionString(MaxMinor))
	}
	if minor < MinMinor || minor > MaxMinor {
		return 0, fault.New(fault.NotAcceptable, "Version %d.%d was requested but the minor version is not supported by this service. The supported version range is: [%s, %s].",
			major, minor, VersionString(MinMinor), VersionString(MaxMinor))
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
	return strings.TrimSpace(h.Get(HeaderVersion))
}

// Minor is the minor version that the request was accepted with.
func Minor(c *gin.Context) int { return c.GetInt(minorKey) }

// TooNew is the refusal of a field, filter or parameter that a version does not have.
func TooNew(first int) error {
	return fault.New(fault.NotAcceptable, "Request not acceptable. The minimal required API version should be %s", VersionString(first))
}

// SetMinor records the minor version that the request was accepted with.
func SetMinor(c *gin.Context, minor int) { c.Set(minorKey, minor) }
