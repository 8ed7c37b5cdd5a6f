package store_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// Who creates, changes or deletes a record is told of it, once, and with the node that the record belongs to. A change that changes nothing is
// not told.
func TestRecordsAreTold(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	allow := func(*node.Node) error { return nil }
	for kind, c := range map[string]toldRecord{
		"port": toldFor(t, &node.Port{NodeUUID: n.UUID, Address: "52:54:00:00:00:01"}, s.CreatePort, under(n, s.UpdatePort),
			func(p *node.Port) *string { return &p.Description }, s.DeletePort),
		"portgroup": toldFor(t, &node.Portgroup{NodeUUID: n.UUID, Mode: "active-backup"}, s.CreatePortgroup, under(n, s.UpdatePortgroup),
			func(g *node.Portgroup) *string { return &g.Category }, s.DeletePortgroup),
		"volumeconnector": toldFor(t, &node.VolumeConnector{NodeUUID: n.UUID, Type: "iqn", ConnectorID: "a"}, s.CreateVolumeConnector, under(n, s.UpdateVolumeConnector),
			func(v *node.VolumeConnector) *string { return &v.ConnectorID }, func(ctx context.Context, uuid string) error {
				return s.DeleteVolumeConnector(ctx, uuid, n.UUID, allow)
			}),
		"volumetarget": toldFor(t, &node.VolumeTarget{NodeUUID: n.UUID, VolumeType: "iscsi", VolumeID: "a"}, s.CreateVolumeTarget, under(n, s.UpdateVolumeTarget),
			func(v *node.VolumeTarget) *string { return &v.VolumeID }, func(ctx context.Context, uuid string) error {
				return s.DeleteVolumeTarget(ctx, uuid, n.UUID, allow)
			}),
		"chassis": toldFor(t, &node.Chassis{}, s.CreateChassis, s.UpdateChassis, func(c *node.Chassis) *string { return &c.Description }, s.DeleteChassis),
		"deploy_template": toldFor(t, &node.DeployTemplate{Name: "CUSTOM_A"}, s.CreateDeployTemplate, s.UpdateDeployTemplate,
			func(d *node.DeployTemplate) *string { return &d.Description }, s.DeleteDeployTemplate),
		"runbook": toldFor(t, &node.Runbook{Name: "CUSTOM_B"}, s.CreateRunbook, s.UpdateRunbook,
			func(b *node.Runbook) *string { return &b.Description }, s.DeleteRunbook),
	} {
		t.Run(kind, func(t *testing.T) {
			for _, do := range []func() error{c.create, c.touch, c.change, c.remove} {
				require.NoError(t, do())
			}
			ofNode := strings.HasPrefix(kind, "port") || strings.HasPrefix(kind, "volume")
			list := toldOf(t, s, "baremetal."+kind)
			var types []string
			for _, e := range list {
				types = append(types, e.Type)
				require.NotEmpty(t, e.Data[kind+"_uuid"])
				require.Equal(t, ofNode, e.NodeUUID == n.UUID)
			}
			require.Equal(t, []string{"baremetal." + kind + ".create.end", "baremetal." + kind + ".update.end", "baremetal." + kind + ".delete.end"}, types)
		})
	}
}

// toldRecord is what can be done with a record.
type toldRecord struct{ create, touch, change, remove func() error }

// toldFor returns what can be done with t. field is what is changed.
func toldFor[T any](tb testing.TB, t *T, create func(context.Context, *T) error, update func(context.Context, string, func(*T) error) (*T, error),
	field func(*T) *string, remove func(context.Context, string) error,
) toldRecord {
	record := func() string { return reflect.ValueOf(t).Elem().FieldByName("UUID").String() }
	set := func(to string) func() error {
		return func() error {
			_, err := update(tb.Context(), record(), func(t *T) error {
				if to != "" {
					*field(t) = to
				}
				return nil
			})
			return err
		}
	}
	return toldRecord{
		create: func() error { return create(tb.Context(), t) }, touch: set(""), change: set("other"),
		remove: func() error { return remove(tb.Context(), record()) },
	}
}

// under is an update of what belongs to the node.
func under[T any](n *node.Node, update func(context.Context, string, string, func(*node.Node, *T) error) (*T, error)) func(context.Context, string, func(*T) error) (*T, error) {
	return func(ctx context.Context, ident string, edit func(*T) error) (*T, error) {
		return update(ctx, ident, n.UUID, func(_ *node.Node, t *T) error { return edit(t) })
	}
}

// toldOf returns the events of a type so far.
func toldOf(t *testing.T, s *store.Store, eventType string) []events.Event {
	t.Helper()
	list, _, err := s.Events(t.Context(), events.Query{Through: 1 << 40, Filter: events.Filter{Types: []string{eventType}}, Limit: 1000})
	require.NoError(t, err)
	return list
}
