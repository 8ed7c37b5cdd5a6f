// Package input reads what commands are given: files and passwords.
package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxLine bounds the line that Secret reads if there is no terminal, in bytes.
const maxLine = 1 << 20

// File reads a file of at most limit bytes; "-" is standard input.
func File(path string, limit int64) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(raw)) > limit:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return raw, nil
}

// IsTerminal reports whether somebody types at in.
func IsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Secret asks at in for what, without showing what is typed. If in is no terminal, it reads the first line.
func Secret(what string, in io.Reader, out io.Writer) (string, error) {
	var line string
	var err error
	if IsTerminal(in) {
		var typed []byte
		fmt.Fprintf(out, "%s: ", what)
		typed, err = term.ReadPassword(int(in.(*os.File).Fd())) //nolint:forcetypeassert // a terminal is a file
		fmt.Fprintln(out)
		line = string(typed)
	} else if line, err = bufio.NewReader(io.LimitReader(in, maxLine)).ReadString('\n'); errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", fmt.Errorf("%s is empty", what)
	}
	return line, nil
}
