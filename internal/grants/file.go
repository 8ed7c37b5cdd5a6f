// Package grants reads the file that says which roles users, groups and claims have (auth.access_file). It decides nothing else: what
// a role may do is in internal/access.
package grants

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"go.temper.dev/temper/internal/access"
)

// most bounds the size of the file, in bytes.
const most = 4 << 20

// lookEvery is how often at most it is looked whether the file has changed.
const lookEvery = time.Second

// Line is an entry of the file: whoever it describes has the role, in the project or, without one, in the whole system.
type Line struct {
	User    string            `yaml:"user"`
	Group   string            `yaml:"group"`
	Claim   map[string]string `yaml:"claim"`  // of an OIDC token; all of them
	Method  access.Method     `yaml:"method"` // http_basic or oidc; "" = either
	Role    access.Role       `yaml:"role"`
	Project string            `yaml:"project"`
}

// File is the file, read again when it changes. It is safe for concurrent use.
type File struct {
	path string
	log  *zap.Logger
	now  func() time.Time

	mu     sync.Mutex
	looked time.Time
	seen   os.FileInfo
	lines  []Line
}

// Open reads the file. An error names the first line that is wrong. If the file is wrong after a later change, the problem is
// logged, and the lines before stay in force.
func Open(path string, now func() time.Time, log *zap.Logger) (*File, error) {
	f := &File{path: path, log: log, now: now}
	info, err := os.Stat(path)
	if err == nil {
		f.lines, err = read(path)
	}
	if err != nil {
		return nil, fmt.Errorf("access file: %w", err)
	}
	f.seen, f.looked = info, now()
	return f, nil
}

// Assign gives an identity what the file grants it. Identities that bring their roles along, as those of Keystone do, keep these.
func (f *File) Assign(id *access.Identity) {
	for _, l := range f.current() {
		g := access.Grant{Role: l.Role, Project: l.Project}
		if l.describes(id) && !slices.Contains(id.Grants, g) {
			id.Grants = append(id.Grants, g)
		}
	}
}

// Keep takes from an identity the groups and claims that no line names, so that what is kept of a login is small.
func (f *File) Keep(id *access.Identity) {
	lines := f.current()
	id.Groups = slices.DeleteFunc(slices.Clone(id.Groups), func(group string) bool {
		return !slices.ContainsFunc(lines, func(l Line) bool { return l.Group == group })
	})
	id.Claims = maps.Clone(id.Claims)
	maps.DeleteFunc(id.Claims, func(name string, _ any) bool {
		return !slices.ContainsFunc(lines, func(l Line) bool { _, named := l.Claim[name]; return named })
	})
}

// describes reports whether everything that the line names is true of an identity.
func (l *Line) describes(id *access.Identity) bool {
	if id.Method != access.HTTPBasic && id.Method != access.OIDC || l.Method != "" && l.Method != id.Method {
		return false
	}
	if l.User != "" && l.User != id.User || l.Group != "" && !slices.Contains(id.Groups, l.Group) {
		return false
	}
	for name, want := range l.Claim {
		if !says(id.Claims[name], want) {
			return false
		}
	}
	return true
}

// says reports whether a claim is a value, or a list that has it.
func says(claim any, want string) bool {
	switch v := claim.(type) {
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return says(one, want) })
	case map[string]any, nil:
		return false
	default:
		return fmt.Sprint(v) == want
	}
}

func (f *File) current() []Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.looked) >= lookEvery {
		f.looked = now
		f.look()
	}
	return f.lines
}

func (f *File) look() {
	info, err := os.Stat(f.path)
	if err == nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() {
		return
	}
	var lines []Line
	if err == nil {
		lines, err = read(f.path)
	}
	if err != nil {
		f.log.Warn("access file has changed and can't be used, the old lines stay in force", zap.Error(err))
		return
	}
	f.seen, f.lines = info, lines
	f.log.Info("access file read again", zap.Int("lines", len(lines)))
}

func read(path string) ([]Line, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", path, most)
	}
	lines, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return lines, nil
}

// Parse reads the text of a file: a list of lines in YAML.
func Parse(text []byte) ([]Line, error) {
	var lines []Line
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&lines); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("want a list of lines such as {user: alice, role: admin}: %w", err)
	}
	if len(lines) == 0 {
		return nil, errors.New("it has no lines, and would take every role away")
	}
	for i, l := range lines {
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("line %d of the list: %w", i+1, err)
		}
	}
	return lines, nil
}

func (l *Line) check() error {
	switch {
	case l.User == "" && l.Group == "" && len(l.Claim) == 0:
		return errors.New("it has no user, group or claim")
	case !slices.Contains(access.Roles(), l.Role):
		return fmt.Errorf("role %q: want one of %s", l.Role, roles())
	case l.Method != "" && l.Method != access.HTTPBasic && l.Method != access.OIDC:
		return fmt.Errorf("method %q: want %s or %s", l.Method, access.HTTPBasic, access.OIDC)
	}
	return nil
}

func roles() string {
	names := make([]string, 0, len(access.Roles()))
	for _, r := range access.Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}
