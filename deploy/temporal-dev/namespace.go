package main

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is how long closed workflows are kept. Reconciliation asks what became of a workflow
// long after it ended, so it must be many times the longest time Temper's processes may be down.
const retention = 72 * time.Hour

// keyword and boolean are types of search attributes, and how their columns in the visibility table begin.
const (
	keyword = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	boolean = enumspb.INDEXED_VALUE_TYPE_BOOL
)

// searchAttributes are the ones that Temper's workflows set. The order decides which column of the visibility table each
// gets, so new ones must be appended.
var searchAttributes = []struct {
	name string
	kind enumspb.IndexedValueType
}{
	{"TemperNodeID", keyword},
	{"TemperNodeName", keyword},
	{"TemperOperation", keyword},
	{"TemperConductor", keyword},
	{"TemperStep", keyword},
	{"TemperWaitingFor", keyword},
	{"TemperDriver", keyword},
	{"TemperGroup", keyword},
	{"TemperCause", keyword},
	{"TemperHeld", boolean},
}

// makeNamespace puts the namespace with its search attributes into the database before anything serves,
// so that the first request already finds them. It does not change a namespace that exists.
func makeNamespace(o options) error {
	ns, err := sqlite.NewNamespaceConfig(clusterName, o.namespace, false, nil)
	if err != nil {
		return fmt.Errorf("describe namespace %s: %w", o.namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	ns.Detail.Config.CustomSearchAttributeAliases = make(map[string]string, len(searchAttributes))
	columns := map[enumspb.IndexedValueType]int{}
	for _, a := range searchAttributes {
		columns[a.kind]++
		ns.Detail.Config.CustomSearchAttributeAliases[fmt.Sprintf("%s%02d", a.kind, columns[a.kind])] = a.name
	}
	if err := sqlite.CreateNamespaces(storeConfig(o.dataDir), ns); err != nil {
		return fmt.Errorf("make namespace %s: %w", o.namespace, err)
	}
	return nil
}

// updateNamespace brings a namespace that an older version made up to date.
func (s *server) updateNamespace(ctx context.Context, c clients, namespace string) error {
	have, err := c.operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of %s: %w", namespace, err)
	}
	missing := make(map[string]enumspb.IndexedValueType)
	for _, a := range searchAttributes {
		if _, ok := have.CustomAttributes[a.name]; !ok {
			missing[a.name] = a.kind
		}
	}
	if len(missing) > 0 {
		_, err = c.operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: missing,
		})
		if err != nil {
			return fmt.Errorf("add search attributes to %s: %w", namespace, err)
		}
	}
	ns, err := c.workflow.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("describe namespace %s: %w", namespace, err)
	}
	if ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() >= retention {
		return nil
	}
	_, err = c.workflow.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	if err != nil {
		return fmt.Errorf("set retention of %s: %w", namespace, err)
	}
	return nil
}
