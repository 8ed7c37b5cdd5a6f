package conductor

import (
	"fmt"

	"go.temper.dev/temper/internal/node"
)

// positionsOf describes how far each step of an operation is.
func positionsOf(o *node.Operation) []string {
	out := make([]string, len(o.Steps))
	for i := range o.Steps {
		out[i] = positionOf(&o.Steps[i])
	}
	return out
}

func positionOf(s *node.Step) string {
	place := fmt.Sprintf("%s %t %s %d %t %t", s.Name(), s.Over(), s.Phase, s.Restarts, s.Restarting, s.Written != nil)
	for _, u := range s.Updates {
		place += fmt.Sprintf(" %s %t %t %t %t", u.Component, u.Sent != nil, u.Ended, u.Booted, u.Done)
	}
	if s.Issued != nil {
		place += " " + s.Issued.Command + " " + s.Issued.Task
	}
	return place
}
