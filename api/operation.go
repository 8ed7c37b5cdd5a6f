package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// headerOperation names the operation behind a 202.
const headerOperation = "Temper-Operation"

// started hands an operation that was just committed to whoever runs it. What
// fails here is lost time, never the request: reconciliation reads the row.
func (s *Server) started(c *gin.Context, o *node.Operation) {
	s.told(c, o, "start", s.Operations.Start)
}

// nudged tells a running operation that somebody asked for something. What is
// to stop is cancelled, so that a step at work hears of it, too; what is paused in
// Temporal is unpaused for what could not be done otherwise. Reconciliation repeats
// the same.
func (s *Server) nudged(c *gin.Context, o *node.Operation) {
	if o.TemporalPause != nil && node.Unpauses(o.Asked) {
		s.told(c, o, "unpause", func(ctx context.Context, o *node.Operation) error {
			return s.Operations.Unpause(ctx, o, by(c), string(o.Asked)+" was asked for")
		})
	}
	if o.Asked.Interrupts() {
		s.told(c, o, "cancel", func(ctx context.Context, o *node.Operation) error {
			return s.Operations.Cancel(ctx, o, o.AskedReason)
		})
		return
	}
	s.told(c, o, "nudge", s.Operations.Nudge)
}

func (s *Server) told(c *gin.Context, o *node.Operation, what string, tell func(context.Context, *node.Operation) error) {
	// The request may be over before the workflow knows; the intent is not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), s.StartTimeout)
	defer cancel()
	if err := tell(ctx, o); err != nil {
		logger(c).Warn("workflow not told, reconciliation will", zap.String("what", what),
			zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID), zap.Error(err))
	}
}

// shownOperation is an operation in the shape of /temper/v1.
type shownOperation struct {
	ID           string         `json:"id"`
	NodeUUID     string         `json:"node_uuid"`
	NodeName     *string        `json:"node_name"`
	Kind         node.Kind      `json:"kind"`
	State        node.Phase     `json:"state"`
	Outcome      any            `json:"outcome"`
	Error        any            `json:"error"`
	RequestedBy  any            `json:"requested_by"`
	AcceptedAt   any            `json:"accepted_at"`
	BegunAt      any            `json:"begun_at"`
	EndedAt      any            `json:"ended_at"`
	WorkflowID   string         `json:"workflow_id"`
	RunID        any            `json:"run_id"`
	WorkflowURL  any            `json:"workflow_url"`
	Conductor    any            `json:"conductor"`
	WaitingFor   any            `json:"waiting_for"`
	WaitingUntil any            `json:"waiting_until"`
	Pause        any            `json:"temporal_pause"`
	Asked        any            `json:"asked"`
	AskedBy      any            `json:"asked_by"`
	AskedReason  any            `json:"asked_reason"`
	PowerTarget  any            `json:"power_target"`
	RetryOf      any            `json:"retry_of"`
	OnFailure    node.OnFailure `json:"on_failure"`
	Choices      []node.Action  `json:"choices"`
	Decisions    []shownRuling  `json:"decisions"`
	Steps        []shownOpsStep `json:"steps"`
}

// shownPause is a pause that was set in Temporal.
type shownPause struct {
	What   node.PauseOf `json:"what"`
	At     any          `json:"at"`
	By     any          `json:"by"`
	Reason any          `json:"reason"`
}

// shownRuling is a decision about a step that failed.
type shownRuling struct {
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
	Note      any            `json:"note"`
	Deaths    []shownDeath   `json:"deaths"`
	NotBefore any            `json:"not_before"` // null = it is not put off
	PutOffs   int            `json:"put_offs"`
	Restarts  int            `json:"restarts"`
}

// shownDeath is a conductor that died of a step.
type shownDeath struct {
	Conductor string `json:"conductor"`
	At        any    `json:"at"`
}

func (s *Server) showOperation(o *node.Operation, fl *fleet) shownOperation {
	out := shownOperation{
		ID: strconv.FormatInt(o.ID, 10), NodeUUID: o.NodeUUID, Kind: o.Kind, State: o.State(),
		Outcome: orNull(string(o.Outcome)), Error: orNull(o.Error), RequestedBy: orNull(o.RequestedBy),
		AcceptedAt: timestamp(&o.AcceptedAt), BegunAt: timestamp(o.BegunAt), EndedAt: timestamp(o.EndedAt),
		WorkflowID: node.WorkflowID(o.NodeUUID, o.Kind, o.ID), RunID: orNull(o.RunID), WorkflowURL: orNull(s.WorkflowURL(o)),
		Conductor: orNull(o.Conductor), WaitingFor: orNull(fl.waitingFor(o)), WaitingUntil: timestamp(o.WaitingUntil),
		Asked: orNull(string(o.Asked)), AskedBy: orNull(o.AskedBy), AskedReason: orNull(o.AskedReason),
		PowerTarget: orNull(string(o.PowerTarget)), Steps: make([]shownOpsStep, 0, len(o.Steps)),
		OnFailure: cmp.Or(o.OnFailure, node.FailOnFailure), Choices: []node.Action{}, Decisions: []shownRuling{},
	}
	if p := o.TemporalPause; p != nil {
		out.Pause, out.WaitingUntil = shownPause{What: p.What, At: timestamp(&p.At), By: orNull(p.By), Reason: orNull(p.Reason)}, nil
	}
	if st := o.Undecided(); st != nil {
		out.Choices = st.Choices()
	}
	for _, d := range o.Decisions {
		out.Decisions = append(out.Decisions, shownRuling{
			At: timestamp(&d.At), Action: d.Action, By: orNull(d.By), Reason: orNull(d.Reason), Step: d.Step, Error: orNull(d.Error),
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
			Limit: numberOrNull(st.Limit), Conductor: orNull(st.Conductor), StartedAt: timestamp(st.StartedAt), EndedAt: timestamp(st.EndedAt), LastError: orNull(st.LastError),
			Note: orNull(st.Note), Deaths: shownDeaths(st.Deaths), NotBefore: timestamp(st.NotBefore), PutOffs: st.PutOffs, Restarts: st.Restarts,
		})
	}
	return out
}

