package node

import (
	"regexp"
	"strings"
)

// This file decides for the whole program what a UUID is. github.com/google/uuid makes new ones, but
// it accepts other forms than Ironic does, and this package has no dependencies.

var (
	uuidDigits     = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
	uuidHyphenated = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// IsUUID reports whether s is a UUID as a request may contain it: with or without hyphens.
func IsUUID(s string) bool { return IsHyphenatedUUID(s) || uuidDigits.MatchString(s) }

// IsHyphenatedUUID reports whether s is a UUID with hyphens.
func IsHyphenatedUUID(s string) bool { return uuidHyphenated.MatchString(s) }

// CanonicalUUID returns a UUID as the database has it: lower case, with hyphens. It returns any
// other string unchanged.
func CanonicalUUID(s string) string {
	if !IsUUID(s) {
		return s
	}
	d := strings.ToLower(strings.ReplaceAll(s, "-", ""))
	return strings.Join([]string{d[:8], d[8:12], d[12:16], d[16:20], d[20:]}, "-")
}

// IsUUIDLike reports whether s is a UUID in any form that Ironic knows (oslo.utils is_uuid_like):
// hyphens anywhere or nowhere, in braces, or after "urn:uuid:". A name must not be one.
func IsUUIDLike(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(s), "urn:"), "uuid:")
	return uuidDigits.MatchString(strings.ReplaceAll(strings.Trim(s, "{}"), "-", ""))
}
