//go:build linux

package imagewriter

import (
	"encoding/binary"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
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

// Offsets in the header of a qcow2 image, and limits of what is in it (QEMU, docs/interop/qcow2.txt).
const (
	qcowBacking   = 8
	qcowClusters  = 20
	qcowSize      = 24
	qcowCrypt     = 32
	qcowL1Entries = 36
	qcowFeatures  = 72
	qcowHeader    = 104

	featureCorrupt  = 1 << 1
	featureDataFile = 1 << 2
	featureKnown    = 1<<0 | 1<<3 // not closed properly, which concerns the counts of references; and the kind of compression
	maxL1Bytes      = 32 << 20    // QEMU's own limit
)

// checkQCOW2 returns the size of the disk in a qcow2 image. It refuses images that refer to other files, are encrypted or damaged, or
// whose tables can't be what they say: nothing that is read of the image may lead out of it.
func checkQCOW2(first []byte) (size int64, err error) {
	if len(first) < qcowHeader {
		return 0, failure.InvalidImage("Security: Image failed safety check: the qcow2 header is cut off")
	}
	be := binary.BigEndian
	version, bits := be.Uint32(first[4:]), be.Uint32(first[qcowClusters:])
	var features uint64
	if version >= 3 {
		features = be.Uint64(first[qcowFeatures:])
	}
	virtual, l1 := be.Uint64(first[qcowSize:]), uint64(be.Uint32(first[qcowL1Entries:]))
	why := ""
	switch {
	case version != 2 && version != 3:
		why = "it is of a version other than 2 and 3"
	case be.Uint64(first[qcowBacking:]) != 0:
		why = "it has a backing file"
	case features&featureDataFile != 0:
		why = "its data are in another file"
	case be.Uint32(first[qcowCrypt:]) != 0:
		why = "it is encrypted"
	case features&featureCorrupt != 0:
		why = "it is marked as corrupt; check it with qemu-img check"
	case features&^(featureKnown|featureCorrupt|featureDataFile) != 0:
		why = "it uses features that are not known here, for example extended L2 entries; convert it with qemu-img convert"
	case bits < 9 || bits > 21:
		why = "its clusters have a size that is not allowed"
	case virtual == 0 || virtual > 1<<62:
		why = "its size is not possible"
	case l1*8 > maxL1Bytes || l1 < (virtual+1<<(2*bits-3)-1)>>(2*bits-3):
		why = "its tables don't fit its size"
	}
	if why != "" {
		return 0, failure.InvalidImage("Security: Image failed safety check: %s", why)
	}
	return int64(virtual), nil
}
