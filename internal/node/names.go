package node

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

// Longest values, in characters (Ironic's columns and schemas).
const (
	MaxName          = 255
	MaxDescription   = 4096
	MaxResourceClass = 80
	MaxTraits        = 50
)

var (
	unreservedName = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`) // RFC 3986 unreserved
	// hostName is what a name was before 1.10 (Ironic common/utils.py, is_hostname_safe).
	hostName       = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9_-]{0,62}[a-z0-9])*\.?$`)
	serviceName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,253}$`)
	conductorGroup = regexp.MustCompile(`^[a-zA-Z0-9_.-]*$`)
	macForm        = regexp.MustCompile(`^[0-9a-fA-F]{2}((:[0-9a-fA-F]{2}){5}|(-[0-9a-fA-F]{2}){5})$`)
	customTrait    = regexp.MustCompile(`^CUSTOM_[A-Z0-9_]+$`)
	standardTrait  = regexp.MustCompile(`^(HW|COMPUTE|MISC|STORAGE|OWNER)_[A-Z0-9_]+$`)
)

// ReservedNames are the words that follow /nodes/ or a node in a path, so that they can't be
// names of nodes.
var ReservedNames = []string{
	"allocation", "bios", "children", "detail", "firmware", "history", "inventory", "maintenance", "management", "portgroups", "ports",
	"states", "traits", "validate", "vendor_passthru", "vifs", "vmedia", "volume",
}

// ValidName reports whether s may name a node or port for a client of
// microversion 1.minor: never a uuid, and of a form that has widened with 1.10.
func ValidName(s string, minor int) bool {
	if len(s) > MaxName || IsUUIDLike(s) {
		return false
	}
	if minor < 10 {
		return hostName.MatchString(s)
	}
	return unreservedName.MatchString(s)
}

// ValidServiceName reports whether s may name a conductor or a compute service. Such a name stands in task queues, URLs and
// messages.
func ValidServiceName(s string) bool { return serviceName.MatchString(s) }

// NotReserved returns fault.Invalid, in Ironic's words, if name is one of ReservedNames.
func NotReserved(name string) error {
	if slices.Contains(ReservedNames, name) {
		return fault.New(fault.Invalid, `The word "%s" is reserved and can not be used as a node name. Reserved words are: %s.`,
			name, strings.Join(ReservedNames, ", "))
	}
	return nil
}

// ValidMAC is s in the form of a row: lower case, colons. fault.Invalid for
// anything but six octets with colons or hyphens between them.
func ValidMAC(s string) (string, error) {
	if !macForm.MatchString(s) {
		return "", fault.New(fault.Invalid, "Expected a MAC address but received %s.", text.Cut(s))
	}
	return strings.ReplaceAll(strings.ToLower(s), "-", ":"), nil
}

// ValidConductorGroup is s in the form of a row, lower case: groups are compared without case.
func ValidConductorGroup(s string) (string, error) {
	if len(s) > MaxName || !conductorGroup.MatchString(s) {
		return "", fault.New(fault.Invalid, "Expected a conductor group but received %s.", text.Cut(s))
	}
	return strings.ToLower(s), nil
}

// GroupWords names a conductor group in a sentence. The group "" is the default one.
func GroupWords(group string) string {
	if group == "" {
		return "the default conductor group"
	}
	return fmt.Sprintf("conductor group %q", group)
}

// ConductorWords names a conductor in a sentence. Many are called conductor-1: the word is not said twice.
func ConductorWords(hostname string) string {
	if strings.HasPrefix(strings.ToLower(hostname), "conductor") {
		return hostname
	}
	return "conductor " + hostname
}

// ValidResourceClass bounds a resource class; "" is none.
func ValidResourceClass(s string) error {
	if len([]rune(s)) > MaxResourceClass || strings.ContainsRune(s, 0) {
		return fault.New(fault.Invalid, "resource_class '%s' is too long, at most %d characters", text.Cut(s), MaxResourceClass)
	}
	return nil
}

// ValidTrait checks a trait: the deployment's own, CUSTOM_..., or a standard one. The list of
// standard traits (os-traits) grows with each release of another project, so
// their form is checked and not the name.
func ValidTrait(s string) error {
	if len(s) > MaxName || !customTrait.MatchString(s) && !standardTrait.MatchString(s) {
		return fault.New(fault.Invalid, "'%s' is not a trait: CUSTOM_ and A-Z, 0-9, _, or a standard trait", text.Cut(s))
	}
	return nil
}

// StorableTrait checks a trait that somebody gives to a node.
func StorableTrait(s string) error {
	if s == TraitMaintenance {
		return fault.New(fault.Invalid, "The trait %s can not be set: a node has it while it is in maintenance", s)
	}
	return ValidTrait(s)
}

// MaxDepth is how deep dictionaries of a request may nest (Ironic's JSON limit).
const MaxDepth = 25
