package dev

import (
	"strings"

	"go.temper.dev/temper/internal/text"
)

// restartDev says how to bring back a process that only temper dev itself can start.
func restartDev() string {
	return "end temper dev (Ctrl-C) and start it again, it goes on with its data"
}

// restartCommand returns the command that runs a role of this stack from a shell, with the arguments that the stack uses.
func (s *Stack) restartCommand(role string, args []string) string {
	join := []string{"--data", s.dir.path}
	if role == "rack" { // its --data is the folder of the disks
		join = []string{"--config", s.dir.settingsFile()}
	}
	words := []string{s.o.Temper, role}
	for _, w := range append(join, args...) {
		words = append(words, text.ShellWord(w))
	}
	return strings.Join(words, " ")
}
