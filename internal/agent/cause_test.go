package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

// The words are those of ironic-python-agent (errors.py and extensions/standby.py) and of what it calls.
func TestTheAgentsWordsHaveACause(t *testing.T) {
	for details, want := range map[string]fault.Code{
		"Image failed to verify against checksum. location: /dev/sda; image ID: i; image checksum: 1; verification checksum: 2": fault.ImageDigestDiffers,
		"Download of image http://i/x failed: URL: http://i/x; time: 0.1 seconds. Error: Received status code 404":              fault.ImageUnreachable,
		"Download of image x failed: Timed out reading next chunk from webserver":                                               fault.ImageServerSlow,
		"('Connection broken: IncompleteRead(7 bytes read, 9 more expected)')":                                                  fault.ImageServerSlow,
		"Unable to write image to device /dev/sda. Error: [Errno 28] No space left on device":                                   fault.DiskTooSmall,
		"No suitable device was found for deployment using these hints {'serial': 'x'}":                                         fault.NoDiskFits,
		"Download of image x failed: SSLError: certificate verify failed":                                                       fault.ImageNotTrusted,
		"erase_devices: sda refused": fault.AgentCommandFailed,
	} {
		require.Equal(t, want, agent.CauseOf(&agent.CommandError{Type: "CommandExecutionError", Details: details}), details)
	}
	require.Equal(t, fault.AgentCommandFailed, agent.CauseOf(nil))
}
