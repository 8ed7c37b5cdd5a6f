package store

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

var deployTemplates = newRecords(
	records[node.DeployTemplate]{
		name: "deploy_templates", what: "deploy template", missing: "Deploy template %s could not be found.", named: true,
		event: "deploy_template", told: []string{"name"},
		record: func(t *node.DeployTemplate) *node.Record { return &t.Record },
		hidden: func(t *node.DeployTemplate) *node.Hidden { return &t.Hidden },
	},
	text("name", func(t *node.DeployTemplate) *string { return &t.Name }).by(onCreate|onPatch).sorted("r"),
	optionalText("description", func(t *node.DeployTemplate) *string { return &t.Description }).by(onCreate|onPatch).sorted("r"),
	other("steps", func(t *node.DeployTemplate) *[]node.TemplateStep { return &t.Steps }, func(t *node.DeployTemplate, d *dicts) any {
		return d.of(t.Steps)
	}).by(onCreate|onPatch),
	dictionary("extra", func(t *node.DeployTemplate) *map[string]any { return &t.Extra }).by(onCreate|onPatch),
)

// DeployTemplates is a page of the deploy templates. Hidden is not read.
func (s *Store) DeployTemplates(ctx context.Context, p node.Page) ([]node.DeployTemplate, error) {
	return deployTemplates.list(ctx, s, &query{args: args{}}, p)
}

// DeployTemplatesOf are the deploy templates that are named by traits of the node ident, with their secrets as far as
// they open (node.Hidden).
func (s *Store) DeployTemplatesOf(ctx context.Context, ident string) ([]node.DeployTemplate, error) {
	all, err := list(ctx, s, "read the deploy templates of node "+words(ident, 64), deployTemplates.selected+templatesOfNode(ident), args{"ident": ident}, deployTemplates.each())
	if err != nil {
		return nil, err
	}
	for i := range all {
		deployTemplates.open(s, &all[i])
	}
	return all, nil
}

// A node has at most node.MaxTraits traits.
func templatesOfNode(ident string) string {
	return " JOIN nodes n ON r.name = ANY (n.traits)" + byIdent(ident, " WHERE n.uuid = @ident", " WHERE n.name = @ident") + " ORDER BY r.id"
}

// DeployTemplate is the deploy template of that uuid or name.
func (s *Store) DeployTemplate(ctx context.Context, ident string) (*node.DeployTemplate, error) {
	return deployTemplates.find(ctx, s, ident)
}

// CreateDeployTemplate inserts a deploy template, and seals its secrets. It fills in UUID where there is none, ID and CreatedAt.
func (s *Store) CreateDeployTemplate(ctx context.Context, t *node.DeployTemplate) error {
	return deployTemplates.create(ctx, s, t)
}

// UpdateDeployTemplate edits a deploy template under its row's lock.
func (s *Store) UpdateDeployTemplate(ctx context.Context, ident string, edit func(*node.DeployTemplate) error) (*node.DeployTemplate, error) {
	return deployTemplates.update(ctx, s, ident, edit)
}

// DeleteDeployTemplate removes the deploy template of that uuid or name.
func (s *Store) DeleteDeployTemplate(ctx context.Context, ident string) error {
	return deployTemplates.delete(ctx, s, ident)
}
