package redfish

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

// The properties of driver_info, by Ironic's names. The hardware type (package node)
// describes each.
const (
	propAddress  = "redfish_address"
	propSystem   = "redfish_system_id"
	propUsername = "redfish_username"
	propPassword = "redfish_password"
	propVerifyCA = "redfish_verify_ca"
	propAuthType = "redfish_auth_type"
)

// authType is how requests authenticate.
type authType string

const (
	authAuto    authType = "auto"
	authBasic   authType = "basic"
	authSession authType = "session"
)

// info is a parsed driver_info.
type info struct {
	base     *url.URL // scheme, host and path prefix; no trailing slash
	system   string   // "" = the only one
	username string
	password string
	auth     authType
	verify   verify
	fixed    time.Duration // how long answers are awaited; 0 = as long as is learned
}

// address identifies the BMC, in errors and among the driver's BMCs.
func (i info) address() string { return i.base.String() }

// key is equal for two infos that may share connections and a BMC session. It is a hash,
// so that the driver's map does not contain passwords.
func (i info) key() [sha256.Size]byte {
	return hashOf(i.address(), i.username, i.password, string(i.auth), string(i.verify.mode), string(i.verify.pem), i.fixed.String())
}

// credentials is equal for two infos with the same user name and password.
func (i info) credentials() [sha256.Size]byte { return hashOf(i.username, i.password) }

func hashOf(parts ...string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", parts)) // the quotes keep them apart
}

// parseInfo parses driver_info without a request to the BMC. It returns fault.Invalid
// that names every property that is missing or wrong, and never quotes the value of one
// that may contain a secret.
func parseInfo(m map[string]any, s bmc.Settings) (info, error) {
	var out info
	var wrong []string
	addError := func(err error) {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	text := func(name string) string {
		s, ok := m[name].(string)
		if !ok && m[name] != nil {
			addError(fmt.Errorf("%s is not a string", name))
		}
		return s
	}

	address := strings.TrimSpace(text(propAddress))
	if address != "" {
		base, err := parseAddress(address)
		if err == nil {
			err = checkReach(base, s.Reach)
		}
		addError(err)
		out.base = base
	} else {
		addError(fmt.Errorf("%s is missing", propAddress))
	}
	system, err := parseSystem(text(propSystem))
	addError(err)
	out.system = system
	out.username, out.password = text(propUsername), text(propPassword)
	if out.username == "" && out.password != "" {
		addError(fmt.Errorf("%s is given without %s", propPassword, propUsername))
	}
	if strings.Contains(out.username, ":") {
		addError(fmt.Errorf("%s holds a colon, which HTTP does not allow", propUsername))
	}
	out.auth, err = parseAuth(text(propAuthType))
	addError(err)
	out.verify, err = parseVerify(m[propVerifyCA], s.CADir)
	addError(err)
	out.fixed, err = bmc.FixedTimeout(m)
	addError(err)

	if len(wrong) > 0 {
		return info{}, fault.New(fault.Invalid, "driver_info: %s", strings.Join(wrong, "; "))
	}
	return out, nil
}

// parseAddress parses a URL or a host. Errors do not quote the address, because people
// put passwords into it.
func parseAddress(address string) (*url.URL, error) {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		address = "[" + address + "]"
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, fmt.Errorf("%s is neither a URL nor a host", propAddress)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%s must begin with https:// or http://", propAddress)
	case u.User != nil:
		return nil, fmt.Errorf("%s holds credentials; they belong into %s and %s", propAddress, propUsername, propPassword)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s holds a query or fragment", propAddress)
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/redfish/v1"), "/")
	u, err = url.Parse(u.Scheme + "://" + strings.ToLower(u.Host) + path)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a URL nor a host", propAddress)
	}
	return u, nil
}

// checkReach refuses an address that r does not allow, as far as that is known without
// resolving it.
func checkReach(base *url.URL, r dial.Reach) error {
	if err := r.CheckHost(base.Hostname()); err != nil {
		return fmt.Errorf("%s: %w", propAddress, err)
	}
	return nil
}

func parseSystem(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	u, err := url.Parse(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%s %.80q is not a path such as /redfish/v1/Systems/1", propSystem, path)
	}
	return strings.TrimRight(u.EscapedPath(), "/"), nil
}

func parseAuth(s string) (authType, error) {
	switch a := authType(strings.ToLower(s)); a {
	case "":
		return authAuto, nil
	case authAuto, authBasic, authSession:
		return a, nil
	}
	return "", fmt.Errorf("%s %.40q is not auto, basic or session", propAuthType, s)
}
