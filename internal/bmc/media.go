package bmc

import (
	"net/url"
	"path"
	"strings"
)

// Holds reports whether the image at the URL want is inserted. It normalizes the URLs
// before it compares them, because BMCs change them: they add or drop the default port,
// percent-encoding, credentials or a slash at the end, or change the host's case.
func (m Media) Holds(want string) bool {
	return m.Inserted && (m.Image == want || normalizedURL(m.Image) != "" && normalizedURL(m.Image) == normalizedURL(want))
}

// MayHold reports whether the inserted image may be the one at the URL want: Holds
// reports true, or the BMC shows only the file name (sushy-tools), a URL with another
// query (a masked signature), or no URL. Other images may match, too, so it is only for
// reading back what was inserted just now.
func (m Media) MayHold(want string) bool {
	if !m.Inserted || m.Image == "" || m.Holds(want) {
		return m.Inserted
	}
	reported, err1 := url.Parse(m.Image)
	sent, err2 := url.Parse(want)
	if err1 != nil || err2 != nil {
		return false
	}
	if reported.Host == "" && !strings.Contains(reported.Path, "/") {
		return reported.Path == path.Base(sent.Path)
	}
	reported.RawQuery, sent.RawQuery = "", ""
	return normalizedURL(reported.String()) == normalizedURL(sent.String())
}

// defaultPorts are the ports that normalizedURL removes.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ftp": "21", "nfs": "2049"}

// normalizedURL returns an image's URL in normal form, "" if it is not a URL.
// Credentials are dropped: they don't identify the image.
func normalizedURL(image string) string {
	u, err := url.Parse(strings.TrimSpace(image))
	if err != nil || u.Host == "" {
		return ""
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" && port != defaultPorts[scheme] {
		host += ":" + port
	}
	query := u.RawQuery
	if values, err := url.ParseQuery(query); err == nil {
		query = values.Encode() // in one order, in one encoding
	}
	return scheme + "://" + host + path.Clean("/"+u.Path) + "?" + query
}
