package node_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

var update = flag.Bool("update", false, "write the generated documents anew")

const pictureFile = "../../docs/lifecycle.md"

// The picture in docs/ is written from the table, so that it can't lie.
func TestThePictureShowsTheTable(t *testing.T) {
	want := picture()
	if *update {
		require.NoError(t, os.WriteFile(pictureFile, []byte(want), 0o644))
	}
	have, err := os.ReadFile(pictureFile)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "docs/lifecycle.md is not what the table says: go generate ./internal/node")
}

var classNames = map[Class]string{
	ClassStable: "stable", ClassWorking: "working", ClassWaiting: "waiting", ClassHolding: "holding", ClassFailed: "failed",
}

func picture() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("# The life cycle of a node")
	p("")
	p("Generated from `internal/node/lifecycle.go` by `go generate ./internal/node`; change the table, not this page.")
	p("%d states and %d transitions, the same as Ironic's. All other transitions are refused.", len(States()), len(Rules))
	p("")
	p("```mermaid")
	p("stateDiagram-v2")
	for c := ClassStable; c <= ClassFailed; c++ {
		p("  classDef %s %s", classNames[c], map[Class]string{
			ClassStable: "fill:#d5f5e3", ClassWorking: "fill:#d6eaf8", ClassWaiting: "fill:#fcf3cf",
			ClassHolding: "fill:#f5eef8", ClassFailed: "fill:#fadbd8",
		}[c])
	}
	for _, s := range States() {
		p("  state %q as %s", s, ident(s))
	}
	p("  [*] --> %s", ident(Enroll))
	for _, r := range Rules {
		p("  %s --> %s: %s", ident(r.From), ident(r.To), r.Event)
	}
	for c := ClassStable; c <= ClassFailed; c++ {
		var in []string
		for _, s := range States() {
			if ClassOf(s) == c {
				in = append(in, ident(s))
			}
		}
		p("  class %s %s", strings.Join(in, ","), classNames[c])
	}
	p("```")
	p("")
	p("| state | class | target shown | fails to | events |")
	p("|---|---|---|---|---|")
	for _, s := range States() {
		var events []string
		for _, r := range Rules {
			if r.From == s {
				events = append(events, fmt.Sprintf("%s → %s", r.Event, r.To))
			}
		}
		p("| %s | %s | %s | %s | %s |", s, classNames[ClassOf(s)], dash(TargetOf(s)), dash(FailedState(s)), strings.Join(events, "<br>"))
	}
	p("")
	p("During manual cleaning the target is `manageable` instead of `available`. Manual cleaning and the cleaning of a retired node")
	p("end with the event `manage`.")
	return b.String()
}

func ident(s State) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(string(s))
}

func dash(s State) string {
	if s == NoState {
		return "-"
	}
	return string(s)
}
