package image

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// AlgorithmOf returns the algorithm of a digest by its length; "" = of none that is known.
func AlgorithmOf(digest string) string {
	if len(digest) == 32 {
		return "md5"
	}
	return node.HashOf(digest)
}

var hexDigest = regexp.MustCompile(`^[0-9a-fA-F]+$`)

// chooseChecksum chooses with which checksum the image is verified: image_os_hash_* takes
// precedence over image_checksum, as in Ironic (common/checksum_utils.py).
func (i *Info) chooseChecksum(checksum, algo, value string, p Policy) error {
	if i.tellsDigest() && algo == "" && value == "" && checksum == "" {
		return nil
	}
	if (algo == "") != (value == "") || value == "" && checksum == "" {
		return fault.Coded(fault.ImageInvalid, `image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" `+
			"must be provided in instance_info for node %s", i.NodeUUID)
	}
	if value != "" {
		if err := i.setChecksum("image_os_hash_value", strings.ToLower(algo), value, p); err != nil {
			return err
		}
		return i.setAside(checksum)
	}
	// "sha256:..." is an old way to name the algorithm in the digest.
	if before, after, found := strings.Cut(checksum, ":"); found && !isURL(checksum) {
		algo, checksum = strings.ToLower(before), after
	}
	return i.setChecksum("image_checksum", algo, checksum, p)
}

// setAside notes that image_checksum has no effect beside image_os_hash_value. Digests of the same algorithm that differ are refused: one
// of them is not the image's, and nobody would notice which one was meant.
func (i *Info) setAside(checksum string) error {
	digest := strings.ToLower(checksum)
	if _, after, named := strings.Cut(digest, ":"); named && !isURL(checksum) {
		digest = after
	}
	switch {
	case checksum == "", digest == i.Checksum:
	case !isURL(i.Checksum) && AlgorithmOf(digest) == i.Algo:
		return i.invalid("image_checksum and image_os_hash_value are different %s digests: image_os_hash_value would be used; remove image_checksum, or set both to the digest of the image", i.Algo)
	default:
		i.Unused = "image_checksum"
	}
	return nil
}

// setChecksum sets a digest or the URL of a checksum file. If algo is empty, the digest's
// length determines it.
func (i *Info) setChecksum(field, algo, value string, p Policy) error {
	i.Algo, i.Checksum = algo, value
	if algo != "" {
		if err := i.checkAlgorithm(field, algo, p); err != nil {
			return err
		}
	}
	if isURL(value) {
		if p.RefuseChecksumURLs {
			return i.invalid("%s is a URL, and files of checksums are switched off here: give the digest itself", field)
		}
		return i.checkReach(field, value, p.Reach)
	}
	return i.setDigest(field, algo, value, p)
}

// checkReach refuses the URL of a checksum file if the conductor must not connect to its host,
// as far as that is known without resolving it.
func (i *Info) checkReach(field, from string, r dial.Reach) error {
	u, err := url.Parse(from)
	if err != nil {
		return i.invalid("%s is not a valid URL", field)
	}
	if err := r.CheckHost(u.Hostname()); err != nil {
		return i.invalid("%s can't be fetched: %w", field, err)
	}
	return nil
}

// setDigest checks a digest against its algorithm and sets it in lower case.
func (i *Info) setDigest(field, algo, digest string, p Policy) error {
	of := AlgorithmOf(digest)
	switch {
	case of == "" || !hexDigest.MatchString(digest):
		return i.invalid("%s is no digest: want 64 (sha256), 96 (sha384) or 128 (sha512) hexadecimal digits, or the URL of a file with them", field)
	case algo != "" && algo != of:
		return i.invalid("%s has the length of a %s digest, but the algorithm is given as %s", field, of, algo)
	}
	i.Algo, i.Checksum = of, strings.ToLower(digest)
	return i.checkAlgorithm(field, of, p)
}

func (i *Info) checkAlgorithm(field, algo string, p Policy) error {
	switch {
	case slices.Contains(node.Hashes(), algo), algo == "md5" && p.AllowMD5:
		return nil
	case algo == "md5":
		return i.invalid("%s is MD5, which is refused because MD5 can be forged: "+
			"give image_os_hash_algo sha256, sha384 or sha512 with image_os_hash_value, or set allow_md5_checksum", field)
	}
	return i.invalid("image_os_hash_algo %q is not supported, valid are %s", algo, strings.Join(node.Hashes(), ", "))
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