func shownDeaths(deaths []node.Death) []shownDeath {
	out := make([]shownDeath, 0, len(deaths))
	for _, d := range deaths {
		out = append(out, shownDeath{Conductor: d.Conductor, At: timestamp(&d.At)})
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
	q := readQuery(c, "node", "deleted", "kind", "state", "outcome", "limit", "marker")
	p, marker := q.pageByID(s.MaxLimit, "an operation")
	f := node.OperationFilter{Node: q.node("node"), Kind: node.Kind(q.word("kind")), Phase: node.Phase(q.word("state")), Outcome: node.Outcome(q.word("outcome")), Limit: p.limit, Marker: marker}
	if q.has("kind") && !slices.Contains(node.Kinds(), f.Kind) {
		q.fail("Kind \"%s\" is not valid, it is one of %v", clip(string(f.Kind)), node.Kinds())
	}
	if q.has("outcome") && !slices.Contains(node.Outcomes, f.Outcome) {
		q.fail("Outcome \"%s\" is not valid, it is one of %v", clip(string(f.Outcome)), node.Outcomes)
	}
	// People see how an operation ended where they see the state of one that is
	// open, and ask for it by the same name.
	if ended := node.Outcome(f.Phase); slices.Contains(node.Outcomes, ended) && (f.Outcome == "" || f.Outcome == ended) {
		f.Phase, f.Outcome = node.Ended, ended
	}
	if q.has("state") && !slices.Contains(states, f.Phase) {
		q.fail("State \"%s\" is not valid, it is one of %v, or as outcome of %v", clip(string(f.Phase)), states, node.Outcomes)
	}
	if deleted := q.boolean("deleted"); deleted != nil {
		f.Deleted = *deleted
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	ops, err := s.Store.Operations(c.Request.Context(), f)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, collection[node.Operation]{
		name: "operations", path: "/temper/v1/operations", marker: func(o *node.Operation) string { return strconv.FormatInt(o.ID, 10) },
		show: func(o *node.Operation) any { return s.showOperation(o, fl) },
	}.body(q, p, ops), nil
}

func operationID(c *gin.Context) (int64, error) {
	id, err := strconv.ParseInt(c.Param("operation"), 10, 64)
	if err != nil || id <= 0 {
		return 0, fault.Coded(fault.OperationNotFound, "Operation %s could not be found.", clip(url.PathEscape(c.Param("operation"))))
	}
	return id, nil
}

// getOperation answers GET /temper/v1/operations/ID.
func (s *Server) getOperation(c *gin.Context) (int, any, error) {
	id, err := operationID(c)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.Operation(c.Request.Context(), id)
	if err != nil {
		return 0, nil, err
	}
	fl, err := s.fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.showOperation(o, fl), nil
}

// operationAndReason are those of a path and of a body with a reason only.
func operationAndReason(c *gin.Context) (int64, string, error) {
	in, err := readObject(c, maxBody, "reason")
	if err != nil {
		return 0, "", err
	}
	reason := in.reason()
	if in.err != nil {
		return 0, "", in.err
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
	fl, err := s.fleet(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	o, err := s.stop(c, id, fl, reason)
	if err != nil {
		return 0, nil, err
	}
	c.Header(headerOperation, strconv.FormatInt(o.ID, 10))
	return http.StatusAccepted, s.showOperation(o, fl), nil
}

// stop ends an operation at once where nobody works on it and nobody could, and
// has its workflow end it elsewhere.
func (s *Server) stop(c *gin.Context, id int64, fl *fleet, reason string) (*node.Operation, error) {
	o, err := s.cancelNow(c, id, fl, reason)
	if err == nil && o == nil {
		o, err = s.Store.AskOperation(c.Request.Context(), id, node.AskCancel, user(c), reason)
	}
	if err != nil {
		return nil, err
	}
	annotate(c, zap.String("node", o.NodeUUID), zap.Int64("operation", o.ID))
	logger(c).Info("operation is to be cancelled", zap.String("user", user(c)))
	if o.EndedAt != nil {
		s.ended(c, o)
	} else {
		s.nudged(c, o)
	}
	return o, nil
}
