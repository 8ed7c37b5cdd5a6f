package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	startWithin  = 60 * time.Second
	readyPoll    = 20 * time.Millisecond
	readyRequest = 2 * time.Second
)

// clients are the two services of the frontend that a start talks to.
type clients struct {
	workflow workflowservice.WorkflowServiceClient
	operator operatorservice.OperatorServiceClient
}

// waitUntilServing returns when all services answer for the namespace, and its settings are as this version wants them.
func (s *server) waitUntilServing(ctx context.Context, namespace string) error {
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("dial own frontend: %w", err)
	}
	defer conn.Close()
	c := clients{workflowservice.NewWorkflowServiceClient(conn), operatorservice.NewOperatorServiceClient(conn)}

	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := c.probe(ctx, namespace)
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until temporal serves: %w; last answer: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
	s.hush(false)
	return s.updateNamespace(ctx, c, namespace)
}

// probe asks history, matching and visibility for something that is not there: each can only say so once it works.
func (c clients) probe(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, readyRequest)
	defer cancel()
	const nothing = "temporal-dev-probe"
	_, err := c.workflow.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: nothing},
	})
	var absent *serviceerror.NotFound
	if err = serviceerror.FromStatus(status.Convert(err)); !errors.As(err, &absent) {
		return fmt.Errorf("ask history: %w", err)
	}
	_, err = c.workflow.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace:     namespace,
		TaskQueue:     &taskqueuepb.TaskQueue{Name: nothing},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	if err != nil {
		return fmt.Errorf("ask matching: %w", err)
	}
	_, err = c.workflow.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: `WorkflowId = '` + nothing + `'`,
	})
	if err != nil {
		return fmt.Errorf("ask visibility: %w", err)
	}
	return nil
}

// ready is the content of --ready-file.
type ready struct {
	Address    string `json:"address"` // host:port of the gRPC frontend
	Namespace  string `json:"namespace"`
	UIURL      string `json:"ui_url"`                // empty without a web UI
	MetricsURL string `json:"metrics_url,omitempty"` // absent without metrics
}

// write creates the file atomically, so that nobody reads half of it.
func (r ready) write(path string) error {
	if path == "" {
		return nil
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode ready file: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(body, '\n'))
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("put ready file in place: %w", err)
	}
	return nil
}

// removeReadyFile removes the file that a killed predecessor has left, because it would say that this process serves.
func removeReadyFile(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove old ready file: %w", err)
	}
	return nil
}
