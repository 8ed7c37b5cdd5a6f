package recording

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Mask replaces what identifies the machine or its owner, and every secret: serial numbers, asset tags,
// UUIDs, MAC and IP addresses, WWNs, names of hosts and users, e-mail addresses, passwords and tokens. The
// same value gets the same replacement everywhere, also in paths, and a replacement has the form of what it
// replaces. more are values that are replaced wherever they are.
func (r *Recording) Mask(more ...string) {
	k := masker{replaced: map[string]string{}, count: map[string]int{}, bare: map[string]bool{}, kept: append([]string{r.Vendor, r.Product, r.Manufacturer, r.Model, r.Firmware}, nothing...)}
	for _, at := range r.Paths() {
		k.learn("", r.Resources[at])
		if name, _ := r.Resources[at]["Name"].(string); path.Base(path.Dir(at)) == "Systems" && !usualName(name) {
			k.add("host", name)
		}
	}
	for _, value := range more {
		k.add("value", value)
	}
	k.sortLearned()
	resources := map[string]Resource{}
	for _, at := range r.Paths() {
		masked, _ := k.mask("", r.Resources[at]).(map[string]any)
		resources[k.text("", at)] = masked
	}
	refused := map[string]int{}
	for at, status := range r.Refused {
		refused[k.text("", at)] = status
	}
	allow := map[string]string{}
	for at, methods := range r.Allow {
		allow[k.text("", at)] = methods
	}
	r.Allow = allow
	r.Resources, r.Refused, r.System = resources, refused, k.text("", r.System)
	for _, field := range []*string{&r.Vendor, &r.Product, &r.Manufacturer, &r.Model} {
		*field = k.text("", *field)
	}
}

// masker knows the values to replace.
type masker struct {
	replaced map[string]string
	learned  []string // the keys of replaced, the longest first
	count    map[string]int
	bare     map[string]bool // digits of the MACs
	kept     []string        // values that are not replaced, in whatever case
}

// kinds are the properties whose values are replaced, by what the replacement is called.
var kinds = []struct {
	kind string
	name *regexp.Regexp
}{
	{"secret", regexp.MustCompile(`(?i)(password|passwordsalt|passphrase|secret|token|privatekey|ipmikey|v3key|encryptionkey|authenticationkey|licensestring|activationkey|community|communitystring|communityname)$`)},
	{"serial", regexp.MustCompile(`(?i)(serial(number)?|servicetag|nodeid|expressservicecode|chassisservicetag|boardserialnumber|assettag|asset|sku|durablename|wwn|wwpn|wwnn|nguid|eui64|licenseid|uniqueid)$`)},
	{"user", regexp.MustCompile(`(?i)^(username|user|owner|createdby|emailaddress(es)?|email|contact(info)?|contactname|binddn)$`)},
	{"host", regexp.MustCompile(`(?i)^(.*hostname|fqdn|.*domainname|dnsname|dns(rac|bmc)name|rac(name|domain)|searchdomains?|staticnameservers|nameservers|ntpservers|ntp\d|server\d|domaincontroller\d|globalcatalog\d|basedn|location|datacenter(name)?|aisle(name)?|room(name)?|rack(name)?|building|postaladdress|street)$`)},
}

// kindOf returns the kind of a property, "" if its value is not replaced. Dell writes the names of attributes with a group and
// a number before them: Users.2.UserName.
func kindOf(property string) string {
	property = property[strings.LastIndex(property, ".")+1:]
	for _, k := range kinds {
		if k.name.MatchString(property) {
			return k.kind
		}
	}
	return ""
}

// nothing are values that many BMCs show where they have none.
var nothing = []string{"n/a", "na", "none", "null", "unknown", "not specified", "not available", "default", "to be filled by o.e.m.", "0", "oem", "empty"}

// usualWords are the words of the names that BMCs give to a system by themselves.
var usualWords = []string{
	"a", "ami", "asset", "baseboard", "blade", "board", "bmc", "chassis", "computer", "default", "dell", "hgx", "host", "hpe", "instance", "lenovo", "machine",
	"main", "node", "nvidia", "of", "physical", "self", "server", "supermicro", "system", "systems", "the", "this", "tray",
}

// usualName reports whether the name of a system is one that BMCs give by themselves, and not that of the host: it consists of usual words
// and numbers.
func usualName(name string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if !slices.Contains(usualWords, word) {
			return false
		}
	}
	return true
}

// shortest is the length of the shortest value that is replaced wherever it is, too. A shorter one is replaced in its property only.
const shortest = 5

func (k *masker) learn(property string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			k.learn(name, one)
		}
	case []any:
		for _, one := range v {
			k.learn(property, one)
		}
	case string:
		for _, mac := range macs.FindAllString(v, -1) {
			k.bare[digitsOf(mac)] = true
		}
		if kind := kindOf(property); kind != "" {
			k.add(kind, v)
		}
	}
}

// digitsOf returns the digits of a MAC, in lower case.
func digitsOf(mac string) string {
	return strings.ToLower(strings.NewReplacer(":", "", "-", "").Replace(mac))
}

