#!/bin/sh
# Brings the tables of Temporal's two databases up to date. May run again.
set -eu

# store DATABASE SCHEMA
store() {
	temporal-sql-tool --database "$1" setup-schema --version 0.0
	temporal-sql-tool --database "$1" update-schema --schema-name "$2"
}

store temporal postgresql/v12/temporal
store temporal_visibility postgresql/v12/visibility
