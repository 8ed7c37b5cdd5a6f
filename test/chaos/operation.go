package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// operation is an operation as the API shows it.
type operation struct {
	ID         string     `json:"id"`
	Node       string     `json:"node_uuid"`
	Kind       string     `json:"kind"`
	State      string     `json:"state"`
	Outcome    string     `json:"outcome"`
	Error      string     `json:"error"`
	Conductor  string     `json:"conductor"`
	WaitingFor string     `json:"waiting_for"`
	WorkflowID string     `json:"workflow_id"`
	RunID      string     `json:"run_id"`
	EndedAt    *time.Time `json:"ended_at"`
	Steps      []struct {
		Interface string `json:"interface"`
		Step      string `json:"step"`
		State     string `json:"state"`
		Attempts  int    `json:"attempts"`
		Conductor string `json:"conductor"`
		LastError string `json:"last_error"`
		PutOffs   int    `json:"put_offs"`
	} `json:"steps"`
}

// blamed returns an error if a step was put off because of deaths of conductors, as no step here is the reason for one.
func (o operation) blamed() error {
	for _, s := range o.Steps {
		if s.PutOffs > 0 {
			return fmt.Errorf("%s.%s was put off %d times, as one that conductors die of", s.Interface, s.Step, s.PutOffs)
		}
	}
	return nil
}

func (o operation) String() string {
	var steps []string
	for _, s := range o.Steps {
		steps = append(steps, fmt.Sprintf("%s.%s %s (%d, %s) %s", s.Interface, s.Step, s.State, s.Attempts, s.Conductor, s.LastError))
	}
	return fmt.Sprintf("operation %s (%s) of node %s is %s, outcome %q, error %q, waits for %q; %s",
		o.ID, o.Kind, o.Node, o.State, o.Outcome, o.Error, o.WaitingFor, strings.Join(steps, "; "))
}

func (l *lab) operation(ctx context.Context, id string) (operation, error) {
	var o operation
	return o, l.Call(ctx, http.MethodGet, "/temper/v1/operations/"+id, nil, &o)
}

// ended waits for the end of one operation.
func (l *lab) ended(ctx context.Context, id string) (o operation, err error) {
	err = await(ctx, patience, func() (err error) {
		if o, err = l.operation(ctx, id); err == nil && o.State != "ended" {
			err = errors.New(o.String())
		}
		return err
	})
	return o, err
}

// open returns the open operations, by id.
func (l *lab) open(ctx context.Context) (map[string]operation, error) {
	all := map[string]operation{}
	for _, state := range []string{"accepted", "running", "waiting", "paused", "holding", "undoing", "cancelling"} {
		var page struct {
			Operations []operation `json:"operations"`
		}
		if err := l.Call(ctx, http.MethodGet, "/temper/v1/operations?limit=1000&state="+state, nil, &page); err != nil {
			return nil, err
		}
		for _, o := range page.Operations {
			all[o.ID] = o
		}
	}
	return all, nil
}
