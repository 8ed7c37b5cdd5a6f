package stack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Operation is an operation as the API shows it.
type Operation struct {
	ID          string     `json:"id"`
	Node        string     `json:"node_name"`
	NodeUUID    string     `json:"node_uuid"`
	Kind        string     `json:"kind"`
	State       string     `json:"state"`
	Outcome     string     `json:"outcome"`
	Cause       string     `json:"cause"`
	Error       string     `json:"error"`
	Conductor   string     `json:"conductor"`
	WaitingFor  string     `json:"waiting_for"`
	PowerTarget string     `json:"power_target"`
	WorkflowID  string     `json:"workflow_id"`
	RunID       string     `json:"run_id"`
	RetryOf     string     `json:"retry_of"` // "" = it is no retry
	AcceptedAt  time.Time  `json:"accepted_at"`
	EndedAt     *time.Time `json:"ended_at"`
	Steps       []Step     `json:"steps"`
	Decisions   []Decision `json:"decisions"`
}

// Step is a step of an operation.
type Step struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
	Conductor string `json:"conductor"`
	LastError string `json:"last_error"`
	PutOffs   int    `json:"put_offs"`
	Restarts  int    `json:"restarts"`
}

// Decision is what somebody decided about a step that held.
type Decision struct {
	By     string `json:"by"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

func (o Operation) String() string {
	var steps []string
	for _, s := range o.Steps {
		steps = append(steps, fmt.Sprintf("%s.%s %s (%d, %s) %s", s.Interface, s.Step, s.State, s.Attempts, s.Conductor, s.LastError))
	}
	return fmt.Sprintf("operation %s (%s) of node %s is %s, outcome %q, error %q, waits for %q; %s",
		o.ID, o.Kind, o.NodeUUID, o.State, o.Outcome, o.Error, o.WaitingFor, strings.Join(steps, "; "))
}

// Operation returns an operation.
func (s *Stack) Operation(ctx context.Context, id string) (Operation, error) {
	var o Operation
	return o, s.Call(ctx, http.MethodGet, "/temper/v1/operations/"+id, nil, &o)
}

// Operations returns the operations for which a query such as "kind=deploy&state=running" asks, the newest first.
func (s *Stack) Operations(ctx context.Context, query string) ([]Operation, error) {
	return s.operations(ctx, "limit=1000&"+query)
}

func (s *Stack) operations(ctx context.Context, query string) ([]Operation, error) {
	var page struct {
		Operations []Operation `json:"operations"`
	}
	err := s.Call(ctx, http.MethodGet, "/temper/v1/operations?"+query, nil, &page)
	return page.Operations, err
}

// Newest returns the newest operation of a node.
func (s *Stack) Newest(ctx context.Context, node string) (Operation, error) {
	all, err := s.operations(ctx, "limit=1&node="+node)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("node %s has no operation", node)
	}
	if err != nil {
		return Operation{}, err
	}
	return all[0], nil
}

// AwaitOperation waits until the newest operation of a node is as good says.
func (s *Stack) AwaitOperation(ctx context.Context, node, what string, within time.Duration, good func(Operation) bool) (o Operation, err error) {
	err = Await(ctx, within, func() (err error) {
		if o, err = s.Newest(ctx, node); err == nil && !good(o) {
			err = fmt.Errorf("it is not %s: %s", what, o)
		}
		return err
	})
	return o, err
}

// Open returns the operations that have not ended, by id.
func (s *Stack) Open(ctx context.Context) (map[string]Operation, error) {
	open := map[string]Operation{}
	for _, state := range []string{"accepted", "running", "waiting", "paused", "holding", "undoing", "cancelling"} {
		all, err := s.Operations(ctx, "state="+state)
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			open[o.ID] = o
		}
	}
	return open, nil
}
