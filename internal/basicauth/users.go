package basicauth

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/tg123/go-htpasswd"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"
)

// users are the entries of an htpasswd file, which is read again when it changes.
type users struct {
	path    string
	log     *zap.Logger
	compare func(hash, password []byte) error // bcrypt's, which is slow

	mu     sync.Mutex
	seen   os.FileInfo // of the file when it was loaded
	loaded *userTable
}

// userTable is the content of the file at one time.
type userTable struct {
	file *htpasswd.File
	all  []*entry // all hashes, in no particular order
}

// entry is a hash in the file.
type entry struct {
	hash []byte
	of   *users
}

// MatchesPassword implements htpasswd.EncodedPasswd.
func (e *entry) MatchesPassword(password string) bool {
	return e.of.compare(e.hash, []byte(password)) == nil
}

// match reports whether the password is the user's. For a user who is not in the
// file it compares with the hash that pick selects, so that the time it takes does
// not show who is.
func (t *userTable) match(user, password string, pick uint64) bool {
	if t.file.Exists(user) {
		return t.file.Match(user, password)
	}
	if len(t.all) > 0 {
		_ = t.all[pick%uint64(len(t.all))].MatchesPassword(password) // even a match is no login
	}
	return false
}

func openUsers(path string, log *zap.Logger) (*users, error) {
	u := &users{path: path, log: log, compare: bcrypt.CompareHashAndPassword}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("htpasswd file: %w", err)
	}
	table, skipped, err := u.read()
	if err == nil && skipped > 0 {
		err = errBadLine
	}
	if err != nil {
		return nil, fmt.Errorf("htpasswd file %s: %w", path, err)
	}
	u.seen, u.loaded = info, table
	return u, nil
}

// errBadLine does not quote the line, because it contains a hash.
var errBadLine = errors.New("a line is not user:bcrypt-hash")

// bcryptLength is the length of a bcrypt hash. Comparing with a shorter one fails at
// once, which would show that its user exists.
const bcryptLength = 60

// read reads the file; skipped is the number of invalid lines.
func (u *users) read() (t *userTable, skipped int, err error) {
	content, err := os.ReadFile(u.path)
	if err != nil {
		return nil, 0, err
	}
	t = &userTable{}
	accept := func(hash string) (htpasswd.EncodedPasswd, error) {
		if _, err := bcrypt.Cost([]byte(hash)); err != nil || len(hash) != bcryptLength {
			return nil, errBadLine
		}
		e := &entry{hash: []byte(hash), of: u}
		t.all = append(t.all, e)
		return e, nil
	}
	t.file, err = htpasswd.NewFromReader(bytes.NewReader(content), []htpasswd.PasswdParser{accept}, func(error) { skipped++ })
	return t, skipped, err
}

// table returns the current content of the file, or the last one if it can't be read.
func (u *users) table() *userTable {
	u.mu.Lock()
	defer u.mu.Unlock()
	info, err := os.Stat(u.path)
	if err != nil || unchanged(info, u.seen) {
		return u.loaded
	}
	t, skipped, err := u.read()
	if err != nil {
		u.log.Warn("htpasswd file has changed and can't be read, the old entries stay valid", zap.Error(err))
		return u.loaded
	}
	u.seen, u.loaded = info, t
	u.log.Info("htpasswd file read again", zap.Int("lines_skipped", skipped))
	return t
}

// unchanged reports whether a file looks unchanged. The modification time alone is
// not enough: two writes may have the same.
func unchanged(now, before os.FileInfo) bool {
	return now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size() && os.SameFile(now, before)
}
