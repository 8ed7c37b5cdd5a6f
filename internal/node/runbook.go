package node

// Runbook is a list of steps for nodes that have the trait of the same name: an administrator has approved them for these.
type Runbook struct {
	Record
	Name           string // a trait
	Description    string
	Steps          []TemplateStep // run in the order of Order
	DisableRamdisk bool           // no step needs the agent
	Public         bool           // every project may use it
	Owner          string         // the project whose it is; "" = none
	Extra          map[string]any
	Hidden         Hidden // the secrets of Args, by Name and JSON pointer
}
