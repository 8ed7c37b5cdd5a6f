package temper

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// shownOperation is an operation in the shape of /temper/v1.
type shownOperation struct {
	ID           string             `json:"id"`
	NodeUUID     string             `json:"node_uuid"`
	NodeName     *string            `json:"node_name"`
	Kind         node.OperationKind `json:"kind"`
	State        node.Phase         `json:"state"`
	Outcome      any                `json:"outcome"`
	Error        any                `json:"error"`
	Cause        any                `json:"cause"`
	RequestedBy  any                `json:"requested_by"`
	AcceptedAt   any                `json:"accepted_at"`
	BegunAt      any                `json:"begun_at"`
	EndedAt      any                `json:"ended_at"`
	WorkflowID   string             `json:"workflow_id"`
	RunID        any                `json:"run_id"`
	WorkflowURL  any                `json:"workflow_url"`
	Conductor    any                `json:"conductor"`
	WaitingFor   any                `json:"waiting_for"`
	WaitingUntil any                `json:"waiting_until"`
	AtLimit      any                `json:"at_limit"`
	UsualUntil   any                `json:"usual_until"`
	PastUsual    bool               `json:"past_usual"`
	Usual        any                `json:"usual"`
	StepWait     any                `json:"step_wait"`
	Pause        any                `json:"temporal_pause"`
	Asked        any                `json:"asked"`
	AskedBy      any                `json:"asked_by"`
	AskedReason  any                `json:"asked_reason"`
	PowerTarget  any                `json:"power_target"`
	RetryOf      any                `json:"retry_of"`
	OnFailure    node.OnFailure     `json:"on_failure"`
	Choices      []node.Action      `json:"choices"`
	Decisions    []shownDecision    `json:"decisions"`
	Repeats      int64              `json:"repeats"`
	RepeatsSince any                `json:"repeats_since"`
	Steps        []shownOpsStep     `json:"steps"`
}

// shownPause is a pause that was set in Temporal.
type shownPause struct {
	What   node.PauseOf `json:"what"`
	At     any          `json:"at"`
	By     any          `json:"by"`
	Reason any          `json:"reason"`
}

// shownDecision is a decision about a step that failed.
type shownDecision struct {
	At     any         `json:"at"`
	Action node.Action `json:"action"`
	By     any         `json:"by"`
	Reason any         `json:"reason"`
	Step   string      `json:"step"`
	Error  any         `json:"error"`
}

type shownOpsStep struct {
	Index     int            `json:"index"`
	Interface string         `json:"interface"`
	Step      string         `json:"step"`
	Priority  int            `json:"priority"`
	State     node.StepState `json:"state"`
	Attempts  int            `json:"attempts"`
	Failures  int            `json:"failures"`
	Limit     any            `json:"limit"` // null = nobody has begun it
	Conductor any            `json:"conductor"`
	StartedAt any            `json:"started_at"`
	EndedAt   any            `json:"ended_at"`
	LastError any            `json:"last_error"`
	Cause     any            `json:"cause"` // of LastError; for a step that was ended, why it took unusually long
	Note      any            `json:"note"`
	Deaths    []shownDeath   `json:"deaths"`
	NotBefore any            `json:"not_before"` // null = it is not put off
	PutOffs   int            `json:"put_offs"`
	Restarts  int            `json:"restarts"`
	// Subscription is what the step has created.
	Subscription *node.EventSubscription `json:"subscription,omitempty"`
	expectation
}

// shownDeath is a conductor that died of a step.
type shownDeath struct {
	Conductor string `json:"conductor"`
	At        any    `json:"at"`
}

// shownStepWait is what the running step of an operation waits for.
type shownStepWait struct {
	For      node.WaitFor `json:"for"`
	Subject  any          `json:"subject"`
	Sentence string       `json:"sentence"`
	Since    any          `json:"since"`
	Until    any          `json:"until"`
	Seen     any          `json:"seen"`
	Progress any          `json:"progress"`
}

// stepWaitOf returns what the running step of o waits for, nil if nothing is known. n is its node; nil = it was not read.
func stepWaitOf(o *node.Operation, n *node.Node, fl *intent.Fleet, system status.System, now time.Time) any {
	w := explain.Wait(o, explain.Beside{Node: n, Fleet: fl.All, System: system}, now)
	if w == nil {
		return nil
	}
	return shownStepWait{
		For: w.For, Subject: format.OrNull(w.Subject), Sentence: w.Sentence, Since: format.Timestamp(w.Since), Until: format.Timestamp(w.Until),
		Seen: seenOf(w), Progress: progressOf(w),
	}
}

// showOperation shows an operation that somebody has just changed.
func (s *Server) showOperation(o *node.Operation, fl *intent.Fleet) shownOperation {
	return s.showOperationIn(o, fl, status.System{})
}

