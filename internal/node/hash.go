package node

import (
	"maps"
	"slices"
)

// hashes are the algorithms by which an image is verified, by the number of hexadecimal digits. The agent takes any that Python's
// hashlib has (ironic-python-agent, extensions/standby.py); these can't be forged, and a digest's length tells them apart.
var hashes = map[int]string{64: "sha256", 96: "sha384", 128: "sha512"}

// HashOf returns the algorithm of a digest of hexadecimal digits, by its length; "" = it is of none of Hashes.
func HashOf(digest string) string { return hashes[len(digest)] }

// Hashes are the algorithms by which an image is verified, as image_os_hash_algo names them.
func Hashes() []string { return slices.Sorted(maps.Values(hashes)) }
