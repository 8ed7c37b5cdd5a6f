package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Operation is an operation as /temper/v1 shows it.
type Operation struct {
	document
	ID           string     `json:"id"`
	NodeUUID     string     `json:"node_uuid"`
	NodeName     string     `json:"node_name"`
	Kind         string     `json:"kind"`
	State        string     `json:"state"`   // accepted, running, waiting, paused, holding, undoing, cancelling, ended
	Outcome      string     `json:"outcome"` // "", succeeded, failed, cancelled
	Error        string     `json:"error"`
	Cause        string     `json:"cause"`         // "" exactly if Error is
	Repeats      int        `json:"repeats"`       // how many failures before it, in a row, were the same
	RepeatsSince *time.Time `json:"repeats_since"` // when the first of them was accepted
	RequestedBy  string     `json:"requested_by"`
	AcceptedAt   *time.Time `json:"accepted_at"`
	BegunAt      *time.Time `json:"begun_at"`
	EndedAt      *time.Time `json:"ended_at"`
	WorkflowURL  string     `json:"workflow_url"`
	Conductor    string     `json:"conductor"`
	WaitingFor   string     `json:"waiting_for"`
	WaitingUntil *time.Time `json:"waiting_until"`
	AtLimit      string     `json:"at_limit"`       // what happens at WaitingUntil if what it waits for has not come; "" = it has no limit
	UsualUntil   *time.Time `json:"usual_until"`    // after this its current step takes unusually long; nil = not known
	PastUsual    bool       `json:"past_usual"`     // its current step takes unusually long
	Usual        string     `json:"usual"`          // how long its current step has run and usually takes; "" = no step runs, or it is not known
	StepWait     *StepWait  `json:"step_wait"`      // what its running step waits for; nil = not known
	Pause        *Pause     `json:"temporal_pause"` // nil = not paused in Temporal
	Asked        string     `json:"asked"`          // what somebody requested of it: cancel, abort, delete, unhold, power
	AskedBy      string     `json:"asked_by"`
	AskedReason  string     `json:"asked_reason"`
	RetryOf      string     `json:"retry_of"`
	OnFailure    string     `json:"on_failure"` // fail, hold
	Choices      []string   `json:"choices"`    // which decisions are possible now; empty if it waits for none
	Decisions    []Ruling   `json:"decisions"`
	Steps        []Step     `json:"steps"`
}

// StepWait is what a running step waits for.
type StepWait struct {
	Sentence string     `json:"sentence"` // without a full stop
	Until    *time.Time `json:"until"`    // when the step gives up, as the sentence says; nil = it does not
}

// Pause is a pause that somebody has set in Temporal.
type Pause struct {
	What   string     `json:"what"` // workflow, activity
	At     *time.Time `json:"at"`
	By     string     `json:"by"`
	Reason string     `json:"reason"`
}

// Ruling is a decision about a step that failed.
type Ruling struct {
	At     *time.Time `json:"at"`
	Action string     `json:"action"` // retry, skip, abort
	By     string     `json:"by"`
	Reason string     `json:"reason"`
	Step   string     `json:"step"`
	Error  string     `json:"error"`
}

