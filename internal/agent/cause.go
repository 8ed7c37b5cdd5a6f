package agent

import (
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// words are what ironic-python-agent and the programs that it calls say of failures that have a cause
// of their own, in lower case. The first that an error contains counts: "Download of image X failed"
// is followed by why it failed.
var words = []struct {
	words string
	cause fault.Code
}{
	{"failed to verify against checksum", fault.ImageDigestDiffers},
	{"unable to verify image", fault.ImageInvalid},
	{"no space left on device", fault.DiskTooSmall},
	{"not enough space", fault.DiskTooSmall},
	{"blockdeviceeraseerror", fault.DiskNotErased},
	{"too small for", fault.DiskTooSmall},
	{"no suitable device was found", fault.NoDiskFits},
	{"error finding the disk or partition device", fault.NoDiskFits},
	{"certificate verify failed", fault.ImageNotTrusted},
	{"timed out reading next chunk", fault.ImageServerSlow},
	{"incompleteread", fault.ImageServerSlow},
	{"read timed out", fault.ImageServerSlow},
	{"does not match the specified", fault.ImageFormatWrong},
	{"image format", fault.ImageFormatWrong},
	{"expected format was", fault.ImageFormatWrong},
	{"disk_format", fault.ImageFormatWrong},
	{"invalidimage", fault.ImageFormatWrong},
	{"config drive", fault.ConfigDriveInvalid},
	{"configdrive", fault.ConfigDriveInvalid},
	{"download of image", fault.ImageUnreachable},
	{"writing image to device", fault.ImageWriteFailed},
	{"write image to device", fault.ImageWriteFailed},
}

// CauseOf returns the cause of a command that failed with e.
func CauseOf(e *CommandError) fault.Code {
	if e == nil {
		return fault.AgentCommandFailed
	}
	text := strings.ToLower(strings.Join([]string{e.Type, e.Message, e.Details}, " "))
	for _, w := range words {
		if strings.Contains(text, w.words) {
			return w.cause
		}
	}
	return fault.AgentCommandFailed
}

// causes are the causes of requests that an agent does not carry out, by the kind of the error.
var causes = map[fault.Kind]fault.Code{
	fault.Unreachable: fault.AgentSilent,
	fault.Busy:        fault.AgentBusy,
	fault.Refused:     fault.AgentRefuses,
	fault.Denied:      fault.AgentRefuses,
	fault.Untrusted:   fault.AgentNotTrusted,
	fault.NotFound:    fault.AgentRefuses,
}

// failed returns an error about a request to an agent, with the cause for its kind.
func failed(k fault.Kind, format string, args ...any) error {
	if cause, known := causes[k]; known {
		return fault.CodedAs(k, cause, format, args...)
	}
	return fault.New(k, format, args...)
}
