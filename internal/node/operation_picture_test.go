package node_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

const operationPictureFile = "../../docs/operation-states.md"

// The picture in docs/ is written from the table, so that it can't lie.
func TestThePictureOfOperationsShowsTheTable(t *testing.T) {
	want := operationPicture()
	if *update {
		require.NoError(t, os.WriteFile(operationPictureFile, []byte(want), 0o644))
	}
	have, err := os.ReadFile(operationPictureFile)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "docs/operation-states.md is not what the table says: go generate ./internal/node")
}

func operationPicture() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("# The life cycle of an operation")
	p("")
	p("Generated from `internal/node/operation_rules.go` and `operation_state.go` by `go generate ./internal/node`; change the tables, not this page.")
	p("The state of the node meanwhile is [another table](lifecycle.md), what people can do about an operation is [steering](steering.md).")
	p("")
	p("```mermaid")
	p("stateDiagram-v2")
	for _, edge := range edges() {
		p("  %s --> %s: %s", edge.from, edge.to, strings.Join(edge.events, ", "))
	}
	p("  ended --> [*]")
	p("```")
	p("")
	p("Every arrow is an event that leads from one phase to another. In every phase but ended the operation may be paused, too.")
	p("")
	p("## States")
	p("")
	p("| state | what holds | who acts | how it is left |")
	p("|---|---|---|---|")
	for _, s := range OperationStates {
		p("| %s | %s | %s | %s |", s.Name, s.Holds, s.Acts, s.Left)
	}
	p("")
	p("Paused and cancelling are shown instead of the phase: an operation that is paused keeps its phase, and cancelling is undoing.")
	p("")
	p("Always:")
	p("")
	for _, i := range OperationInvariants {
		p("- %s;", i.Words)
	}
	p("- at most one operation of a node has not ended.")
	p("")
	p("## Events")
	p("")
	p("| event | from | to | what else is written |")
	p("|---|---|---|---|")
	for _, r := range OperationRules {
		from, to := "no operation", string(r.To)
		if len(r.From) > 0 {
			from = joined(r.From)
		}
		if to == "" {
			to = "the same"
		}
		if r.When != "" {
			to += ": " + r.When
		}
		p("| %s | %s | %s | %s |", r.Event, from, to, r.Writes)
	}
	return b.String()
}

func joined(phases []Phase) string {
	words := make([]string, len(phases))
	for i, f := range phases {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

type edge struct {
	from, to string
	events   []string
}

// edges are the rules that lead to another phase, those between the same two together.
func edges() []*edge {
	var out []*edge
	add := func(from, to string, e OperationEvent) {
		i := slices.IndexFunc(out, func(x *edge) bool { return x.from == from && x.to == to })
		if i < 0 {
			i, out = len(out), append(out, &edge{from: from, to: to})
		}
		if !slices.Contains(out[i].events, string(e)) {
			out[i].events = append(out[i].events, string(e))
		}
	}
	for _, r := range OperationRules {
		if r.From == nil {
			add("[*]", string(r.To), r.Event)
		}
		for _, from := range r.From {
			if r.To != "" && r.To != from {
				add(string(from), string(r.To), r.Event)
			}
		}
	}
	return out
}