// Step is a step of an operation.
type Step struct {
	Index     int        `json:"index"`
	Interface string     `json:"interface"`
	Step      string     `json:"step"`
	State     string     `json:"state"` // pending, running, waiting, done, failed, skipped, cancelled
	Attempts  int        `json:"attempts"`
	Failures  int        `json:"failures"`
	Limit     int        `json:"limit"` // how often it may fail; 0 = it was not begun
	Conductor string     `json:"conductor"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	LastError string     `json:"last_error"`
	Cause     string     `json:"cause"` // of LastError
	Note      string     `json:"note"`  // why it was skipped or begun anew
	Expectation
}

// Expectation is how long a step usually takes.
type Expectation struct {
	ExpectedSeconds *float64 `json:"expected_seconds"` // 95 % took no longer; nil = not known
	ExpectedSamples int      `json:"expected_samples"` // how many steps that was computed from
	ExpectedBasis   string   `json:"expected_basis"`   // of which steps: image, model, step
}

// UnmarshalJSON reads an operation and keeps the answer.
func (o *Operation) UnmarshalJSON(raw []byte) error {
	type plain Operation
	err := jsonvalue.Unmarshal(raw, (*plain)(o))
	o.document = keep(raw)
	return err
}

// The states, outcomes and requests that this program acts on.
const (
	Ended     = "ended"
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
	AskPower  = "power"
)

// Ended reports whether the operation is over.
func (o *Operation) Ended() bool { return o.State == Ended }

// Label returns the name of the operation's node, or its uuid if it has none.
func (o *Operation) Label() string {
	if o.NodeName != "" {
		return o.NodeName
	}
	return o.NodeUUID
}

// Current returns the first step that is neither done nor skipped: the one that is next, runs, or
// has failed. nil = there is none.
func (o *Operation) Current() *Step {
	for i := range o.Steps {
		if s := o.Steps[i].State; s != "done" && s != "skipped" {
			return &o.Steps[i]
		}
	}
	return nil
}

// FailureLimit returns how often the step may fail before it has failed for good. 0 = it has not begun, or it has failed for good
// sooner, because of a failure that is not tried again.
func (s Step) FailureLimit() int {
	if s.State == "failed" && s.Failures < s.Limit {
		return 0
	}
	return s.Limit
}

// Name returns "interface.step".
func (s Step) Name() string { return s.Interface + "." + s.Step }

// OperationFilter picks operations; "" = all.
type OperationFilter struct {
	Node    string // name or uuid
	Deleted bool   // only operations of deleted nodes
	Kind    string
	State   string // or an outcome
	Outcome string
	// Conductor is who works on it, or has worked on it last.
	Conductor string
	Since     time.Time // when it was accepted at the earliest; zero = whenever
	Cause     string
	// Fold leaves out failures that were repeated in a row. The last of them has their number.
	Fold bool
}

// Operations lists at most limit operations (0 = DefaultLimit), newest first.
func (c *Client) Operations(ctx context.Context, f OperationFilter, limit int) (List[Operation], error) {
	q := url.Values{}
	for name, v := range map[string]string{"node": f.Node, "kind": f.Kind, "state": f.State, "outcome": f.Outcome, "conductor": f.Conductor, "cause": f.Cause} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Deleted {
		q.Set("deleted", "true")
	}
	if f.Fold {
		q.Set("fold", "true")
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	return pages[Operation](ctx, c, "/temper/v1/operations", q, "operations", limit)
}

// Operation returns an operation by its id.
func (c *Client) Operation(ctx context.Context, id string) (*Operation, error) {
	var o Operation
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/operations/" + segment(id)}, &o)
	return &o, err
}

// Moment is something that happened to an operation.
type Moment struct {
	At    *time.Time `json:"at"`
	Until *time.Time `json:"until"` // when it had ended, if it has a duration
	What  string     `json:"what"`
	Text  string     `json:"text"`
}

// Timeline returns everything that happened to an operation, oldest first.
func (c *Client) Timeline(ctx context.Context, id string) ([]Moment, error) {
	var out struct {
		Timeline []Moment `json:"timeline"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/operations/" + segment(id) + "/timeline"}, &out)
	return out.Timeline, err
}

// CancelOperation cancels an operation, which then undoes what it left half done.
func (c *Client) CancelOperation(ctx context.Context, id, reason string) (*Operation, error) {
	var o Operation
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/operations/" + segment(id) + "/cancel",
		body: map[string]string{"reason": reason},
	}, &o)
	return &o, err
}

// UnpauseOperation unpauses an operation that somebody has paused in Temporal.
func (c *Client) UnpauseOperation(ctx context.Context, id, reason string) (*Operation, error) {
	var o Operation
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/operations/" + segment(id) + "/unpause", body: map[string]string{"reason": reason},
	}, &o)
	return &o, err
}

