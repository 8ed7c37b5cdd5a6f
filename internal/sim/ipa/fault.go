package ipa

import (
	"errors"
	"fmt"
	"net/http"

	"go.temper.dev/temper/internal/agent"
)

// restError is an error of the real agent: a class, the class's message, and details
// (ironic_python_agent/errors.py). The texts are those of the real agent, because
// conductors show them to people.
type restError struct {
	class   string
	status  int
	message string
	details string
}

func (e *restError) Error() string { return e.message + ": " + e.details }

// commandError returns the error as it appears in a command's result.
func (e *restError) commandError() *agent.CommandError {
	return &agent.CommandError{Type: e.class, Code: e.status, Message: e.message, Details: e.details}
}

func errorClass(class string, status int, message string) func(format string, args ...any) *restError {
	return func(format string, args ...any) *restError {
		return &restError{class, status, message, fmt.Sprintf(format, args...)}
	}
}

// The classes in use.
var (
	invalidImage   = errorClass("InvalidImage", http.StatusInternalServerError, "Error validating image")
	anyError       = errorClass("RESTError", http.StatusInternalServerError, "An error occurred")
	badCommand     = errorClass("InvalidCommandError", http.StatusBadRequest, "Invalid command")
	badParams      = errorClass("InvalidCommandParamsError", http.StatusBadRequest, "Invalid command parameters")
	notFound       = errorClass("RequestedObjectNotFoundError", http.StatusNotFound, "Not found")
	executionError = errorClass("CommandExecutionError", http.StatusInternalServerError, "Command execution failed")
	busy           = errorClass("AgentIsBusy", http.StatusConflict, "Agent is busy")
	noMethod       = errorClass("HardwareManagerMethodNotFound", http.StatusInternalServerError, "No HardwareManager found to handle method")
	downloadError  = errorClass("ImageDownloadError", http.StatusInternalServerError, "Error downloading image")
	checksumError  = errorClass("ImageChecksumError", http.StatusInternalServerError, "Error verifying image checksum")
	deployError    = errorClass("DeploymentError", http.StatusInternalServerError, "Deploy step failed")
	noDevice       = errorClass("DeviceNotFound", http.StatusNotFound,
		"Error finding the disk or partition device to deploy the image onto")
	otherVersion = errorClass("VersionMismatch", http.StatusConflict,
		"Hardware managers version mismatch, reload agent with correct version")
)

// asREST returns err as a restError. Any other error becomes an execution error.
func asREST(err error) *restError {
	var r *restError
	if errors.As(err, &r) {
		return r
	}
	return executionError("%s", err)
}
