package ipa

import (
	"errors"
	"fmt"
	"net/http"

	"go.temper.dev/temper/internal/agent"
)

// restError is an error as the real agent words it: a class, the class's
// message, and details (ironic_python_agent/errors.py). Conductors show these
// words to people and tests match them.
type restError struct {
	class   string
	status  int
	message string
	details string
}

func (e *restError) Error() string { return e.message + ": " + e.details }

// wire is the error as it stands in a command's result.
func (e *restError) wire() *agent.CommandError {
	return &agent.CommandError{Type: e.class, Code: e.status, Message: e.message, Details: e.details}
}

func classed(class string, status int, message string) func(format string, args ...any) *restError {
	return func(format string, args ...any) *restError {
		return &restError{class, status, message, fmt.Sprintf(format, args...)}
	}
}

// The classes in use.
var (
	invalidImage   = classed("InvalidImage", http.StatusInternalServerError, "Error validating image")
	anyError       = classed("RESTError", http.StatusInternalServerError, "An error occurred")
	badCommand     = classed("InvalidCommandError", http.StatusBadRequest, "Invalid command")
	badParams      = classed("InvalidCommandParamsError", http.StatusBadRequest, "Invalid command parameters")
	notFound       = classed("RequestedObjectNotFoundError", http.StatusNotFound, "Not found")
	executionError = classed("CommandExecutionError", http.StatusInternalServerError, "Command execution failed")
	busy           = classed("AgentIsBusy", http.StatusConflict, "Agent is busy")
	noMethod       = classed("HardwareManagerMethodNotFound", http.StatusInternalServerError, "No HardwareManager found to handle method")
	downloadError  = classed("ImageDownloadError", http.StatusInternalServerError, "Error downloading image")
	checksumError  = classed("ImageChecksumError", http.StatusInternalServerError, "Error verifying image checksum")
	deployError    = classed("DeploymentError", http.StatusInternalServerError, "Deploy step failed")
	noDevice       = classed("DeviceNotFound", http.StatusNotFound,
		"Error finding the disk or partition device to deploy the image onto")
	otherVersion = classed("VersionMismatch", http.StatusConflict,
		"Hardware managers version mismatch, reload agent with correct version")
)

// asREST is err in the agent's words; what is none of them is an execution error.
func asREST(err error) *restError {
	var r *restError
	if errors.As(err, &r) {
		return r
	}
	return executionError("%s", err)
}
