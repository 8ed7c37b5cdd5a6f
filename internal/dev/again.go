package dev

import "strings"

// anew brings back what only temper dev itself can start.
func anew() string { return "end temper dev (Ctrl-C) and start it again, it goes on with its data" }

// byHand is the command that runs a role of this stack outside of it, with what the stack told its own.
func (s *Stack) byHand(role string, args []string) string {
	join := []string{"--data", s.dir.path}
	if role == "rack" { // its --data is another: where the disks are
		join = []string{"--config", s.dir.settingsFile()}
	}
	words := []string{s.o.Temper, role}
	for _, w := range append(join, args...) {
		words = append(words, quoted(w))
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;!#~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
