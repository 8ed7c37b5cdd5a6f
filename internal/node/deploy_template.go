package node

// TemplateStep is a step of a deploy template or runbook.
type TemplateStep struct {
	Interface string         `json:"interface"`
	Step      string         `json:"step"`
	Args      map[string]any `json:"args"`               // with the secrets masked
	Priority  int            `json:"priority,omitempty"` // of a deploy template
	Order     int            `json:"order,omitempty"`    // of a runbook
}

// Name is "interface.step".
func (s TemplateStep) Name() string { return s.Interface + "." + s.Step }

// DeployTemplate is a list of deploy steps for nodes whose instance asks for the trait of the same name.
type DeployTemplate struct {
	Record
	Name        string // a trait
	Description string
	Steps       []TemplateStep
	Extra       map[string]any
	Hidden      Hidden // the secrets of Args, by Name and JSON pointer
}
