package main

import (
	"slices"
	"strings"
)

// quiet is a logger of the SDK that says nothing.
type quiet struct{}

// Debug says nothing.
func (quiet) Debug(string, ...any) {}

// Info says nothing.
func (quiet) Info(string, ...any) {}

// Warn says nothing.
func (quiet) Warn(string, ...any) {}

// Error says nothing.
func (quiet) Error(string, ...any) {}

func has[T comparable](all []T, one T) bool { return slices.Contains(all, one) }

func holds(text, word string) bool { return strings.Contains(text, word) }
