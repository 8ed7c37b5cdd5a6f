package worker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// place is a namespace whose schedule has this description.
type place struct {
	client.Client
	err error
}

func (p *place) ScheduleClient() client.ScheduleClient { return scheduler{place: p} }

type scheduler struct {
	client.ScheduleClient
	*place
}

func (s scheduler) GetHandle(context.Context, string) client.ScheduleHandle {
	return handle{place: s.place}
}

type handle struct {
	client.ScheduleHandle
	*place
}

func (h handle) Describe(context.Context) (*client.ScheduleDescription, error) {
	return &client.ScheduleDescription{}, h.err
}

// If its own namespace can't be created, the schedule stays in the namespace of the operations, and is found there.
func TestTheScheduleIsFoundWhereItIs(t *testing.T) {
	for name, c := range map[string]struct {
		own   error
		found bool
	}{
		"nobody made it there":           {serviceerror.NewNotFound("schedule"), true},
		"the namespace is not there":     {serviceerror.NewNamespaceNotFound("own"), true},
		"nobody may look there":          {serviceerror.NewPermissionDenied("unauthorized", ""), true},
		"Temporal makes no namespaces":   {serviceerror.NewUnimplemented("namespaces"), true},
		"nobody knows: Temporal is away": {serviceerror.NewUnavailable("away"), false},
	} {
		t.Run(name, func(t *testing.T) {
			operations := &place{}
			h, _, err := Reconciliation{Own: &place{err: c.own}, Operations: operations}.find(t.Context())
			if !c.found {
				require.ErrorIs(t, err, c.own)
				return
			}
			require.NoError(t, err)
			require.Same(t, operations, h.(handle).place)
		})
	}
}
