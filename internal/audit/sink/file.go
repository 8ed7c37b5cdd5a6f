package sink

import (
	"bytes"
	"context"
	"os"
	"sync/atomic"
)

// File appends rows to a file, one JSON object a line.
type File struct {
	path   string
	open   *os.File // nil = not open
	reopen atomic.Bool
}

// NewFile returns a Writer for the file at path, which is made if it is not there.
func NewFile(path string) *File { return &File{path: path} }

// Reopen has the next write open the file again.
func (f *File) Reopen() { f.reopen.Store(true) }

// Write is of Writer. A file that was renamed or deleted meanwhile is made anew.
func (f *File) Write(_ context.Context, lines [][]byte) error {
	if f.open != nil && (f.reopen.Swap(false) || f.moved()) {
		_ = f.Close() // what was written was synced
	}
	if f.open == nil {
		to, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return err
		}
		f.open = to
	}
	text := append(bytes.Join(lines, []byte("\n")), '\n')
	if _, err := f.open.Write(text); err != nil {
		return err
	}
	return f.open.Sync()
}

// moved reports whether the path names another file than the open one.
func (f *File) moved() bool {
	at, err := os.Stat(f.path)
	if err != nil {
		return true
	}
	is, err := f.open.Stat()
	return err != nil || !os.SameFile(at, is)
}

// Close is of Writer.
func (f *File) Close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	return err
}
