package redfish

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
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

	base, err := node.ParseRedfishAddress(m[propAddress])
	switch {
	case err == nil && base == nil:
		err = fmt.Errorf("%s is missing", propAddress)
	case err == nil:
		err = checkReach(base, s.Reach)
	}
	addError(err)
	out.base = base
	out.system, err = node.ParseRedfishSystem(m[propSystem])
	addError(err)
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

// checkReach refuses an address that r does not allow, as far as that is known without
// resolving it.
func checkReach(base *url.URL, r dial.Reach) error {
	if err := r.CheckHost(base.Hostname()); err != nil {
		return fmt.Errorf("%s: %w", propAddress, err)
	}
	return nil
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
