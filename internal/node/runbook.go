package node

import "slices"

// Runbook is a list of steps for nodes that have one of its traits: an administrator has approved them for these.
type Runbook struct {
	Record
	Name           string
	Traits         []string // sorted; no more than MaxTraits
	Description    string
	Steps          []TemplateStep // run in the order of Order
	DisableRamdisk bool           // no step needs the agent
	Public         bool           // every project may use it
	Owner          string         // the project whose it is; "" = none
	Extra          map[string]any
	Hidden         Hidden // the secrets of Args, by Name and JSON pointer
}

// ApprovedFor reports whether n has one of the traits of the runbook.
func (b *Runbook) ApprovedFor(n *Node) bool { return len(n.Lacks(b.Traits)) < len(b.Traits) }

// RenameTrait replaces the trait that is the old name of the runbook with its name now. That is what a change of the name means to
// clients that know no other traits of runbooks.
func (b *Runbook) RenameTrait(old string) {
	b.Traits = slices.DeleteFunc(slices.Clone(b.Traits), func(t string) bool { return t == old })
	b.Traits = append(b.Traits, b.Name)
}
