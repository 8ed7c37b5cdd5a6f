package readme

import "strings"

// Block is a group of commands in a document: lines that are indented by four spaces.
type Block struct {
	Section  string // the heading above it
	Commands []string
}

// Blocks returns the blocks of a document, in order. A line that ends with a backslash continues in the next one.
func Blocks(document string) []Block {
	var all []Block
	section, open, fenced, goesOn := "", false, false, false
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		command, indented := strings.CutPrefix(line, "    ")
		switch {
		case fenced:
		case strings.HasPrefix(line, "#"):
			section, open = strings.TrimLeft(line, "# "), false
		case !indented:
			open = open && line == "" // an empty line does not end a block
		default:
			if !open {
				all = append(all, Block{Section: section})
				open = true
			}
			b := &all[len(all)-1]
			if goesOn {
				b.Commands[len(b.Commands)-1] += "\n" + command
			} else {
				b.Commands = append(b.Commands, command)
			}
			goesOn = strings.HasSuffix(command, "\\")
		}
	}
	return all
}
