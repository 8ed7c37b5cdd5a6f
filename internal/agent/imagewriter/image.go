//go:build linux

package imagewriter

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/qcow2"
)

// Image is what is written, and how it is verified.
type Image struct {
	ID   string
	URLs []string // tried in this order
	// Format is the declared one, raw or qcow2; "" = it is detected. A raw image may be compressed with gzip, xz or zstd.
	Format string
	// Permitted are the formats that may be detected; nil = raw and qcow2.
	Permitted     []string
	Algorithm     string // of the digest: sha256, sha512, ...
	Digest        string // of the file on the server, hexadecimal
	Authorization string // base64 of user:password, "" = none
	Proxies       map[string]string
	NoProxy       string
}

// defaultFormats are the formats that are written if the API names none (ironic-python-agent, config.py, permitted_image_formats).
var defaultFormats = []string{agent.FormatRaw, agent.FormatQCOW2}

// rawFormats are formats that are written as they are: a disk with a partition table or a bootable ISO.
var rawFormats = []string{agent.FormatRaw, agent.FormatGPT, agent.FormatISO}

// check decides, before anything is written, whether the image that begins with first is written as a qcow2 or a raw one. What is
// inside of a compressed file is checked the same way.
func (i Image) check(first []byte) (qcow2 bool, err error) {
	permitted := i.Permitted
	if permitted == nil {
		permitted = defaultFormats
	}
	found := agent.DetectFormats(first)
	if raw := !slices.ContainsFunc(found, func(f string) bool { return !slices.Contains(rawFormats, f) }); raw {
		found = []string{agent.FormatRaw}
	}
	switch {
	case len(found) > 1:
		return false, failure.InvalidImage("Security: Unable to safety check image: it is %s at once", strings.Join(found, " and "))
	case i.Format != "" && i.Format != found[0]:
		return false, failure.InvalidImage("Security: Expected format was %s, but image was actually %s", i.Format, found[0])
	case i.Format == "" && !slices.Contains(permitted, found[0]):
		return false, failure.InvalidImage("Security: Detected image format was %s, but only %s are allowed", found[0], strings.Join(permitted, ", "))
	case found[0] != agent.FormatRaw && found[0] != agent.FormatQCOW2:
		return false, failure.InvalidImage("Security: Detected image format was %s, but only raw and qcow2 can be written", found[0])
	}
	return found[0] == agent.FormatQCOW2, nil
}

// checkQCOW2 returns the size of the disk in a qcow2 image.
func checkQCOW2(first []byte) (size int64, err error) {
	if size, err = qcow2.Check(first); err != nil {
		return 0, failure.InvalidImage("Security: Image failed safety check: %s", err)
	}
	return size, nil
}
