#!/bin/sh
# Makes Temporal's two databases and brings their tables up to date. May run again.
set -eu

# store DATABASE SCHEMA
store() {
	temporal-sql-tool --database "$1" create-database
	temporal-sql-tool --database "$1" setup-schema --version 0.0
	temporal-sql-tool --database "$1" update-schema --schema-name "$2"
}

store temporal postgresql/v12/temporal
store temporal_visibility postgresql/v12/visibility
