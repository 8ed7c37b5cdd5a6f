// Package schemas holds the contracts that are files: SQL migrations and the
// OpenAPI description. It contains no logic.
package schemas

import "embed"

// Migrations are the forward-only SQL migrations, in goose's format.
//
//go:embed migrations/*.sql
var Migrations embed.FS
