package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

const driversPage = "../../docs/drivers.md"

func TestTheDriversStandInTheDocumentation(t *testing.T) {
	want := driversMarkdown(HardwareTypes()[:builtIn])
	if *update {
		require.NoError(t, os.WriteFile(driversPage, []byte(want), 0o644))
		return
	}
	have, err := os.ReadFile(driversPage)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "docs/drivers.md is not what the hardware types say: go generate ./internal/node")
}

// builtIn is how many hardware types there are before tests add theirs.
var builtIn = len(HardwareTypes())

func driversMarkdown(names []string) string {
	var b strings.Builder
	b.WriteString("<!-- Generated from internal/node/hardware_types.go: go generate ./internal/node -->\n\n# Drivers\n\n" +
		"A driver (Ironic: hardware type) has the implementations of each interface of a node. `temper driver show NAME` and\n" +
		"`GET /v1/drivers/NAME/properties` have the same information as this page. If an interface has several implementations, the\n" +
		"default is the first one that the node's conductors have.\n")
	for _, name := range names {
		h, _ := Hardware(name)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| interface | implementations | steps (with a priority: always run, highest first; without: only if a request names them) |\n|---|---|---|\n", h.Name, h.About)
		for _, iface := range Interfaces {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", iface, implementationsMarkdown(h.Implementations[iface]), stepsMarkdown(iface, h.Implementations[iface]))
		}
		if len(h.AllProperties()) == 0 {
			b.WriteString("\n`driver_info` may be empty.\n")
			continue
		}
		b.WriteString("\n| `driver_info` | what it is for |\n|---|---|\n")
		for _, p := range h.AllProperties() {
			about := p.About
			if p.Decides {
				about += " A change needs the password in the same request."
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", p.Name, about)
		}
	}
	return b.String()
}

func implementationsMarkdown(impls []Implementation) string {
	var out []string
	for _, i := range impls {
		text := "`" + i.Name + "`"
		if len(i.Aliases) > 0 {
			text += " (also `" + strings.Join(i.Aliases, "`, `") + "`)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func stepsMarkdown(iface string, impls []Implementation) string {
	var out []string
	for _, i := range impls {
		for _, f := range []struct {
			name  string
			steps []StepSpec
		}{{"deploy", i.DeploySteps}, {"clean", i.CleanSteps}, {"service", i.ServiceSteps}} {
			var steps []string
			for _, s := range f.steps {
				text := "`" + iface + "." + s.Step + "`"
				if s.Priority > 0 {
					text += fmt.Sprintf(" %d", s.Priority)
				}
				steps = append(steps, text)
			}
			if len(steps) > 0 {
				out = append(out, fmt.Sprintf("`%s`, %s: %s", i.Name, f.name, strings.Join(steps, ", ")))
			}
		}
	}
	return strings.Join(out, "<br>")
}
