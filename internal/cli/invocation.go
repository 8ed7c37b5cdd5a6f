package cli

import (
	"context"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/text"
)

// calledAs is the annotation of the command temper that has the program's name as the user wrote it.
const calledAs = "called as"

// Execute runs root, which New has made, with the arguments that it has. program is how the user called it, such as bin/temper. The
// commands that are shown begin with that and have the flags that say where the API is, so that they run when they are pasted
// into the same shell.
func Execute(ctx context.Context, root *cobra.Command, program string) error {
	if strings.ContainsRune(program, '/') { // else the shell finds it by its name
		root.Annotations = map[string]string{calledAs: program}
	}
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		return nil
	}
	return &invokedError{err, invocationOf(c)}
}

// invocation is what the commands that are shown need to run in the shell of the user.
type invocation struct {
	program string   // as the shell finds it
	flags   string   // of commands over the API, with a blank before; "" = none are needed
	api     []string // commands over the API, which take flags: "node", "conductor list"
	others  []string
}

// invocationOf returns how the user has called c.
func invocationOf(c *cobra.Command) invocation {
	i := invocation{program: c.Root().Name()}
	if called := c.Root().Annotations[calledAs]; called != "" {
		i.program = text.ShellWord(called)
	}
	for _, name := range []string{"api", "api-ca", "user"} { // never the password, which TEMPER_API_PASSWORD can have
		if f := c.Flag(name); f != nil && f.Changed {
			i.flags += " --" + name + " " + text.ShellWord(withoutPassword(f.Value.String()))
		}
	}
	for _, one := range c.Root().Commands() {
		switch {
		case one.GroupID == groupClient:
			i.api = append(i.api, one.Name())
		case one.Name() != "dev": // "a temper dev" is a stack
			i.others = append(i.others, one.Name())
		}
		for _, sub := range one.Commands() {
			if one.GroupID != groupClient && sub.Flags().Lookup("api") != nil {
				i.api = append(i.api, one.Name()+" "+sub.Name())
			}
		}
	}
	return i
}

// withoutPassword returns a flag's value without the password that a URL may have.
func withoutPassword(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return value
	}
	u.User = url.User(u.User.Username())
	return u.String()
}

// fit returns words with their commands as the user's shell takes them.
func (i invocation) fit(words string) string {
	if i.program == "temper" && i.flags == "" || !strings.Contains(words, "temper ") {
		return words
	}
	names := slices.Concat(i.api, i.others)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // "conductor list" before "conductor"
	commands := regexp.MustCompile(`(^|[^\w/.-])temper (` + strings.Join(names, "|") + `)\b`)
	return commands.ReplaceAllStringFunc(words, func(found string) string {
		parts := commands.FindStringSubmatch(found)
		out := parts[1] + i.program + " " + parts[2]
		if slices.Contains(i.api, parts[2]) {
			out += i.flags
		}
		return out
	})
}

// writer returns a writer to w whose texts have their commands as fit returns them. Each command must be in one call of Write.
func (i invocation) writer(w io.Writer) io.Writer { return fittingWriter{w, i} }

type fittingWriter struct {
	io.Writer
	invocation invocation
}

func (w fittingWriter) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write([]byte(w.invocation.fit(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// invokedError is an error with its commands as the user's shell takes them.
type invokedError struct {
	err        error
	invocation invocation
}

func (e *invokedError) Error() string { return e.invocation.fit(e.err.Error()) }

func (e *invokedError) Unwrap() error { return e.err }
