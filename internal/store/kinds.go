package store

import "go.temper.dev/temper/internal/node"

// The kinds of operation that statements tell apart, from the table of kinds.
var (
	inspections  = node.KindsWith(func(k node.KindSpec) bool { return k.Family == node.InspectFamily })
	provisioning = node.KindsWith(node.KindSpec.Provisions)
)
