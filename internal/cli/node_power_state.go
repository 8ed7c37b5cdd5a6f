package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// powersOf returns the power of nodes, with its age, and what holds them, by their uuids. If the API does not say, tables show what it says of
// the nodes themselves.
func (s *session) powersOf(ctx context.Context, nodes []*client.Node) map[string]client.NodePower {
	var uuids []string
	for _, n := range nodes {
		if n.UUID != "" {
			uuids = append(uuids, n.UUID)
		}
	}
	powers, err := s.Powers(ctx, uuids)
	if err != nil {
		powers = nil
	}
	out := make(map[string]client.NodePower, len(nodes))
	for _, n := range nodes {
		state := cmp.Or(n.PowerState, "unknown")
		p := powers[n.UUID]
		p.Power = client.Power{Text: cmp.Or(p.Power.Text, state), Short: cmp.Or(p.Power.Short, state)}
		out[n.UUID] = p
	}
	return out
}

// worked are the states of an operation in which a conductor works on it.
var worked = []node.Phase{node.Running, node.Undoing, node.CancellingState}

// heldBy says what holds a node: the conductor that Ironic's reservation names or, while none works because the operation has not
// begun, waits or is paused, the state of the operation; then its number. What is left of them if the column is cut is the beginning and the end.
func heldBy(reservation string, o *client.Holder) string {
	if o == nil {
		return reservation
	}
	by := o.State
	if slices.Contains(worked, node.Phase(o.State)) && reservation != "operation-"+o.ID { // which it is where no conductor is alive
		by = cmp.Or(reservation, o.State)
	}
	return fmt.Sprintf("%s, operation %s", by, o.ID)
}

func pointers(nodes []client.Node) []*client.Node {
	out := make([]*client.Node, len(nodes))
	for i := range nodes {
		out[i] = &nodes[i]
	}
	return out
}
