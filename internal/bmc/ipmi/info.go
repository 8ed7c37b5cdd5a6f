package ipmi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// The properties of driver_info, by Ironic's names. The hardware type (package node)
// describes each.
const (
	propAddress            = "ipmi_address"
	propPort               = "ipmi_port"
	propUsername           = "ipmi_username"
	propPassword           = "ipmi_password"
	propKgKey              = "ipmi_hex_kg_key"
	propPrivLevel          = "ipmi_priv_level"
	propCipherSuite        = "ipmi_cipher_suite"
	propProtocolVersion    = "ipmi_protocol_version"
	propDisableBootTimeout = "ipmi_disable_boot_timeout"
	propForceBootDevice    = "ipmi_force_boot_device"
	propTerminalPort       = "ipmi_terminal_port"
)

const (
	maxPassword = 20 // bytes (IPMI 2.0, table 22-30)
	kgKeyLength = 20 // bytes (IPMI 2.0, table 22-31)
)

// privLevels are Ironic's names of the privilege levels.
var privLevels = map[string]types.PrivilegeLevel{
	"CALLBACK":      types.PrivilegeLevelCallback,
	"USER":          types.PrivilegeLevelUser,
	"OPERATOR":      types.PrivilegeLevelOperator,
	"ADMINISTRATOR": types.PrivilegeLevelAdministrator,
}

// cipherSuites are the suites that are tried if driver_info names none, best first: HMAC-SHA256
// and HMAC-SHA1, both with AES-CBC-128 (IPMI 2.0, table 22-20). All others lack encryption,
// authentication, or use ciphers that are broken.
var cipherSuites = []types.CipherSuiteID{types.CipherSuiteID17, types.CipherSuiteID3}

// info is a parsed driver_info.
type info struct {
	host               string // lower case
	port               int
	username, password string
	kg                 []byte // 20 bytes; nil = the BMC has none
	privilege          types.PrivilegeLevel
	suites             []types.CipherSuiteID // in the order in which they are tried
	disableBootTimeout bool
	bridge             bridge
	fixed              time.Duration // how long answers are awaited; 0 = as long as is learned
}

// address identifies the BMC, in errors and among the driver's BMCs.
func (i info) address() string { return net.JoinHostPort(i.host, strconv.Itoa(i.port)) }

// kuid returns the key of the account (IPMI 2.0, 13.31).
func (i info) kuid() []byte { return crypto.PadPassword20([]byte(i.password)) }

// key is equal for two infos that may share a session. It is a hash, so that the driver's
// map does not contain passwords.
func (i info) key() [sha256.Size]byte {
	return hashOf(i.address(), i.username, i.password, string(i.kg), i.privilege.String(), string(i.suites), i.bridge.String(), i.fixed.String())
}

// credentials is equal for two infos with the same account and keys.
func (i info) credentials() [sha256.Size]byte { return hashOf(i.username, i.password, string(i.kg)) }

func hashOf(parts ...string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", parts)) // the quotes keep them apart
}

// properties reads driver_info and collects what is wrong with it.
type properties struct {
	values map[string]any
	wrong  []string
}

func (p *properties) refuse(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// add adds what is wrong, unless err is nil.
func (p *properties) add(err error) {
	if err != nil {
		p.wrong = append(p.wrong, err.Error())
	}
}

func (p *properties) text(name string) string {
	s, ok := p.values[name].(string)
	if !ok && p.values[name] != nil {
		p.refuse("%s is not a string", name)
	}
	return s
}

// number returns a whole number; byDefault if it is absent.
func (p *properties) number(name string, low, high, byDefault int) int {
	n, err := node.ParseNumber(name, p.values[name], low, high, byDefault)
	p.add(err)
	return n
}

func (p *properties) boolean(name string, byDefault bool) bool {
	switch v := p.values[name].(type) {
	case nil:
		return byDefault
	case bool:
		return v
	case string:
		if v == "" {
			return byDefault
		}
		if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
			return b
		}
	}
	p.refuse("%s is neither true nor false", name)
	return byDefault
}

