package store

import (
	"context"

	"go.temper.dev/temper/internal/node"
)

var chassis = newRecords(
	records[node.Chassis]{
		name: "chassis", what: "chassis", missing: "Chassis %s could not be found.", event: "chassis",
		record: func(c *node.Chassis) *node.Record { return &c.Record },
	},
	optionalText("description", func(c *node.Chassis) *string { return &c.Description }).by(onCreate|onPatch).sorted("r"),
	dictionary("extra", func(c *node.Chassis) *map[string]any { return &c.Extra }).by(onCreate|onPatch),
)

// ChassisList is a page of all chassis.
func (s *Store) ChassisList(ctx context.Context, p node.Page) ([]node.Chassis, error) {
	return chassis.list(ctx, s, &query{args: args{}}, p)
}

// Chassis is the chassis of that uuid.
func (s *Store) Chassis(ctx context.Context, uuid string) (*node.Chassis, error) {
	return chassis.find(ctx, s, uuid)
}

// CreateChassis inserts a chassis. It fills in UUID where there is none, ID and CreatedAt.
func (s *Store) CreateChassis(ctx context.Context, c *node.Chassis) error {
	return chassis.create(ctx, s, c)
}

// UpdateChassis edits a chassis under its row's lock.
func (s *Store) UpdateChassis(ctx context.Context, uuid string, edit func(*node.Chassis) error) (*node.Chassis, error) {
	return chassis.update(ctx, s, uuid, edit)
}

// DeleteChassis removes the chassis of that uuid. The error is fault.Invalid if it has nodes.
func (s *Store) DeleteChassis(ctx context.Context, uuid string) error {
	return chassis.delete(ctx, s, uuid)
}