// The decisions.
const (
	Retry = "retry"
	Skip  = "skip"
	Abort = "abort"
)

// Decide decides about the step at which an operation holds: Retry, Skip or Abort. It returns when the operation has taken the
// decision.
func (c *Client) Decide(ctx context.Context, id, action, reason string) (*Operation, error) {
	var o Operation
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/operations/" + segment(id) + "/decision",
		body: map[string]string{"action": action, "reason": reason},
	}, &o)
	return &o, err
}

// RetryOperation retries an operation that has ended, and returns the new operation. If the operation holds at a step, it
// retries that step.
func (c *Client) RetryOperation(ctx context.Context, id, reason string) (*Operation, error) {
	var o Operation
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/operations/" + segment(id) + "/retry", body: map[string]string{"reason": reason},
	}, &o)
	return &o, err
}

// LostTemporal confirms that Temporal has lost its data. Reconciliation then ends all operations that Temporal does not know,
// however many they are.
func (c *Client) LostTemporal(ctx context.Context, reason string) error {
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/operations/recover", body: map[string]any{"lost_temporal": true, "reason": reason},
	}, nil)
	return err
}

// Recovery says which operation holds a node, and what was done about it.
type Recovery struct {
	document
	Operation string   `json:"operation"`
	Kind      string   `json:"kind"`
	Workflow  string   `json:"workflow"`
	Alive     bool     `json:"alive"`
	Next      string   `json:"next"`
	Done      string   `json:"done"`    // how it was ended, or would be without DryRun; "" = it is not
	Effects   []string `json:"effects"` // what ending it does, in clauses
	Why       string   `json:"why"`
}

// UnmarshalJSON reads a recovery and keeps the answer.
func (r *Recovery) UnmarshalJSON(raw []byte) error {
	type plain Recovery
	err := jsonvalue.Unmarshal(raw, (*plain)(r))
	r.document = keep(raw)
	return err
}

// Recover says which operation holds a node, and ends it if it is orphaned, or with force even if it is alive. A dry run ends nothing.
func (c *Client) Recover(ctx context.Context, ident string, force, dryRun bool, reason string) (*Recovery, error) {
	var r Recovery
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/nodes/" + segment(ident) + "/recover",
		body: map[string]any{"force": force, "reason": reason, "dry_run": dryRun},
	}, &r)
	return &r, err
}

// Waiver is what was waived of what a node owed.
type Waiver struct {
	document
	Waived []string `json:"waived"`
}

// UnmarshalJSON reads it and keeps the answer.
func (w *Waiver) UnmarshalJSON(raw []byte) error {
	type plain Waiver
	err := jsonvalue.Unmarshal(raw, (*plain)(w))
	w.document = keep(raw)
	return err
}

// Waive waives what a node owes, so that it is not undone.
func (c *Client) Waive(ctx context.Context, ident, reason string) (*Waiver, error) {
	var w Waiver
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/temper/v1/nodes/" + segment(ident) + "/waive", body: map[string]any{"reason": reason}}, &w)
	return &w, err
}

// Why explains what a node is doing, and what the user can do.
type Why struct {
	document
	Brief    []string `json:"brief"` // three lines
	Text     string   `json:"text"`
	Commands []string `json:"commands"` // of the user; Text ends with them
}

// UnmarshalJSON reads it and keeps the answer.
func (w *Why) UnmarshalJSON(raw []byte) error {
	type plain Why
	err := jsonvalue.Unmarshal(raw, (*plain)(w))
	w.document = keep(raw)
	return err
}

// Why explains what a node is doing, what it waits for, and what the user can do.
func (c *Client) Why(ctx context.Context, ident string) (*Why, error) {
	var w Why
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/nodes/" + segment(ident) + "/why"}, &w)
	return &w, err
}

// Newer reports whether operation a was accepted after operation b. Ids grow.
func Newer(a, b string) bool {
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	return err1 == nil && err2 == nil && x > y
}
