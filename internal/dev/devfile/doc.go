// Package devfile has the files with which temper dev and the processes of its stack say where they are: dev.json and the ready
// files. It imports nothing of ours, so that whoever reads such a file need not know how a stack runs.
package devfile
