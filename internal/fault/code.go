package fault

import (
	"errors"
	"fmt"
)

// Code tells programs what is wrong, in every error of the API. Texts may change, codes stay. Codes is
// the table of them.
type Code string

// The codes. Codes says what each means.
const (
	InternalError        Code = "internal_error"
	InvalidRequest       Code = "invalid_request"
	ImageInvalid         Code = "image_invalid"
	ValidationFailed     Code = "validation_failed"
	NotSupported         Code = "not_supported"
	SecretRequired       Code = "secret_required"
	UnknownState         Code = "unknown_state"
	NodeInMaintenance    Code = "node_in_maintenance"
	StateNotAllowed      Code = "state_not_allowed"
	AlreadyInState       Code = "already_in_state"
	Unauthenticated      Code = "unauthorized"
	TooManyPasswords     Code = "too_many_passwords"
	ForbiddenRequest     Code = "forbidden"
	NodeProtected        Code = "node_protected"
	CrossOrigin          Code = "cross_origin"
	UnknownHost          Code = "unknown_host"
	ResourceNotFound     Code = "not_found"
	NodeNotFound         Code = "node_not_found"
	PortNotFound         Code = "port_not_found"
	ConductorNotFound    Code = "conductor_not_found"
	OperationNotFound    Code = "operation_not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	VersionNotSupported  Code = "version_not_supported"
	RequestConflict      Code = "conflict"
	NodeLocked           Code = "node_locked"
	NodeInTransition     Code = "node_in_transition"
	AlreadyExists        Code = "already_exists"
	OperationEnded       Code = "operation_ended"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	NoDecisionAwaited    Code = "no_decision_awaited"
	ClaimLost            Code = "claim_lost"
	BodyTooLarge         Code = "body_too_large"
	NoConductor          Code = "no_conductor"
	NoConductorAlive     Code = "no_conductor_alive"
	ServiceUnavailable   Code = "unavailable"
	DatabaseUnavailable  Code = "database_unavailable"
	TemporalUnavailable  Code = "temporal_unavailable"
	WorkflowEnded        Code = "workflow_ended"
	NoAnswerInTime       Code = "unreachable"
	RequestBusy          Code = "busy"
	TooManyBodies        Code = "too_many_bodies"
	RequestRefused       Code = "refused"
	CredentialsDenied    Code = "credentials_denied"
	NotTrusted           Code = "certificate_not_trusted"
	UnknownOutcome       Code = "outcome_unknown"
)

// CodeMeaning is a line of Codes.
type CodeMeaning struct {
	Code    Code
	Kind    Kind   // of the errors that Coded makes with the code
	Meaning string // a sentence for people
}

// Codes is the table of all codes. The first line of a kind is the code for errors of this kind that
// have no code of their own.
var Codes = []CodeMeaning{
	{InternalError, Internal, "Something is wrong inside Temper. Its log says what."},
	{InvalidRequest, Invalid, "The request is wrong."},
	{ImageInvalid, Invalid, "The image that instance_info names is incomplete or can't be used."},
	{ValidationFailed, Invalid, "The node lacks something that the work needs, or has it wrong."},
	{NotSupported, Invalid, "The node's driver does not support this."},
	{SecretRequired, Invalid, "The request changes where a stored secret is sent, and does not contain the secret."},
	{UnknownState, Invalid, "There is no provision state of this name."},
	{NodeInMaintenance, Invalid, "The node is in maintenance."},
	{StateNotAllowed, NotAllowed, "The state of the node or of its operation does not allow this."},
	{AlreadyInState, NotAllowed, "The node is already in the state that the request would lead to."},
	{Unauthenticated, Unauthorized, "The request has no valid name and password."},
	{TooManyPasswords, Unauthorized, "Too many wrong passwords came from this address. Try again later."},
	{ForbiddenRequest, Forbidden, "The request is not permitted."},
	{NodeProtected, Forbidden, "The node is protected."},
	{CrossOrigin, Forbidden, "A browser sent the request for a web page of another origin."},
	{UnknownHost, Forbidden, "The Host header names a host that this listener does not have."},
	{ResourceNotFound, NotFound, "The resource does not exist."},
	{NodeNotFound, NotFound, "The node does not exist."},
	{PortNotFound, NotFound, "The port does not exist."},
	{ConductorNotFound, NotFound, "The conductor does not exist."},
	{OperationNotFound, NotFound, "The operation does not exist."},
	{MethodNotAllowed, NotAllowed, "The resource does not have this method."},
	{VersionNotSupported, NotAcceptable, "The microversion is not served, or does not have what was asked for."},
	{RequestConflict, Conflict, "The request conflicts with what is there."},
	{NodeLocked, Conflict, "An operation holds the node."},
	{NodeInTransition, Conflict, "The node can't be changed while an operation moves it to another state."},
	{AlreadyExists, Conflict, "Something else has this name, address or uuid."},
	{OperationEnded, Conflict, "The operation has ended."},
	{IdempotencyKeyReused, Conflict, "The idempotency key was used for another request."},
	{NoDecisionAwaited, Conflict, "The operation does not wait for a decision."},
	{ClaimLost, Lost, "Somebody else works on the operation now."},
	{BodyTooLarge, TooLarge, "The request body is too large."},
	{NoConductor, NoValidHost, "No live conductor covers the node."},
	{ServiceUnavailable, Unavailable, "Something that the request needs is away. Try again."},
	{NoConductorAlive, Unavailable, "No conductor is alive and takes work."},
	{DatabaseUnavailable, Unavailable, "The database is away or busy."},
	{TemporalUnavailable, Unavailable, "Temporal is away, or the workflow did not answer in time."},
	{WorkflowEnded, Unavailable, "The workflow of the operation has ended, so that nobody takes a decision. Reconciliation ends the operation within seconds. Then it can be retried."},
	{NoAnswerInTime, Unreachable, "Something that was asked did not answer in time."},
	{RequestBusy, Busy, "Something that was asked is busy. Try again."},
	{TooManyBodies, Busy, "Too many large requests are being read at once."},
	{RequestRefused, Refused, "The hardware refused the request."},
	{CredentialsDenied, Denied, "The hardware refused the credentials."},
	{NotTrusted, Untrusted, "A certificate does not verify."},
	{UnknownOutcome, OutcomeUnknown, "A request was sent, and it is not known whether it was carried out."},
}

// Meaning returns the meaning of c in Codes.
func (c Code) Meaning() string { return rowOf(c).Meaning }

func rowOf(c Code) CodeMeaning {
	for _, row := range Codes {
		if row.Code == c {
			return row
		}
	}
	return Codes[0]
}

// Coded returns an error with the code and of the code's kind. format and args are as in New.
func Coded(c Code, format string, args ...any) error {
	return CodedAs(rowOf(c).Kind, c, format, args...)
}

// CodedAs is Coded for an error of another kind than the code's.
func CodedAs(k Kind, c Code, format string, args ...any) error {
	return &Error{Kind: k, code: c, err: fmt.Errorf(format, args...)}
}

// CodeOf returns the code of the outermost error in err's chain that has one, else the code of err's
// kind.
func CodeOf(err error) Code {
	for at := err; at != nil; {
		var e *Error
		if !errors.As(at, &e) {
			break
		}
		if e.code != "" {
			return e.code
		}
		at = e.Unwrap()
	}
	k := KindOf(err)
	for _, row := range Codes {
		if row.Kind == k {
			return row.Code
		}
	}
	return InternalError
}
