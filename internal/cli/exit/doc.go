// Package exit has the exit codes of the program, and finds the one that an error stands for.
package exit
