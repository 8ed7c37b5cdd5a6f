package faults_test

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// rounds is how often somebody asks why before the node must be active.
const rounds = 12

var (
	// goesOn are commands after which the node does something: then somebody asks again.
	goesOn = regexp.MustCompile(`^temper operation (retry|watch) `)
	// destroys are commands that lose data or take the node from somebody.
	destroys = regexp.MustCompile(`^temper (node (undeploy|delete|rebuild|clean|waive|recover)|operation (cancel|abort|skip)) ?`)
	// conductors are commands that start one; it has the settings of the lab.
	conductors = regexp.MustCompile(`^temper conductor --name (\S+) --conductor-group (\S+) --enabled-drivers redfish( --config \S+)?$`)
	blank      = regexp.MustCompile(`\b[A-Z]{3,}\b`) // a word that is to be replaced
)

// startConductor starts a conductor, and waits until the node has one.
func (n *node) startConductor(name, group string) {
	n.t.Helper()
	n.l.conductor(n.t, group, name)
	eventually(n.t, func() error {
		if w, text := n.why(); w.Cause != nil && *w.Cause == string(fault.NoConductor) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}

// suggested returns the commands that a paragraph has, or that temper node why prints, in their order.
func suggested(text string) []string {
	if _, lines, found := strings.Cut(text, "\nYou can:\n  "); found {
		return strings.Split(strings.TrimSpace(lines), "\n  ")
	}
	_, list, found := strings.Cut(text, " You can: ")
	if !found {
		return nil
	}
	return strings.Split(strings.TrimSuffix(list, "."), "; ")
}

// mend runs what `temper node why` prints, in its order and until the node goes on, and asks again, until the node is active. Only
// words in capitals are replaced, by values.
func (n *node) mend(values map[string]string) {
	n.t.Helper()
	var log []string
	for range rounds {
		now, err := n.l.Show(n.t.Context(), n.uuid) // before why, whose words may be of an operation that ends meanwhile
		require.NoError(n.t, err)
		w, text := n.why()
		log = append(log, text)
		if now.State == "active" {
			require.Nil(n.t, w.Cause, text)
			for _, c := range suggested(text) {
				require.NotRegexp(n.t, destroys, c, "the node is active and healthy")
			}
			return
		}
		for _, c := range suggested(text) {
			require.NotRegexp(n.t, destroys, c, "%s", strings.Join(log, "\n"))
			if start := conductors.FindStringSubmatch(c); start != nil {
				log = append(log, "$ "+c)
				n.startConductor(start[1], start[2])
				break
			}
			c = blank.ReplaceAllStringFunc(c, func(word string) string {
				value, known := values[word]
				require.True(n.t, known, "nobody knows %s in: %s", word, c)
				return value
			})
			code, out := n.l.runTyping(n.t, c, n.typed)
			log = append(log, "$ "+c, out)
			if code != 0 && strings.Contains(out, "is locked by") {
				break // the undo of the operation before has just begun
			}
			if strings.HasPrefix(c, "temper operation watch ") && (code == 1 || code == 3) {
				break // it has failed, or holds
			}
			require.Zero(n.t, code, "%s", strings.Join(log, "\n"))
			if goesOn.MatchString(c) {
				break
			}
		}
	}
	require.Fail(n.t, "the node is not active", "%s", strings.Join(log, "\n"))
}
