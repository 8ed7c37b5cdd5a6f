// Package help says how somebody does what an explanation or an error advises: with a
// command, and with a request to the API. Actions are named elsewhere (fault.Do): by the
// rows of fault.Codes, by package explain, by errors.
// How each is written stands here once.
package help

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

//go:generate go test -run ^TestEveryCodeStandsInTheDocumentation$ . -update

// Item is one thing that somebody can do, as the field help of an answer contains it.
type Item struct {
	Command string `json:"command"`
	Effect  string `json:"effect"` // what it does; Command and Effect together are a sentence
	Method  string `json:"method"` // "" = there is only the command
	Path    string `json:"path"`
	Body    any    `json:"body"` // null = none
}

// maxLabel bounds a node's name in a command, in bytes. Instead of a longer name the
// command has the UUID.
const maxLabel = 64

// Of returns how a is done to n. n may be nil if a needs no node.
func Of(n *node.Node, a Action) Item {
	r, v := rows[a.Do], verbOf(a.Event)
	label, uuid := "", ""
	if n != nil {
		label, uuid = n.Name, n.UUID
		if label == "" || len(label) > maxLabel {
			label = n.UUID
		}
	}
	fill := func(pattern, node string) string {
		return strings.NewReplacer(
			"{node}", node, "{operation}", strconv.FormatInt(a.Operation, 10), "{kind}", cmp.Or(string(a.Kind), "work"), "{decision}", string(a.Decision),
			"{group}", cmp.Or(a.Group, `""`), "{verb}", commandOf(v), "{state}", cmp.Or(string(v.State), "active again"),
			"{digest}", digestField(n), "{hints}", hintsFlag(n), "{address}", bmcField(n, "address"), "{password}", bmcField(n, "password"), "{bmc}", bmcValue(n, "address"), "{user}", bmcValue(n, "username"), "{probe flags}", probeFlags(n), "{conductor}", a.Conductor, "{role}", roleFlags(a), "{webhook}", a.Webhook,
			"{reason}", string(a.Reason), "{cause}", before(" --cause ", a.Cause), "{and cause}", before("&cause=", a.Cause),
		).Replace(pattern)
	}
	item := Item{Command: "temper " + fill(r.command, label), Effect: cmp.Or(effects[a.Decision], fill(r.effect, "")), Method: r.method, Path: fill(r.path, uuid)}
	if a.Do == fault.StartConductor && a.Conductor == "" {
		item.Effect = "starts a conductor for that group and driver, on a host that reaches the BMCs, PostgreSQL and Temporal"
		if a.Drivers == "" {
			item.Effect = "starts a conductor, on a host that reaches the BMCs, PostgreSQL and Temporal"
		}
	}
	if r.body != nil {
		item.Body = r.body(n, a)
	}
	return item
}

// before returns words and the code; "" without a code.
func before(words string, c fault.Code) string {
	if c == "" {
		return ""
	}
	return words + string(c)
}

// roleFlags returns the flags with which a role is started; "" = it needs none.
func roleFlags(a Action) (flags string) {
	for _, f := range [][2]string{{"name", a.Conductor}, {"conductor-group", a.Group}, {"enabled-drivers", a.Drivers}, {"config", a.Settings}} {
		if f[1] != "" {
			flags += " --" + f[0] + " " + text.ShellWord(f[1])
		}
	}
	return flags
}

// Command returns the command that does a to n. n may be nil if a needs no node.
func Command(n *node.Node, a Action) string { return Of(n, a).Command }

// Sentence is the command and what it does.
func (i Item) Sentence() string { return fmt.Sprintf("%q %s", i.Command, i.Effect) }

// verbOf returns the word of states/provision for an event: the first one, if it has an
// alias.
func verbOf(e node.Event) node.Verb {
	for _, v := range node.Verbs {
		if v.Event == e {
			return v
		}
	}
	return node.Verb{}
}

// commandOf returns the subcommand of "temper node" that asks for v. It is the event,
// except that "temper node delete" deletes the node itself.
func commandOf(v node.Verb) string {
	if v.Event == node.EventDelete {
		return "undeploy"
	}
	return string(v.Event)
}

// ForCode returns what can be done about an error of that code whatever the node is.
func ForCode(code fault.Code) (out []Item) {
	for _, do := range code.Row().Can {
		if r := rows[do]; !strings.Contains(r.command, "{node}") && do != fault.ProbeBMC {
			out = append(out, Of(nil, Action{Do: do}))
		}
	}
	return out
}
