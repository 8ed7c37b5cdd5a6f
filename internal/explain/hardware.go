package explain

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/text"
)

// hardware notes that the last inspection found other hardware than the one before, or than most nodes of the resource class have.
func (e *Explanation) hardware(c *inventory.Comparison) {
	if c == nil {
		return
	}
	var found []string
	if changes := len(c.Changes.List) + c.Changes.More; changes > 0 {
		found = append(found, fmt.Sprintf("other hardware than the one before (%s)", text.Count(changes, "difference", "differences")))
	}
	if len(c.Differences) > 0 {
		names := make([]string, len(c.Differences))
		for i, d := range c.Differences {
			names[i] = d.Fact
		}
		found = append(found, fmt.Sprintf("other hardware than most nodes of class %s have (%s)", c.ResourceClass, text.Some(names[:min(len(names), maxNamed)], len(names))))
	}
	if found == nil {
		return
	}
	e.Notes = append(e.Notes, fmt.Sprintf("Its last inspection, at %s, found %s", text.Moment(c.CollectedAt), strings.Join(found, ", and ")))
	e.can(help.Action{Do: fault.ShowInventory})
}
