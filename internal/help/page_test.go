package help_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
)

var update = flag.Bool("update", false, "write the generated document anew")

const page = "../../docs/troubleshooting.md"

func TestEveryCodeStandsInTheDocumentation(t *testing.T) {
	want := troubleshooting()
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "docs/troubleshooting.md is not what the table says: go generate ./internal/help")
	for _, row := range fault.Codes {
		require.Contains(t, string(have), "\n### "+string(row.Code)+"\n")
	}
}

// troubleshooting is the page with a section for each code.
func troubleshooting() string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	p("# Troubleshooting")
	p("")
	p("Generated from the tables of codes (`internal/fault`) and of commands (`internal/help/table.go`) by `go generate ./internal/help`; change these, not this page.")
	p("")
	p("Every error of the API has a `code`, and every operation that failed or was ended has a `cause`, which is a code of the same table.")
	p("An operation that waits for a decision, or that undoes its work because it failed, already has its cause. Codes stay as they")
	p("are; the words of errors may change. The error begins with what the hardware, the agent or the server said.")
	p("")
	p("| to find out | command | API |")
	p("|---|---|---|")
	p("| what happens to a node, why, and what can be done | `temper node why NODE` | `GET /temper/v1/nodes/NODE/why` |")
	p("| the cause of an operation, and which step failed | `temper operation show ID` | `GET /temper/v1/operations/ID` |")
	p("| which nodes need a person, grouped by cause | `temper why` | `GET /temper/v1/why?group=cause` |")
	p("| all operations with a cause, newest first | `temper operation list --cause CODE` | `GET /temper/v1/operations?cause=CODE` |")
	p("")
	p("When the reason is gone, `temper operation retry ID` repeats an operation that has ended, and continues one that holds at a failed step.")
	p("[Steering](steering.md) says what Temper retries by itself, and how often.")
	for _, part := range []struct {
		title, intro string
		cause        bool
	}{
		{"Why work on a node failed or was ended", "These are the values of an operation's `cause`. Errors of requests may have some of them, too.", true},
		{"Why a request is refused", "These are values of `code` in errors of the API only. The request has changed nothing, unless its section says otherwise.", false},
	} {
		p("")
		p("## %s", part.title)
		p("")
		p("%s", part.intro)
		for _, row := range fault.Codes {
			if row.Cause != part.cause {
				continue
			}
			p("")
			p("### %s", row.Code)
			p("")
			p("%s", row.Meaning)
			p("")
			p("**What to do:** %s", row.Advice())
			for i, do := range row.Can {
				if i == 0 {
					p("")
				}
				item := help.Of(&node.Node{UUID: "NODE", Name: "NODE", Driver: "redfish"}, help.Action{Do: do})
				request := ""
				if item.Method != "" {
					request = fmt.Sprintf(" (`%s %s`)", item.Method, item.Path)
				}
				p("- `%s` %s%s", item.Command, item.Effect, request)
			}
			if row.Flags != "" {
				p("")
				p("**On the command line:** %s.", row.Flags)
			}
			if len(row.Fields) > 0 {
				p("")
				p("**Fields of the node:** `%s`", strings.Join(row.Fields, "`, `"))
			}
		}
	}
	return b.String()
}
