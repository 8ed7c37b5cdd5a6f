// Package guards names the five guards that keep an operation from being done twice. All are up; each is taken down by a
// build tag of its own, so that a test can show what it is there for.
package guards