// outageOf returns the parts of Temper if one of the operations has gone on for unusually long, so that they decide whether that is
// unusual, or if nobody has looked after one in time, so that they say why. Otherwise they are not asked, and nothing is known of them.
func (s *Server) outageOf(ctx context.Context, ops ...node.Operation) status.System {
	if slices.ContainsFunc(ops, func(o node.Operation) bool { return o.PastUsual(s.Now()) || explain.Unwatched(&o, s.Now()) }) {
		return s.system(ctx, false)
	}
	return status.System{}
}

// showOperationIn shows an operation while the parts of Temper are as system says.
func (s *Server) showOperationIn(o *node.Operation, fl *intent.Fleet, system status.System) shownOperation {
	facts := explain.Facts{Now: s.Now(), Fleet: fl.All, System: system}
	out := shownOperation{
		ID: strconv.FormatInt(o.ID, 10), NodeUUID: o.NodeUUID, Kind: o.Kind, State: o.State(),
		Outcome: format.OrNull(string(o.Outcome)), Error: format.OrNull(finding.OperationError(o)), Cause: format.OrNull(string(o.Cause)), RequestedBy: format.OrNull(o.RequestedBy),
		AcceptedAt: format.Timestamp(&o.AcceptedAt), BegunAt: format.Timestamp(o.BegunAt), EndedAt: format.Timestamp(o.EndedAt),
		WorkflowID: o.WorkflowID, RunID: format.OrNull(o.RunID), WorkflowURL: format.OrNull(s.WorkflowURL(o)),
		Conductor: format.OrNull(o.Conductor), WaitingFor: format.OrNull(fl.WaitingFor(o)), WaitingUntil: format.Timestamp(o.WaitingUntil), AtLimit: format.OrNull(explain.AtLimit(o, s.Now())),
		UsualUntil: format.Timestamp(o.UsualUntil), PastUsual: explain.PastUsual(o, facts), Usual: format.OrNull(explain.UsualTime(o, facts)),
		Asked: format.OrNull(string(o.Asked)), AskedBy: format.OrNull(o.AskedBy), AskedReason: format.OrNull(o.AskedReason),
		PowerTarget: format.OrNull(string(o.PowerTarget)), Steps: make([]shownOpsStep, 0, len(o.Steps)),
		OnFailure: cmp.Or(o.OnFailure, node.FailOnFailure), Choices: []node.Action{}, Decisions: []shownDecision{},
		Repeats: o.Repeats, RepeatsSince: format.Timestamp(o.RepeatsSince),
	}
	out.StepWait = stepWaitOf(o, nil, fl, system, s.Now())
	if p := o.TemporalPause; p != nil {
		out.Pause, out.WaitingUntil = shownPause{What: p.What, At: format.Timestamp(&p.At), By: format.OrNull(p.By), Reason: format.OrNull(p.Reason)}, nil
	}
	if st := o.Undecided(); st != nil {
		out.Choices = st.Choices()
	}
	for _, d := range o.Decisions {
		out.Decisions = append(out.Decisions, shownDecision{
			At: format.Timestamp(&d.At), Action: d.Action, By: format.OrNull(d.By), Reason: format.OrNull(d.Reason), Step: d.Step, Error: format.OrNull(d.Error),
		})
	}
	if o.NodeName != "" {
		out.NodeName = &o.NodeName
	}
	if o.RetryOf != 0 {
		out.RetryOf = strconv.FormatInt(o.RetryOf, 10)
	}
	for _, st := range o.Steps {
		out.Steps = append(out.Steps, shownOpsStep{
			Index: st.Index, Interface: st.Interface, Step: st.Step, Priority: st.Priority, State: st.State, Attempts: st.Attempts, Failures: st.Failures,
			Limit: format.NumberOrNull(st.Limit), Conductor: format.OrNull(st.Conductor), StartedAt: format.Timestamp(st.StartedAt), EndedAt: format.Timestamp(st.EndedAt), LastError: format.OrNull(st.LastError), Cause: format.OrNull(string(st.Cause)),
			Note: format.OrNull(st.Note), Deaths: shownDeaths(st.Deaths), NotBefore: format.Timestamp(st.NotBefore), PutOffs: st.PutOffs, Restarts: st.Restarts,
			Subscription: st.Subscription,
			expectation:  expected(st.Usual),
		})
	}
	return out
}

func shownDeaths(deaths []node.Death) []shownDeath {
	out := make([]shownDeath, 0, len(deaths))
	for _, d := range deaths {
		out = append(out, shownDeath{Conductor: d.Conductor, At: format.Timestamp(&d.At)})
	}
	return out
}

// states are the states of operations that clients see.
var states = func() (out []node.Phase) {
	for _, s := range node.OperationStates {
		out = append(out, s.Name)
	}
	return out
}()

