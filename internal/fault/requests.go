package fault

// The codes of what the API refuses.
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
	DatabaseTimeout      Code = "database_timeout"
	RequestInDoubt       Code = "request_in_doubt"
	TemporalUnavailable  Code = "temporal_unavailable"
	DecisionUnconfirmed  Code = "decision_unconfirmed"
	WorkflowEnded        Code = "workflow_ended"
	NoAnswerInTime       Code = "unreachable"
	RequestBusy          Code = "busy"
	TooManyBodies        Code = "too_many_bodies"
	TooManyStreams       Code = "too_many_streams"
	RequestRefused       Code = "refused"
	CredentialsDenied    Code = "credentials_denied"
	NotTrusted           Code = "certificate_not_trusted"
	UnknownOutcome       Code = "outcome_unknown"
	OperationNotEnded    Code = "operation_not_ended"
)

// ofRequests are the rows of what the API refuses. The work on a node can fail of some of them, too.
var ofRequests = []CodeRow{
	{
		Code: InternalError, Kind: Internal, Cause: true, Meaning: "Something is wrong inside Temper. Its log says what.",
		Advise: "Look for the same time in the log of the process that answered, or of the conductor that the operation names. Report what it says.",
	},
	{
		Code: InvalidRequest, Kind: Invalid, Meaning: "The request is wrong.",
		Advise: "The error names the field and what it must be. Change the request.",
	},
	{
		Code: ImageInvalid, Can: []Do{SetImage}, Kind: Invalid, Cause: true, Meaning: "The image that instance_info names is incomplete or can't be used.",
		Flags:  "say which image with --image and --checksum",
		Advise: "Set the fields of instance_info that the error names: an http or https URL, and its digest.", Then: thenRetry,
		Fields: []string{"instance_info/image_source", "instance_info/image_checksum", "instance_info/image_os_hash_algo", "instance_info/image_os_hash_value", "instance_info/image_disk_format"},
	},
	{
		Code: ValidationFailed, Can: []Do{ValidateNode}, Kind: Invalid, Cause: true, Meaning: "The node lacks something that the work needs, or has it wrong.",
		Advise: "Validate the node: that names for each interface what is missing. Set it.", Then: thenRetry,
		Fields: []string{"driver_info", "instance_info", "properties"},
	},
	{
		Code: NotSupported, Kind: Invalid, Cause: true, Meaning: "The node's driver does not support this.",
		Advise: "Leave the step or request out, or give the node another driver or interface. docs/drivers.md says what each driver can do.",
		Fields: []string{"driver"},
	},
	{
		Code: SecretRequired, Kind: Invalid, Meaning: "The request changes where a stored secret is sent, and does not contain the secret.",
		Flags:  "--driver-info @FILE and --instance-info @FILE read secrets from a JSON file",
		Advise: "Send the secret again in the same request, or remove it. A stored password is never sent to another address than the one that it was given for.",
	},
	{
		Code: UnknownState, Kind: Invalid, Meaning: "There is no provision state of this name.",
		Advise: "Use one of the states that docs/lifecycle.md lists.",
	},
	{
		Code: NodeInMaintenance, Kind: Invalid, Meaning: "The node is in maintenance.",
		Advise: "End the maintenance when the work that it was set for is done. The node says who set it and why.",
		Fields: []string{"maintenance", "maintenance_reason"},
	},
	{
		Code: StateNotAllowed, Kind: NotAllowed, Meaning: "The state of the node or of its operation does not allow this.",
		Advise: "The answer's help names the way to a state in which it is allowed. docs/lifecycle.md has all transitions.",
		Fields: []string{"provision_state"},
	},
	{
		Code: AlreadyInState, Kind: NotAllowed, Meaning: "The node is already in the state that the request would lead to.",
		Advise: "Nothing has to be done.", Fields: []string{"provision_state"},
	},
	{
		Code: Unauthenticated, Kind: Unauthorized, Meaning: "The request has no valid name and password.",
		Flags:  "say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD",
		Advise: "Send the name and password of a user in the API's htpasswd file.",
	},
	{
		Code: TooManyPasswords, Kind: Unauthorized, Meaning: "Too many wrong passwords came from this address. Try again later.",
		Advise: "Find the client that sends the wrong password. The header Retry-After says when this address may try again.",
	},
	{
		Code: ForbiddenRequest, Kind: Forbidden, Meaning: "The request is not permitted.",
		Advise: "Use a user who may do this.",
	},
	{
		Code: NodeProtected, Kind: Forbidden, Meaning: "The node is protected.",
		Advise: "If the instance on it may really go, end the protection first.",
		Fields: []string{"protected", "protected_reason"},
	},
	{
		Code: CrossOrigin, Kind: Forbidden, Meaning: "A browser sent the request for a web page of another origin.",
		Advise: "Open the page from the API's own address.",
	},
	{
		Code: UnknownHost, Kind: Forbidden, Meaning: "The Host header names a host that this listener does not have.",
		Advise: "Use the name or address that the API was configured with.",
	},
	{
		Code: ResourceNotFound, Kind: NotFound, Meaning: "The resource does not exist.",
		Advise: "Check the address and the name in it.",
	},
	{
		Code: NodeNotFound, Can: []Do{ListNodes}, Kind: NotFound, Meaning: "The node does not exist.",
		Advise: "List the nodes. What is left of deleted nodes is in GET /temper/v1/nodes/deleted.",
	},
	{Code: PortNotFound, Can: []Do{ListPorts}, Kind: NotFound, Meaning: "The port does not exist.", Advise: "List the ports."},
	{Code: ConductorNotFound, Can: []Do{ListConductors}, Kind: NotFound, Meaning: "The conductor does not exist.", Advise: "List the conductors."},
	{Code: OperationNotFound, Can: []Do{ListOperations}, Kind: NotFound, Meaning: "The operation does not exist.", Advise: "List the operations."},
	{
		Code: MethodNotAllowed, Kind: NotAllowed, Meaning: "The resource does not have this method.",
		Advise: "Use a method that schemas/openapi.yaml lists for the resource.",
	},
	{
		Code: VersionNotSupported, Kind: NotAcceptable, Meaning: "The microversion is not served, or does not have what was asked for.",
		Flags:  "the API is older than this program: use the program of the API's version",
		Advise: "Ask for a microversion that GET / lists, or leave the header out. docs/compatibility.md says what each has.",
	},
	{
		Code: RequestConflict, Kind: Conflict, Meaning: "The request conflicts with what is there.",
		Advise: "Read the resource again, and decide whether the request still makes sense.",
	},
	{
		Code: NodeLocked, Kind: Conflict, Meaning: "An operation holds the node.",
		Advise: "Wait until the operation has ended, or end it. For the end of a short one, such as a change of power, the request itself has waited already (node_locked_wait).",
		Fields: []string{"reservation"},
	},
	{
		Code: NodeInTransition, Kind: Conflict, Meaning: "The node can't be changed while an operation moves it to another state.",
		Advise: "Wait until the operation has ended, or end it. While it holds for a decision, driver_info, instance_info and properties can be set.", Fields: []string{"provision_state"},
	},
	{
		Code: AlreadyExists, Kind: Conflict, Meaning: "Something else has this name, address or uuid.",
		Advise: "Use another one, or change what has it.",
	},
	{
		Code: OperationEnded, Kind: Conflict, Meaning: "The operation has ended.",
		Advise: "Look at the node: another operation may hold it now. An operation that failed can be retried.",
	},
	{
		Code: IdempotencyKeyReused, Kind: Conflict, Meaning: "The idempotency key was used for another request.",
		Advise: "Use a new key for a new request.",
	},
	{
		Code: NoDecisionAwaited, Kind: Conflict, Meaning: "The operation does not wait for a decision.",
		Advise: "Look at the operation: somebody may have decided already, or it runs.",
	},
	{
		Code: ClaimLost, Kind: Lost, Meaning: "Somebody else works on the operation now.",
		Advise: "Nothing has to be done: the newer owner goes on.",
	},
	{
		Code: BodyTooLarge, Kind: TooLarge, Meaning: "The request body is too large.",
		Advise: "Send less at once. A large config drive can be given as a URL.",
	},
	{
		Code: NoConductor, Can: []Do{ListConductors}, Kind: NoValidHost, Cause: true, Meaning: "No live conductor covers the node.",
		Advise: "Start a conductor of the node's group that has its driver and interfaces (temper conductor, with --conductor-group and --enabled-drivers), or give the node another group. Operations wait for one by themselves, up to wait_for_conductor; one that has failed can be retried afterwards.",
		Fields: []string{"conductor_group", "driver"},
	},
	{
		Code: ServiceUnavailable, Kind: Unavailable, Cause: true, Meaning: "Something that the request needs is away. Try again.",
		Advise: "Wait for what the error names, then try again.",
	},
	{
		Code: NoConductorAlive, Can: []Do{ListConductors}, Kind: Unavailable, Meaning: "No conductor is alive and takes work.",
		Advise: "Start a conductor (temper conductor). If some run, their logs say whether they reach Temporal and the database.",
	},
	{
		Code: DatabaseUnavailable, Kind: Unavailable, Cause: true, Meaning: "PostgreSQL is away or busy.",
		Advise: "Bring PostgreSQL back. Work that was accepted goes on by itself afterwards.",
	},
	{
		Code: DatabaseTimeout, Kind: Unavailable, Cause: true, Meaning: "PostgreSQL did not finish this in time.",
		Advise: "Try again. If it happens often, look in pg_stat_activity for what keeps PostgreSQL busy, or which transaction holds a lock.",
	},
	{
		Code: RequestInDoubt, Kind: Unavailable, Meaning: "The database went away, or took too long, while the request was being recorded, so that it may have been accepted.",
		Advise: "Send it again with the same idempotency key: it takes effect once. Without a key, list the operations of the node first.",
	},
	{
		Code: TemporalUnavailable, Kind: Unavailable, Cause: true, Meaning: "Temporal is away, or the workflow did not answer in time.",
		Advise: "Bring Temporal back: what was accepted is in the database, and goes on by itself afterwards. Don't recover nodes by force meanwhile.",
	},
	{
		Code: DecisionUnconfirmed, Kind: Unavailable, Meaning: "Temporal has not confirmed the decision in time. The step is held as before until the decision is taken, which may still happen when Temporal answers again.",
		Advise: "Bring Temporal back, then look whether the operation shows the decision. If it does not, decide again: the same decision, sent twice, is taken once.",
	},
	{
		Code: WorkflowEnded, Kind: Unavailable, Meaning: "The workflow of the operation has ended, so that nothing takes a decision. Reconciliation ends the operation within seconds.",
		Advise: "Wait some seconds, then retry the operation.",
	},
	{
		Code: NoAnswerInTime, Kind: Unreachable, Cause: true, Meaning: "Something that was asked did not answer in time.",
		Advise: "The error names it. Check that it runs and that it can be reached from the conductors.", Then: thenRetry,
	},
	{
		Code: RequestBusy, Kind: Busy, Cause: true, Meaning: "Something that was asked is busy. Try again.",
		Advise: "Try again later.",
	},
	{
		Code: TooManyBodies, Kind: Busy, Meaning: "Too many large requests are being read at once.",
		Advise: "Try again, with fewer requests at once.",
	},
	{
		Code: TooManyStreams, Kind: Busy, Meaning: "The API process, or the user, has as many event streams as the settings allow.",
		Advise: "Close streams that nobody reads, have several readers share one, or raise event_streams or event_streams_per_user.",
	},
	{
		Code: RequestRefused, Kind: Refused, Cause: true, Meaning: "The hardware refused the request.",
		Advise: "The error has the hardware's words. Mend what it names.", Then: thenRetry,
	},
	{
		Code: CredentialsDenied, Can: []Do{SetPassword}, Kind: Denied, Cause: true, Meaning: "The hardware refused the credentials.",
		Advise: "Set the right credentials.", Then: thenRetry, Fields: []string{"driver_info"},
	},
	{
		Code: NotTrusted, Kind: Untrusted, Cause: true, Meaning: "A certificate does not verify.",
		Advise: "Give the other side a certificate that verifies, or name its authority.", Then: thenRetry,
	},
	{
		Code: UnknownOutcome, Kind: OutcomeUnknown, Cause: true, Meaning: "A request was sent, and it is not known whether it was carried out.",
		Advise: "Look at the server: Temper sends such a request only once, and can't read whether it had its effect. If it has to be sent again, retry.",
	},
	{
		Code: OperationNotEnded, Kind: OutcomeUnknown, Meaning: "The request was accepted, and its operation has not ended within the time for an answer. The operation goes on.",
		Advise: "Watch the operation that the error names. Do not send the request again before it has ended.",
	},
}
