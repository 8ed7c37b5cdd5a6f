package main

import (
	"slices"
	"strings"
)

// quiet is a logger for the SDK that writes nothing.
type quiet struct{}

// Debug implements log.Logger.
func (quiet) Debug(string, ...any) {}

// Info implements log.Logger.
func (quiet) Info(string, ...any) {}

// Warn implements log.Logger.
func (quiet) Warn(string, ...any) {}

// Error implements log.Logger.
func (quiet) Error(string, ...any) {}

func has[T comparable](all []T, one T) bool { return slices.Contains(all, one) }

func holds(text, word string) bool { return strings.Contains(text, word) }