// listOperations answers GET /temper/v1/operations, newest first.
func (s *Server) listOperations(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "node", "deleted", "kind", "state", "outcome", "cause", "conductor", "since", "fold", "limit", "marker")
	p, marker := q.PageByID(s.MaxLimit, "an operation")
	f := node.OperationFilter{Node: q.Node("node"), Kind: node.OperationKind(q.Word("kind")), Phase: node.Phase(q.Word("state")), Outcome: node.Outcome(q.Word("outcome")), Cause: fault.Code(q.Word("cause")), Limit: p.Limit, Marker: marker}
	if q.Has("kind") && !slices.Contains(node.Kinds(), f.Kind) {
		q.Fail("Kind \"%s\" is not valid, it is one of %v", format.Clip(string(f.Kind)), node.Kinds())
	}
	if q.Has("outcome") && !slices.Contains(node.Outcomes, f.Outcome) {
		q.Fail("Outcome \"%s\" is not valid, it is one of %v", format.Clip(string(f.Outcome)), node.Outcomes)
	}
	if q.Has("cause") && !slices.Contains(fault.Causes(), f.Cause) {
		q.Fail("Cause \"%s\" is not valid, it is one of %v", format.Clip(string(f.Cause)), fault.Causes())
	}
	// People see how an operation ended where they see the state of one that is
	// open, and ask for it by the same name.
	if ended := node.Outcome(f.Phase); slices.Contains(node.Outcomes, ended) {
		if f.Outcome != "" && f.Outcome != ended {
			q.Fail("State \"%s\" and outcome \"%s\" exclude each other", ended, f.Outcome)
		}
		f.Phase, f.Outcome = node.Ended, ended
	}
	if q.Has("state") && !slices.Contains(states, f.Phase) {
		q.Fail("State \"%s\" is not valid, it is one of %v, or as outcome of %v", format.Clip(string(f.Phase)), states, node.Outcomes)
	}
	if deleted := q.Boolean("deleted"); deleted != nil {
		f.Deleted = *deleted
	}
	if fold := q.Boolean("fold"); fold != nil {
		f.Fold = *fold
	}
	f.Conductor, f.Since, f.Only = q.Word("conductor"), q.Time("since"), httpd.View(c, access.OperationGet)
	if f.Only != nil && f.Conductor != "" {
		q.Fail("conductor is a filter for those who may read which conductor works")
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	if f.Only != nil && f.Node != "" { // also a name that only a deleted node or a foreign one has had does not exist for the client
		if _, err := s.Store.NodeOwners(c.Request.Context(), f.Node, f.Only); err != nil {
			return 0, nil, err
		}
	}
	ops, err := s.Store.Operations(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	if err := s.hideErrors(c, ops); err != nil {
		return 0, nil, err
	}
	system := s.outageOf(c.Request.Context(), ops...)
	return http.StatusOK, format.Collection[node.Operation]{
		Name: "operations", Path: "/temper/v1/operations", Marker: func(o *node.Operation) string { return strconv.FormatInt(o.ID, 10) },
		Show: func(o *node.Operation) any { return s.showOperationIn(o, fl, system) },
	}.Body(q, p, ops), nil
}

func operationID(c *gin.Context) (int64, error) {
	id, err := strconv.ParseInt(c.Param("operation"), 10, 64)
	if err != nil || id <= 0 {
		return 0, fault.Coded(fault.OperationNotFound, "Operation %s could not be found.", format.Clip(url.PathEscape(c.Param("operation"))))
	}
	return id, nil
}

// getOperation answers GET /temper/v1/operations/ID.
func (s *Server) getOperation(c *gin.Context) (int, any, error) {
	id, err := operationID(c)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.readOperation(c, id)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	system := s.outageOf(c.Request.Context(), *o)
	out := s.showOperationIn(o, fl, system)
	if w := o.LiveWait(); w.AsksBMC() || w != nil && w.For == node.WaitCall {
		if n, err := s.Store.Node(c.Request.Context(), o.NodeUUID); err == nil { // else nothing is said of what others have seen
			out.StepWait = stepWaitOf(o, n, fl, system, s.Now())
		}
	}
	return http.StatusOK, out, nil
}

// operationAndReason are those of a path and of a body with a reason only.
func operationAndReason(c *gin.Context) (int64, string, error) {
	in, err := format.ReadObject(c, format.MaxBody, "reason")
	if err != nil {
		return 0, "", err
	}
	reason := in.Reason()
	if in.Err != nil {
		return 0, "", in.Err
	}
	id, err := operationID(c)
	return id, reason, err
}

// cancelOperation answers POST /temper/v1/operations/ID/cancel: whatever it
// does, it stops, undoes and ends in the failed state. 409 when it has ended.
func (s *Server) cancelOperation(c *gin.Context) (int, any, error) {
	id, reason, err := operationAndReason(c)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.Operation(c.Request.Context(), id)
	if err != nil {
		return 0, nil, err
	}
	if err := permitEnd(c, o, reason); err != nil {
		return 0, nil, err
	}
	fl, err := s.Fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	o, err = s.Stop(c, id, fl, reason)
	if err != nil {
		return 0, nil, err
	}
	c.Header(intent.HeaderOperation, strconv.FormatInt(o.ID, 10))
	return s.acceptedOperation(c, o, fl)
}
