package bmc

import (
	"net/url"
	"path"
	"strings"
)

// Holds reports whether the image at want is inserted. It compares URLs
// normalized, because BMCs change them: they add or drop the default port,
// percent-encoding, credentials or a slash at the end, or change the host's case.
func (m Media) Holds(want string) bool {
	return m.Inserted && (m.Image == want || spelling(m.Image) != "" && spelling(m.Image) == spelling(want))
}

// MayHold reports whether the image at want may be inserted: it is (Holds), or the
// BMC shows only the file name (sushy-tools), or a URL that differs in the query
// (a masked signature), or nothing. Other images may match, too, so it is only for
// reading back what was inserted just now.
func (m Media) MayHold(want string) bool {
	if !m.Inserted || m.Image == "" || m.Holds(want) {
		return m.Inserted
	}
	told, err1 := url.Parse(m.Image)
	sent, err2 := url.Parse(want)
	if err1 != nil || err2 != nil {
		return false
	}
	if told.Host == "" && !strings.Contains(told.Path, "/") {
		return told.Path == path.Base(sent.Path)
	}
	told.RawQuery, sent.RawQuery = "", ""
	return spelling(told.String()) == spelling(sent.String())
}

// defaultPorts are dropped by spelling.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ftp": "21", "nfs": "2049"}

// spelling returns an image's URL in normal form, "" if it is not a URL.
// Credentials are dropped: they don't identify the image.
func spelling(image string) string {
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
