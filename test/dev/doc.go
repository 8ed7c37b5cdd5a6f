// Package dev has the tests of temper dev as a whole: real programs, killed one after the other.
package dev
