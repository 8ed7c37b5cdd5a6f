package worker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// place is a client of a namespace in which the schedule can be described, or not.
type place struct {
	client.Client
	err error
}

func (p *place) WorkflowService() workflowservice.WorkflowServiceClient { return describer{place: p} }

type describer struct {
	workflowservice.WorkflowServiceClient
	*place
}

func (d describer) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	return &workflowservice.DescribeScheduleResponse{}, d.err
}

// If its own namespace can't be created, the schedule stays in the namespace of the operations, and is found there.
func TestTheScheduleIsFoundWhereItIs(t *testing.T) {
	missing := serviceerror.NewNotFound("schedule")
	for name, c := range map[string]struct {
		own, operations error
		at              string
	}{
		"in its own namespace":                   {nil, nil, "own"},
		"it was not moved there yet":             {missing, nil, "operations"},
		"the namespace is not there":             {serviceerror.NewNamespaceNotFound("own"), nil, "operations"},
		"nobody may look there":                  {serviceerror.NewPermissionDenied("unauthorized", ""), nil, "operations"},
		"Temporal makes no namespaces":           {serviceerror.NewUnimplemented("namespaces"), nil, "operations"},
		"nobody knows: Temporal is away":         {serviceerror.NewUnavailable("away"), nil, "own"},
		"it is missing":                          {missing, missing, "own"},
		"it is missing, and so is the namespace": {serviceerror.NewNamespaceNotFound("own"), missing, "operations"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Setup{Own: Place{&place{err: c.own}, "own"}, Operations: Place{&place{err: c.operations}, "operations"}}
			at, _, err := s.findSchedule(t.Context())
			require.Equal(t, c.at, at.Namespace)
			if c.at == "own" {
				require.Equal(t, c.own, err)
			} else {
				require.Equal(t, c.operations, err)
			}
		})
	}
}
