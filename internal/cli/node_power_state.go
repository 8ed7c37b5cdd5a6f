package cli

import (
	"cmp"
	"context"

	"go.temper.dev/temper/internal/client"
)

// powersOf returns the power of nodes, with its age, by their uuids. If the API does not say, tables show what it says of
// the nodes themselves.
func (s *session) powersOf(ctx context.Context, nodes []*client.Node) map[string]client.Power {
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
	out := make(map[string]client.Power, len(nodes))
	for _, n := range nodes {
		state := cmp.Or(n.PowerState, "unknown")
		p := powers[n.UUID]
		out[n.UUID] = client.Power{Text: cmp.Or(p.Text, state), Short: cmp.Or(p.Short, state)}
	}
	return out
}

func pointers(nodes []client.Node) []*client.Node {
	out := make([]*client.Node, len(nodes))
	for i := range nodes {
		out[i] = &nodes[i]
	}
	return out
}
