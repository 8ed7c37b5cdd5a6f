package ipa

import (
	"encoding/binary"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// permittedFormats are the formats that the agent writes if the API does not name
// any (config.py, permitted_image_formats).
var permittedFormats = []string{agent.FormatRaw, agent.FormatQCOW2}

// prefixWriter keeps the first bytes that are written to it.
type prefixWriter struct{ b []byte }

func (h *prefixWriter) Write(b []byte) (int, error) {
	if room := agent.FormatBytes - len(h.b); room > 0 {
		h.b = append(h.b, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// checkFormat is the real agent's get_and_validate_image_format (disk_utils.py). An
// image whose format is given as raw is written as it is; every other one is inspected.
func (a *Agent) checkFormat(i agent.ImageInfo, first []byte) error {
	if i.DiskFormat == agent.FormatRaw {
		return nil
	}
	a.mu.Lock()
	permitted := a.formats
	a.mu.Unlock()
	if permitted == nil {
		permitted = permittedFormats
	}
	found := agent.DetectFormats(first)
	switch {
	case len(found) > 1:
		return failure.InvalidImage("Security: Unable to safety check image")
	case !safe(found[0], first):
		return failure.InvalidImage("Security: Image failed safety check")
	case !slices.Contains(permitted, found[0]):
		return failure.InvalidImage("Security: Detected image format was %s, but only %s are allowed", found[0], strings.Join(permitted, ", "))
	case i.DiskFormat != "" && string(i.DiskFormat) != found[0]:
		return failure.InvalidImage("Security: Expected format was %s, but image was actually %s", i.DiskFormat, found[0])
	}
	return nil
}

// safe is safety_check of the agent's format inspectors: an image that refers to
// other files would make the agent read them.
func safe(format string, first []byte) bool {
	switch format {
	case "qed":
		return false
	case agent.FormatQCOW2:
		const backingFile, features, dataFile = 8, 72, 1 << 2
		if len(first) < features+8 {
			return false
		}
		return binary.BigEndian.Uint64(first[backingFile:]) == 0 && binary.BigEndian.Uint64(first[features:])&dataFile == 0
	}
	return true
}
