// Package table prints tables for people and awk: columns two spaces apart, one line a row.
package table
