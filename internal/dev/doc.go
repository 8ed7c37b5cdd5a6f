// Package dev runs all of Temper on one machine: PostgreSQL, Temporal and every role as child processes of one
// supervisor, in one data folder. It is for development and demonstration, never for production.
package dev
