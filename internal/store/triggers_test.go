package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// triggers are all triggers of the schema, and why each is one. What happens is decided in Go, and a trigger is for what must follow
// whichever statement writes the table.
var triggers = map[string]string{
	"ports.forget_discovery":         "ports come from people, inspections and files, and each makes the server known",
	"nodes.node_need_made":           "the need of a node follows from its driver, group and interfaces",
	"nodes.node_need_changed":        "the same",
	"nodes.node_maintained_made":     "the database's clock says since when a node is in maintenance",
	"nodes.node_maintained_changed":  "the same",
	"nodes.count_created":            "a counter",
	"nodes.count_deleted":            "a counter",
	"nodes.count_changed":            "a counter",
	"nodes.ring_new":                 "notes what the next computation of the ring has to look at",
	"nodes.ring_gone":                "the same; it also keeps what is told of a deleted node",
	"nodes.ring_moved":               "the same",
	"events.events_written":          "notifies who follows the events",
	"audit.audit_append_only":        "no statement changes the audit",
	"audit_newest.audit_append_only": "its partition has it, too",
	"audit.audit_kept":               "the same for TRUNCATE",
	"audit_newest.audit_kept":        "the same; partitions do not inherit it",
}

func TestEveryTriggerHasAReason(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	found := ask[[]string](t, url, `SELECT array_agg(c.relname || '.' || g.tgname ORDER BY 1) FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid WHERE NOT g.tgisinternal`)
	for _, trigger := range found {
		require.NotEmpty(t, triggers[trigger], "%s needs a reason here, or to go", trigger)
	}
	require.Len(t, found, len(triggers))
}
