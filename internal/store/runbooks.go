package store

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

var runbooks = newRecords(
	records[node.Runbook]{
		name: "runbooks", what: "runbook", missing: "Runbook %s could not be found.", named: true,
		event: "runbook", told: []string{"name"},
		record: func(b *node.Runbook) *node.Record { return &b.Record },
		hidden: func(b *node.Runbook) *node.Hidden { return &b.Hidden },
	},
	text("name", func(b *node.Runbook) *string { return &b.Name }).by(onCreate|onPatch).sorted("r"),
	optionalText("description", func(b *node.Runbook) *string { return &b.Description }).by(onCreate|onPatch).sorted("r"),
	other("steps", func(b *node.Runbook) *[]node.TemplateStep { return &b.Steps }, func(b *node.Runbook, d *dicts) any {
		return d.of(b.Steps)
	}).by(onCreate|onPatch),
	flag("disable_ramdisk", func(b *node.Runbook) *bool { return &b.DisableRamdisk }).by(onCreate|onPatch).sorted("r"),
	flag("public", func(b *node.Runbook) *bool { return &b.Public }).by(onCreate|onPatch).sorted("r"),
	optionalText("owner", func(b *node.Runbook) *string { return &b.Owner }).by(onCreate|onPatch).sorted("r"),
	dictionary("extra", func(b *node.Runbook) *map[string]any { return &b.Extra }).by(onCreate|onPatch),
	other("traits", func(b *node.Runbook) *[]string { return &b.Traits }, func(b *node.Runbook, _ *dicts) any { return sortedTraits(b.Traits) }).by(onCreate|onPatch),
)

// Runbooks is a page of the runbooks, the public ones always among them. Hidden is not read.
func (s *Store) Runbooks(ctx context.Context, p node.Page) ([]node.Runbook, error) {
	if err := ownedRunbooks.marker(ctx, s, p, runbooks.missing); err != nil && node.IsHyphenatedUUID(p.Marker) {
		return nil, err
	}
	q := &query{args: args{}}
	q.onlyOwned(p.Only, "r", " OR r.public")
	return runbooks.list(ctx, s, q, p)
}

// Runbook is the runbook of that uuid or name.
func (s *Store) Runbook(ctx context.Context, ident string) (*node.Runbook, error) {
	return runbooks.find(ctx, s, ident)
}

// CreateRunbook inserts a runbook, and seals its secrets. It fills in UUID where there is none, ID and CreatedAt.
func (s *Store) CreateRunbook(ctx context.Context, b *node.Runbook) error {
	return runbooks.create(ctx, s, b)
}

// UpdateRunbook edits a runbook under its row's lock.
func (s *Store) UpdateRunbook(ctx context.Context, ident string, edit func(*node.Runbook) error) (*node.Runbook, error) {
	return runbooks.update(ctx, s, ident, edit)
}

// DeleteRunbook removes the runbook of that uuid or name.
func (s *Store) DeleteRunbook(ctx context.Context, ident string) error {
	return runbooks.delete(ctx, s, ident)
}
