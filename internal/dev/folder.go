package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"go.temper.dev/temper/internal/store"
)

// folder is where a stack keeps everything: its data, logs, keys, and what it must remember to go on after a stop.
type folder struct {
	path string
	lock *os.File

	mu        sync.Mutex
	addresses map[string]string // by what listens there: "api", "api metrics", ...
	// In this run:
	told  map[string]bool // by child: other processes know its address, so it must not change
	fixed map[string]bool // addresses that the user has chosen
	given map[string]bool // addresses that this run has chosen
	taken map[string]bool // addresses on which another program listens
}

// openFolder makes the folder where it is missing, and takes it: one stack at a time runs in it.
func openFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	f := &folder{
		path: path, addresses: map[string]string{},
		told: map[string]bool{}, fixed: map[string]bool{}, given: map[string]bool{}, taken: map[string]bool{},
	}
	// Others may pass through: PostgreSQL's folder belongs to its own user where root starts it. What is secret is
	// closed file by file.
	for _, dir := range []string{path, f.in("logs"), f.in("run")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
	}
	if err := passable(path); err != nil {
		return nil, err
	}
	if f.lock, err = os.OpenFile(f.in("run", "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("open the lock of the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another temper dev runs in %s (%w)", path, err), f.lock.Close())
	}
	if err := readJSON(f.in("run", "addresses.json"), &f.addresses); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, f.lock.Close())
	}
	return f, f.removeInfo()
}

// passable lets other users through a folder that was there before, without letting them list it.
func passable(path string) error {
	info, err := os.Stat(path)
	if err == nil && os.Geteuid() == 0 && info.Mode()&0o001 == 0 {
		err = os.Chmod(path, info.Mode().Perm()|0o011)
	}
	if err != nil {
		return fmt.Errorf("open the data folder to the user of PostgreSQL: %w", err)
	}
	return nil
}

// openToOthers says whether every user can get to what is in the folder.
func (f *folder) openToOthers() bool {
	for p := f.path; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if p == filepath.Dir(p) {
			return true
		}
	}
}

func (f *folder) close() error { return f.lock.Close() }

func (f *folder) in(elem ...string) string {
	return filepath.Join(append([]string{f.path}, elem...)...)
}

func (f *folder) logFile(name string) string   { return f.in("logs", name+".log") }
func (f *folder) readyFile(name string) string { return f.in("run", name+".ready.json") }

// settingsFile has the settings of all roles of this stack: whoever is started by hand with it joins.
func (f *folder) settingsFile() string { return f.in(SettingsFile) }
func (f *folder) keysetFile() string   { return f.in("keyset.json") }
func (f *folder) infoFile() string     { return f.in(InfoFile) }

func (f *folder) removeInfo() error {
	if err := os.Remove(f.infoFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the dev.json of the last run: %w", err)
	}
	return nil
}

// keyset makes the keys of this stack at its first start.
func (f *folder) keyset() error {
	if _, err := os.Stat(f.keysetFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	keys, err := store.NewKeyset()
	if err != nil {
		return fmt.Errorf("make a keyset: %w", err)
	}
	return writeFile(f.keysetFile(), 0o600, []byte(keys))
}

// listen is the address for what to listen on: the one it had before, so that a child that is started again is where it
// was, unless wanted names another port; at the first start in a run it may be a new one if somebody else has it now.
func (f *folder) listen(what, wanted string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	had := f.addresses[what]
	if f.told[what] {
		return had
	}
	host, port, err := net.SplitHostPort(wanted)
	if err != nil || port != "0" {
		f.fixed[wanted] = true
		return wanted
	}
	if h, _, err := net.SplitHostPort(had); err == nil && h == host && !f.taken[had] && isFree(had) {
		return had
	}
	address := freeAddress(host, func(a string) bool { return f.taken[a] || f.given[a] })
	f.given[address] = true
	return address
}

// giveUp notes that another program listens on the address, and reports whether another address may be used instead. It
// may not if the user chose the address or other processes know it.
func (f *folder) giveUp(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what := range f.told {
		if f.told[what] && f.addresses[what] == address {
			return false
		}
	}
	if f.fixed[address] {
		return false
	}
	f.taken[address] = true
	return true
}

// remember keeps where something listens for the next start.
func (f *folder) remember(what, address string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told[what] = address != ""
	if address == "" || f.addresses[what] == address {
		return nil
	}
	f.addresses[what] = address
	return writeJSON(f.in("run", "addresses.json"), 0o600, f.addresses)
}
