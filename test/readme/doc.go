// Package readme follows README.md as a person would.
package readme
