package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Command is the body of POST /v1/commands/?wait=true|false&agent_token=T.
type Command struct {
	Name   string          `json:"name"`   // "extension.command"
	Params json.RawMessage `json:"params"` // always an object
}

// The commands in use. A synchronous one has ended when the agent answers (Call). An
// asynchronous one runs on (Start); its result appears in the list of commands.
const (
	GetDeploySteps    = "deploy.get_deploy_steps"     // sync
	GetCleanSteps     = "clean.get_clean_steps"       // sync
	GetServiceSteps   = "service.get_service_steps"   // sync
	ExecuteDeployStep = "deploy.execute_deploy_step"  // async
	ExecuteCleanStep  = "clean.execute_clean_step"    // async
	GetPartitionUUIDs = "standby.get_partition_uuids" // sync
	GetHardwareInfo   = "poll.get_hardware_info"      // sync
	PowerOff          = "standby.power_off"           // async
	InstallBootloader = "image.install_bootloader"    // async
	CollectLogs       = "log.collect_system_logs"     // sync
	FinalizeRescue    = "rescue.finalize_rescue"      // sync; the agent answers, and then ends
)

// BareName returns a command's name without the extension, as the agent's list has it.
func BareName(name string) string {
	if _, bare, ok := strings.Cut(name, "."); ok {
		return bare
	}
	return name
}

// Status of a command.
type Status string

// The statuses. CleanVersionMismatch means that the steps were listed with other versions of
// the hardware managers; newer agents call it VersionMismatch.
const (
	Running              Status = "RUNNING"
	Succeeded            Status = "SUCCEEDED"
	Failed               Status = "FAILED"
	CleanVersionMismatch Status = "CLEAN_VERSION_MISMATCH"
	VersionMismatch      Status = "VERSION_MISMATCH"
)

// VersionsDiffer reports whether the steps must be listed again.
func (s Status) VersionsDiffer() bool { return s == CleanVersionMismatch || s == VersionMismatch }

// Result is a command in the agent's answers: to a POST, and in the list.
type Result struct {
	ID     string          `json:"id"`
	Name   string          `json:"command_name"` // without the extension
	Params json.RawMessage `json:"command_params"`
	Status Status          `json:"command_status"`
	Error  *CommandError   `json:"command_error"`
	Result json.RawMessage `json:"command_result"`
}

// CommandList is the answer to GET /v1/commands/, oldest first. The agent has it in memory
// only: a reboot empties it.
type CommandList struct {
	Commands []Result `json:"commands"`
}

// AgentStatus is the answer to GET /v1/status.
type AgentStatus struct {
	StartedAt float64 `json:"started_at"` // seconds since 1970
	Version   Text    `json:"version"`
}

// CommandError says why a command failed. It is an object, but a string from older agents
// and for some failures. Both are read; the object is written.
type CommandError struct {
	Type    string `json:"type,omitempty"`
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Details string `json:"details,omitempty"`
}

// UnmarshalJSON accepts an object with any fields. Any other value becomes the message.
func (e *CommandError) UnmarshalJSON(b []byte) error {
	var o struct {
		Type    Text   `json:"type"`
		Code    Number `json:"code"`
		Message Text   `json:"message"`
		Details Text   `json:"details"`
		Error   Text   `json:"error"` // a synchronous command that failed with a string
	}
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) || jsonvalue.Unmarshal(b, &o) != nil {
		*e = CommandError{Message: looseText(b)}
		return nil
	}
	*e = CommandError{Type: string(o.Type), Code: int(o.Code), Message: string(o.Message), Details: string(o.Details)}
	if e.Message == "" {
		e.Message = string(o.Error)
	}
	return nil
}

// Text returns the sentence to show: the details if there are any, as Ironic does.
func (e *CommandError) Text() string {
	switch {
	case e == nil:
		return "the agent gave no reason"
	case e.Details != "":
		return e.Details
	case e.Message != "":
		return e.Message
	case e.Type != "":
		return e.Type
	}
	return "the agent gave no reason"
}

// Fault is the body of an answer of 400 and above.
type Fault struct {
	Faultcode   string `json:"faultcode"` // "Client" or "Server"
	Faultstring string `json:"faultstring"`
}
