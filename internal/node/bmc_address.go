package node

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"go.temper.dev/temper/internal/jsonvalue"
)

// DefaultIPMIPort is the UDP port of BMCs whose driver_info names none (RMCP).
const DefaultIPMIPort = 623

// The parsers below are the only ones of where a BMC is. Enrolment calls them as Property.Check, the drivers when they read
// driver_info. Their errors never quote the value, because people put passwords into addresses.

// ParseRedfishAddress parses redfish_address: a URL, or a host with or without a port. The result has the scheme, the host in
// lower case and the path before /redfish/v1, without a slash at the end. It is nil if the value is absent or blank.
func ParseRedfishAddress(value any) (*url.URL, error) {
	const name = "redfish_address"
	address, err := textOf(name, value)
	if address == "" || err != nil {
		return nil, err
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	if lacksBrackets(address) {
		return nil, errors.New(name + " is an IPv6 address without brackets: write [2001:db8::7], or https://[2001:db8::7]:443 with a port")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errors.New(name + " is neither a URL nor a host")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New(name + " must begin with https:// or http://")
	case strings.HasSuffix(u.Host, ":"):
		return nil, errors.New(name + " has a colon without a port: write https://HOST or https://HOST:PORT")
	case !isHost(u.Hostname()):
		return nil, errors.New(name + " has a host that is neither a host name nor an IP address")
	case u.User != nil:
		return nil, errors.New(name + " holds credentials; they belong into redfish_username and redfish_password")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New(name + " holds a query or fragment")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, errors.New(name + " has a port that is no number from 1 to 65535")
	}
	const service = "/redfish/v1"
	path := strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(path, service+"/") {
		return nil, errors.New(name + " has a path below " + service + ": a path such as " + service + "/Systems/1 belongs in redfish_system_id")
	}
	path = strings.TrimRight(strings.TrimSuffix(path, service), "/")
	if u, err = url.Parse(u.Scheme + "://" + strings.ToLower(u.Host) + path); err != nil {
		return nil, errors.New(name + " is neither a URL nor a host")
	}
	return u, nil
}

// lacksBrackets reports whether the host of a URL is an IPv6 address without brackets, with or without a port.
func lacksBrackets(address string) bool {
	_, host, _ := strings.Cut(address, "://")
	if end := strings.IndexAny(host, "/?#"); end >= 0 {
		host = host[:end]
	}
	_, err := netip.ParseAddr(host)
	if before, port, ok := cutLast(host, ":"); err != nil && ok && isDigits(port) {
		_, err = netip.ParseAddr(before)
		host = before
	}
	return err == nil && strings.Contains(host, ":")
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isHost reports whether s is an IP address, without brackets, or the name of a host (RFC 1123, and "_", which some sites have in names).
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	name := strings.TrimSuffix(s, ".")
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.Trim(strings.ToLower(l), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return len(name) <= 253 && !isDigits(labels[len(labels)-1]) // 999.1.1.1 is no name either
}

// isPort reports whether s is the number of a port.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// ParseRedfishSystem parses redfish_system_id, the path of a system. It is "" if the value is absent.
func ParseRedfishSystem(value any) (string, error) {
	const name, example = "redfish_system_id", "/redfish/v1/Systems/1"
	if value == nil || value == "" {
		return "", nil
	}
	path, ok := value.(string)
	u, err := url.Parse(path)
	switch {
	case !ok:
		return "", errors.New(name + " is not a string")
	case strings.ContainsFunc(path, unicode.IsSpace):
		return "", errors.New(name + " has a space, which no path such as " + example + " has")
	case err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%s %.80q is not a path such as %s", name, path, example)
	case strings.HasSuffix(path, "/"):
		return "", errors.New(name + " ends with a slash: write it as " + example)
	}
	return u.EscapedPath(), nil
}

// ParseIPMIAddress parses ipmi_address: an IP address, in brackets or not, or the name of a host. It is in lower case, without
// brackets, and "" if the value is absent or blank.
func ParseIPMIAddress(value any) (string, error) {
	const name = "ipmi_address"
	host, err := textOf(name, value)
	if host = strings.ToLower(host); host == "" || err != nil {
		return "", err
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			if a, err := netip.ParseAddr(inner); err == nil && a.Is6() {
				return inner, nil
			}
		}
	}
	if !isHost(host) {
		return "", errors.New(name + " is neither a host name nor an IP address: write it without https:// and without a path; the port belongs into ipmi_port")
	}
	return host, nil
}

// ParseIPMIPort parses ipmi_port. It is DefaultIPMIPort if the value is absent.
func ParseIPMIPort(value any) (int, error) {
	return ParseNumber("ipmi_port", value, 1, math.MaxUint16, DefaultIPMIPort)
}

// ParseNumber parses a property of driver_info that is a whole number from low to high. As in Ironic it may be a string. It is
// byDefault if the value is absent.
func ParseNumber(name string, value any, low, high, byDefault int) (int, error) {
	if value == nil || value == "" {
		return byDefault, nil
	}
	n, ok := jsonvalue.IntOrText(value)
	if !ok || n < int64(low) || n > int64(high) {
		return byDefault, fmt.Errorf("%s is not a whole number from %d to %d", name, low, high)
	}
	return int(n), nil
}

// check makes a Property.Check of a parser.
func check[T any](parse func(any) (T, error)) func(any) error {
	return func(value any) error {
		_, err := parse(value)
		return err
	}
}

// textOf returns a property that is a string, without blanks around it.
func textOf(name string, value any) (string, error) {
	s, ok := value.(string)
	if !ok && value != nil {
		return "", errors.New(name + " is not a string")
	}
	return strings.TrimSpace(s), nil
}
