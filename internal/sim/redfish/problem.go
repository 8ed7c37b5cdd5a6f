package redfish

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
)

// Problem is a Redfish error: a message of the Base registry (DSP8011) and the
// HTTP status it comes with.
type Problem struct {
	Status  int
	Message string // name in the Base registry
	Args    []string
	Words   string // instead of the message's text
	ID      string // of a vendor's message, instead of the Base registry's; Words is its text, if it has one
	Code    string // of the error. Defaults to the message's id
	NoRetry bool   // a 503 without the header Retry-After
}

// messages are the texts, with %1, %2 for the arguments.
var messages = map[string]struct{ text, resolution string }{
	"GeneralError":                  {"A general error has occurred.", "See Resolution for information on how to resolve the error."},
	"ResourceMissingAtURI":          {"The resource at the URI '%1' was not found.", "Place a valid resource at the URI or correct the URI and resubmit the request."},
	"NoValidSession":                {"There is no valid session established with the implementation.", "Establish a session before attempting any operations."},
	"PropertyUnknown":               {"The property '%1' is not in the list of valid properties for the resource.", "Remove the unknown property from the request body and resubmit the request."},
	"PropertyNotWritable":           {"The property '%1' is a read-only property and cannot be assigned a value.", "Remove the property from the request body and resubmit the request."},
	"PropertyValueNotInList":        {"The value '%1' for the property '%2' is not in the list of acceptable values.", "Choose a value from the enumeration list and resubmit the request."},
	"PropertyValueOutOfRange":       {"The value '%1' for the property '%2' is not in the supported range of acceptable values.", "Correct the value for the property in the request body and resubmit the request."},
	"PropertyValueTypeError":        {"The value '%1' for the property '%2' is not a type that the property can accept.", "Correct the value for the property in the request body and resubmit the request."},
	"PropertyValueFormatError":      {"The value '%1' for the property '%2' is not a format that the property can accept.", "Correct the value for the property in the request body and resubmit the request."},
	"ResourceAlreadyExists":         {"The requested resource of type %1 with the property '%2' with the value '%3' already exists.", "Do not repeat the create operation as the resource has already been created."},
	"ActionParameterMissing":        {"The action '%1' requires the parameter '%2' to be present in the request body.", "Supply the action with the required parameter."},
	"ActionParameterUnknown":        {"The action '%1' was submitted with the invalid parameter '%2'.", "Correct the invalid parameter and resubmit the request."},
	"ActionParameterValueConflict":  {"The parameter '%1' with the requested value of '%2' does not meet the constraints of the implementation.", "Resubmit the request with a value that meets the constraints."},
	"PropertyMissing":               {"The property '%1' is a required property and must be included in the request.", "Include the property and resubmit the request."},
	"ActionParameterValueNotInList": {"The value '%1' for the parameter '%2' in the action '%3' is not in the list of acceptable values.", "Choose a value from the enumeration list and resubmit the request."},
	"ActionParameterValueTypeError": {"The value '%1' for the parameter '%2' in the action '%3' is not a type that the parameter can accept.", "Correct the value for the parameter and resubmit the request."},
	"PreconditionFailed":            {"The ETag supplied did not match the ETag required to change this resource.", "Try the operation again using the appropriate ETag."},
	"ServiceTemporarilyUnavailable": {"The service is temporarily unavailable. Retry in %1 seconds.", "Wait for the indicated retry duration and retry the operation."},
	"SessionLimitExceeded":          {"The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.", "Reduce the number of other sessions before trying to establish the session."},
	"ResourceInUse":                 {"The change to the requested resource failed because the resource is in use or in transition.", "Remove the condition and resubmit the request if the operation failed."},
	"MalformedJSON":                 {"The request body submitted was malformed JSON and could not be parsed by the receiving service.", "Ensure that the request body is valid JSON and resubmit the request."},
	"OperationNotAllowed":           {"The HTTP method is not allowed on this resource.", "None."},
	"QueryNotSupported":             {"Querying is not supported by the implementation.", "Remove the query parameters and resubmit the request."},
	"ActionNotSupported":            {"The action %1 is not supported by the resource in its present state.", "The action supplied cannot be resubmitted to the implementation."},
	"CouldNotEstablishConnection":   {"The service failed to establish a connection with the URI '%1': %2", "Ensure that the URI contains a valid and reachable node name, protocol information and other URI components."},
}

func problem(status int, message string, args ...string) *Problem {
	return &Problem{Status: status, Message: message, Args: args}
}

// saying sets a text that is not in the registry. As with sushy-tools, it appears in
// error.message only.
func (p *Problem) saying(words string) *Problem {
	p.Words = words
	return p
}

// Error is the message's text.
func (p *Problem) Error() string {
	if p.Words != "" {
		return p.Words
	}
	text := messages[p.Message].text
	for i, a := range p.Args {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", i+1), a)
	}
	return text
}

func (p *Problem) write(w http.ResponseWriter) {
	if p.Status == http.StatusServiceUnavailable && !p.NoRetry && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	args := make([]any, len(p.Args))
	for i, a := range p.Args {
		args[i] = a
	}
	if p.ID != "" {
		p.writeVendor(w, args)
		return
	}
	id := "Base.1.17." + p.Message
	info := m{"@odata.type": "#Message.v1_1_2.Message", "MessageId": id}
	if p.Words == "" {
		info["Message"], info["MessageArgs"] = p.Error(), args
		info["MessageSeverity"], info["Resolution"] = "Warning", messages[p.Message].resolution
	}
	reply{status: p.Status, body: m{"error": m{
		"code": id, "message": p.Error(), "@Message.ExtendedInfo": []any{info},
	}}}.write(w)
}

// vendor returns a problem with a message of a vendor's registry. words may be empty: some
// BMCs send ids only.
func vendor(status int, id, words string, args ...string) *Problem {
	return &Problem{Status: status, ID: id, Words: words, Args: args}
}

func (p *Problem) writeVendor(w http.ResponseWriter, args []any) {
	info := m{"MessageId": p.ID, "MessageArgs": args}
	if p.Words != "" {
		info["Message"], info["Severity"] = p.Words, "Warning"
	}
	reply{status: p.Status, body: m{"error": m{
		"code": cmp.Or(p.Code, "Base.1.17.GeneralError"), "message": "See @Message.ExtendedInfo for more information.",
		"@Message.ExtendedInfo": []any{info},
	}}}.write(w)
}