func (k *masker) add(kind, value string) {
	value = strings.TrimSpace(value)
	if value == "" || slices.ContainsFunc(k.kept, func(kept string) bool { return strings.EqualFold(kept, value) }) || strings.HasPrefix(value, "/redfish/") || k.replaced[value] != "" {
		return
	}
	if kind == "secret" {
		k.replaced[value] = "******"
		return
	}
	k.replaced[value] = "" // numbered by sortLearned, so that the numbers don't depend on the order of a map
	k.count[kind+"\x00"+value]++
}

// sortLearned numbers the replacements, and puts the longest values first, because one may contain another.
func (k *masker) sortLearned() {
	numbers := map[string]int{}
	for _, key := range slices.Sorted(maps.Keys(k.count)) {
		kind, value, _ := strings.Cut(key, "\x00")
		if k.replaced[value] == "" && form(value) == "" {
			numbers[kind]++
			k.replaced[value] = fmt.Sprintf("%s-%d", kind, numbers[kind])
		}
	}
	k.count = map[string]int{}
	for _, value := range slices.Sorted(maps.Keys(k.replaced)) {
		if k.replaced[value] == "" {
			delete(k.replaced, value) // an address or UUID, which has replacements of its own form
			continue
		}
		k.learned = append(k.learned, value)
	}
	slices.SortStableFunc(k.learned, func(a, b string) int { return len(b) - len(a) })
}

func (k *masker) mask(property string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[name] = k.mask(name, v[name])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = k.mask(property, one)
		}
		return out
	case string:
		if kindOf(property) == "secret" && v != "" {
			return "******"
		}
		return k.text(property, v)
	case json.Number:
		if kindOf(property) != "" {
			return json.Number("0")
		}
	}
	return v
}

// text returns the text with everything replaced.
func (k *masker) text(property, text string) string {
	if to, ok := k.replaced[strings.TrimSpace(text)]; ok && (len(text) >= shortest || kindOf(property) != "" || property == "Name") {
		return to
	}
	for _, value := range k.learned {
		if len(value) >= shortest {
			text = strings.ReplaceAll(text, value, k.replaced[value])
		}
	}
	text = uuids.ReplaceAllStringFunc(text, k.once("uuid", func(n int, _ string) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }))
	maskMAC := k.once("mac", maskedMAC)
	text = macs.ReplaceAllStringFunc(text, maskMAC)
	text = bareMACs.ReplaceAllStringFunc(text, func(digits string) string {
		if !k.bare[strings.ToLower(digits)] {
			return digits
		}
		var pairs []string
		for i := 0; i < len(digits); i += 2 {
			pairs = append(pairs, digits[i:i+2])
		}
		return strings.ReplaceAll(maskMAC(strings.Join(pairs, ":")), ":", "")
	})
	if strings.Contains(strings.ToLower(property), "version") || strings.Contains(strings.ToLower(property), "revision") {
		return text // 6.10.80.0 is no address here
	}
	text = v6s.ReplaceAllStringFunc(text, k.onceAddress(func(n int) string { return fmt.Sprintf("2001:db8::%x", n) }))
	return v4s.ReplaceAllStringFunc(text, k.onceAddress(func(n int) string { return fmt.Sprintf("192.0.2.%d", n%254+1) }))
}

var (
	uuids    = regexp.MustCompile(`\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b`)
	macs     = regexp.MustCompile(`\b[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,}\b`)
	bareMACs = regexp.MustCompile(`\b[0-9A-Fa-f]{12}\b`)
	v6s      = regexp.MustCompile(`[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*:[0-9A-Fa-f]{0,4}`)
	v4s      = regexp.MustCompile(`\b(\d{1,3}\.){3}\d{1,3}\b`)
)

// form returns "address" or "uuid" for a value that is one, else "".
func form(value string) string {
	if _, err := netip.ParseAddr(value); err == nil || macs.FindString(value) == value {
		return "address"
	}
	if uuids.FindString(value) == value {
		return "uuid"
	}
	return ""
}

// once returns a function that replaces equal values by equal replacements.
func (k *masker) once(kind string, made func(n int, value string) string) func(string) string {
	return func(value string) string {
		key := kind + strings.ToLower(value)
		if kind == "mac" {
			key = kind + digitsOf(value)
		}
		n, ok := k.count[key]
		if !ok {
			k.count[kind]++
			n = k.count[kind]
			k.count[key] = n
		}
		return made(n, value)
	}
}

// onceAddress is once for IP addresses. It keeps those that say nothing about a machine.
func (k *masker) onceAddress(made func(n int) string) func(string) string {
	replace := k.once("ip", func(n int, _ string) string { return made(n) })
	return func(value string) string {
		a, err := netip.ParseAddr(value)
		if err != nil || a.IsUnspecified() || a.IsLoopback() || a.Is4() && a.As4()[0] == 255 {
			return value
		}
		return replace(value)
	}
}

// maskedMAC returns a MAC of the same length with the same separators. One of zeros or of ones stays.
func maskedMAC(n int, mac string) string {
	separator := mac[2:3]
	if digits := strings.ReplaceAll(mac, separator, ""); strings.Trim(digits, "0") == "" || strings.Trim(strings.ToLower(digits), "f") == "" {
		return mac
	}
	parts := strings.Split(mac, separator)
	for i := range parts {
		parts[i] = "00"
	}
	parts[0], parts[len(parts)-2], parts[len(parts)-1] = "02", fmt.Sprintf("%02x", n>>8&0xff), fmt.Sprintf("%02x", n&0xff)
	return strings.Join(parts, separator)
}
