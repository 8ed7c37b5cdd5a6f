// Package schemas holds the contracts that are files: SQL migrations and the
// OpenAPI description. It contains no logic.
package schemas

import "embed"

// Migrations are the forward-only SQL migrations, in goose's format.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// OpenAPI describes every route and answer of the HTTP API (OpenAPI 3.0). A
// test of package api holds both against each other.
//
//go:embed openapi.yaml
var OpenAPI []byte
