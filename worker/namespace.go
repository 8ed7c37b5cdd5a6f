package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"go.temper.dev/temper/workflows"
)

// retention is how long Temporal keeps closed workflows. It is much longer than the interval of the
// reconciliation, which has to find them.
const retention = 72 * time.Hour

// reconcileRetention is how long reconciliations stay readable. There is one every
// few seconds.
const reconcileRetention = 24 * time.Hour

// makeNamespace creates the namespace of operations and its search attributes if they are missing.
// If Temporal does not let clients create them, its operators have to; the error names what is
// missing.
func makeNamespace(ctx context.Context, c client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := registerNamespace(ctx, c, namespace, retention); err != nil {
		return err
	}
	return makeSearchAttributes(ctx, c, namespace)
}

// registerNamespace creates a namespace if it is missing.
func registerNamespace(ctx context.Context, c client.Client, namespace string, retention time.Duration) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	if errors.As(err, &missing) {
		_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		var there *serviceerror.NamespaceAlreadyExists
		if errors.As(err, &there) {
			err = nil // another orchestrator was faster
		}
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return nil
}

func makeSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
	}
	want := map[string]enums.IndexedValueType{}
	for name, kind := range workflows.SearchAttributes {
		if _, ok := have.GetCustomAttributes()[name]; !ok {
			want[name] = kind
		}
	}
	if len(want) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: want})
	var there *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &there) {
		return fmt.Errorf("add search attributes to namespace %s: %w", namespace, err)
	}
	return nil
}