// parseInfo parses driver_info without a request to the BMC. It returns fault.Invalid that
// names every property that is missing or wrong, and never quotes a value that may be secret.
func parseInfo(m map[string]any, s bmc.Settings) (info, error) {
	p := &properties{values: m}
	out := info{
		host:               p.host(s),
		port:               p.port(),
		username:           p.text(propUsername),
		password:           p.text(propPassword),
		kg:                 p.kgKey(),
		privilege:          p.privilege(),
		suites:             p.suites(),
		disableBootTimeout: p.boolean(propDisableBootTimeout, true),
		bridge:             p.bridge(),
	}
	fixed, err := bmc.FixedTimeout(m)
	out.fixed = fixed
	p.add(err)
	if len(out.username) > rmcpplus.MaxUserNameLength {
		p.refuse("%s has more than %d bytes", propUsername, rmcpplus.MaxUserNameLength)
	}
	if len(out.password) > maxPassword {
		p.refuse("%s has more than %d bytes, which is the most that IPMI 2.0 allows", propPassword, maxPassword)
	}
	p.number(propTerminalPort, 1, math.MaxUint16, 0) // the conductor that holds the console reads it
	if p.boolean(propForceBootDevice, false) {
		p.refuse("%s is true, which is not supported: Temper keeps no boot device of a node that it could set again at each power on; remove it or set it to false", propForceBootDevice)
	}
	if v := p.version(); v != "" && v != "2.0" {
		p.refuse("%s %.20q is not 2.0: IPMI 1.5 sends everything unencrypted and is not supported", propProtocolVersion, v)
	}
	if len(p.wrong) > 0 {
		return info{}, fault.New(fault.Invalid, "driver_info: %s", strings.Join(p.wrong, "; "))
	}
	return out, nil
}

// host returns the name or address of the BMC.
func (p *properties) host(s bmc.Settings) string {
	host, err := node.ParseIPMIAddress(p.values[propAddress])
	switch {
	case err == nil && host == "":
		err = fmt.Errorf("%s is missing", propAddress)
	case err == nil:
		if err = s.Reach.CheckHost(host); err != nil {
			err = fmt.Errorf("%s: %w", propAddress, err)
		}
	}
	p.add(err)
	return host
}

func (p *properties) port() int {
	port, err := node.ParseIPMIPort(p.values[propPort])
	p.add(err)
	return port
}

func (p *properties) kgKey() []byte {
	text := p.text(propKgKey)
	if text == "" {
		return nil
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != kgKeyLength {
		p.refuse("%s is not %d hexadecimal digits", propKgKey, 2*kgKeyLength)
	}
	return key
}

func (p *properties) privilege() types.PrivilegeLevel {
	name := strings.ToUpper(p.text(propPrivLevel))
	if name == "" {
		return types.PrivilegeLevelAdministrator
	}
	level, ok := privLevels[name]
	if !ok {
		p.refuse("%s %.20q is not ADMINISTRATOR, OPERATOR, USER or CALLBACK", propPrivLevel, name)
	}
	return level
}

func (p *properties) suites() []types.CipherSuiteID {
	n := p.number(propCipherSuite, 0, int(types.CipherSuiteID19), -1)
	if n < 0 {
		return cipherSuites
	}
	suite := types.CipherSuiteID(n) //nolint:gosec // 0 to 19
	if !slices.Contains(cipherSuites, suite) {
		p.refuse("%s %d is not 17 or 3: the others do without encryption or authentication, or use broken ciphers", propCipherSuite, n)
	}
	return []types.CipherSuiteID{suite}
}

// version returns ipmi_protocol_version, which may also be a number.
func (p *properties) version() string {
	if f, ok := jsonvalue.Float(p.values[propProtocolVersion]); ok {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return p.text(propProtocolVersion)
}
