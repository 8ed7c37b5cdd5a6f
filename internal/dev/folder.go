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

	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/store"
)

// folder is the folder of a stack: its data, logs and keys, and the addresses that it uses again after a restart.
type folder struct {
	path string
	lock *os.File

	mu        sync.Mutex
	addresses map[string]string // by what listens there: "api", "api metrics", ...
	// In this run:
	published map[string]bool // by what listens: other processes know its address, so it must not change
	fixed     map[string]bool // addresses that the user has chosen
	chosen    map[string]bool // addresses that this run has chosen
	taken     map[string]bool // addresses on which another program listens
}

// openFolder creates the folder if it is missing, and locks it, because only one stack at a time may run in it.
func openFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	f := &folder{
		path: path, addresses: map[string]string{},
		published: map[string]bool{}, fixed: map[string]bool{}, chosen: map[string]bool{}, taken: map[string]bool{},
	}
	// Other users may pass through, because PostgreSQL runs as its own user if root starts it. Files with secrets are
	// readable by their owner only.
	for _, dir := range []string{path, f.in("logs"), f.in("run")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
	}
	if err := allowPassage(path); err != nil {
		return nil, err
	}
	if f.lock, err = os.OpenFile(f.in("run", "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("open the lock of the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another temper dev runs in %s (%w)", path, err), f.lock.Close())
	}
	if err := devfile.ReadJSON(f.in("run", "addresses.json"), &f.addresses); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, f.lock.Close())
	}
	return f, f.removeInfo()
}

// allowPassage lets other users pass through a folder that existed before. They can't list it.
func allowPassage(path string) error {
	info, err := os.Stat(path)
	if err == nil && os.Geteuid() == 0 && info.Mode()&0o001 == 0 {
		err = os.Chmod(path, info.Mode().Perm()|0o011)
	}
	if err != nil {
		return fmt.Errorf("open the data folder to the user of PostgreSQL: %w", err)
	}
	return nil
}

// openToOthers reports whether every user can pass through the folder and those above it.
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

// settingsFile has the settings of all roles of this stack. A role that somebody starts with it joins the stack.
func (f *folder) settingsFile() string { return f.in(devfile.SettingsFile) }
func (f *folder) keysetFile() string   { return f.in("keyset.json") }
func (f *folder) infoFile() string     { return f.in(devfile.InfoFile) }

func (f *folder) removeInfo() error {
	if err := os.Remove(f.infoFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the dev.json of the last run: %w", err)
	}
	return nil
}

// keyset creates the keys of this stack at its first start.
func (f *folder) keyset() error {
	if _, err := os.Stat(f.keysetFile()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	keys, err := store.NewKeyset()
	if err != nil {
		return fmt.Errorf("make a keyset: %w", err)
	}
	return devfile.Write(f.keysetFile(), 0o600, []byte(keys))
}

// listen returns the address on which what has to listen. If wanted names a port, it is wanted. Otherwise it is the address
// of the last start, so that a restarted child is found again; at the first start of a run it is a new one if another program
// listens there.
func (f *folder) listen(what, wanted string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	had := f.addresses[what]
	if f.published[what] {
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
	address := freeAddress(host, func(a string) bool { return f.taken[a] || f.chosen[a] })
	f.chosen[address] = true
	return address
}

// markTaken records that another program listens on the address, and reports whether another address may be used instead. It
// may not if the user chose the address or other processes know it.
func (f *folder) markTaken(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what := range f.published {
		if f.published[what] && f.addresses[what] == address {
			return false
		}
	}
	if f.fixed[address] {
		return false
	}
	f.taken[address] = true
	return true
}

// remember records where something listens, for the next start.
func (f *folder) remember(what, address string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.published[what] = address != ""
	if address == "" || f.addresses[what] == address {
		return nil
	}
	f.addresses[what] = address
	return devfile.WriteJSON(f.in("run", "addresses.json"), 0o600, f.addresses)
}
