// Package failure has the errors of the ramdisk agent, as its answers have them. The classes and texts are those of
// ironic-python-agent, because conductors tell causes by them and show them to people.
package failure

import (
	"errors"
	"fmt"
	"net/http"

	"go.temper.dev/temper/internal/agent"
)

// Error is an error of the agent: a class, the class's message, and details (ironic_python_agent/errors.py).
type Error struct {
	Class   string
	Status  int // of the HTTP answer, if a request is refused with it
	Message string
	Details string
}

func (e *Error) Error() string { return e.Message + ": " + e.Details }

// CommandError returns the error as it appears in a command's result.
func (e *Error) CommandError() *agent.CommandError {
	return &agent.CommandError{Type: e.Class, Code: e.Status, Message: e.Message, Details: e.Details}
}

func class(name string, status int, message string) func(format string, args ...any) *Error {
	return func(format string, args ...any) *Error {
		return &Error{name, status, message, fmt.Sprintf(format, args...)}
	}
}

// The classes in use.
var (
	InvalidImage = class("InvalidImage", http.StatusInternalServerError, "Error validating image")
	Any          = class("RESTError", http.StatusInternalServerError, "An error occurred")
	BadCommand   = class("InvalidCommandError", http.StatusBadRequest, "Invalid command")
	BadParams    = class("InvalidCommandParamsError", http.StatusBadRequest, "Invalid command parameters")
	NotFound     = class("RequestedObjectNotFoundError", http.StatusNotFound, "Not found")
	Execution    = class("CommandExecutionError", http.StatusInternalServerError, "Command execution failed")
	Busy         = class("AgentIsBusy", http.StatusConflict, "Agent is busy")
	NoMethod     = class("HardwareManagerMethodNotFound", http.StatusInternalServerError, "No HardwareManager found to handle method")
	Download     = class("ImageDownloadError", http.StatusInternalServerError, "Error downloading image")
	Checksum     = class("ImageChecksumError", http.StatusInternalServerError, "Error verifying image checksum")
	NotErased    = class("BlockDeviceEraseError", http.StatusInternalServerError, "Error erasing block device")
	Deployment   = class("DeploymentError", http.StatusInternalServerError, "Deploy step failed")
	NoDevice     = class("DeviceNotFound", http.StatusNotFound,
		"Error finding the disk or partition device to deploy the image onto")
	RAID         = class("SoftwareRAIDError", http.StatusInternalServerError, "Error with software RAID")
	OtherVersion = class("VersionMismatch", http.StatusConflict,
		"Hardware managers version mismatch, reload agent with correct version")
)

// As returns err as an Error. Any other error becomes an execution error.
func As(err error) *Error {
	var r *Error
	if errors.As(err, &r) {
		return r
	}
	return Execution("%s", err)
}
