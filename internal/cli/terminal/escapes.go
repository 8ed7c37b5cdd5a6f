package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Help is what users are told about the keys that are not for the server. They count at the beginning of a line only.
const Help = `  ~.  leave the console
  ~B  send a break
  ~~  send one ~
  ~?  show this list`

// escapes sends keys to a console and does what those after a ~ at the beginning of a line say, as ipmitool and ssh do.
type escapes struct {
	ctx     context.Context
	console Console
	tell    io.Writer
	begin   bool // the next key is the first of a line
	escaped bool // a ~ came at the beginning of a line
}

func newEscapes(ctx context.Context, console Console, tell io.Writer) *escapes {
	return &escapes{ctx: ctx, console: console, tell: tell, begin: true}
}

// Write returns errLeft if somebody leaves the console.
func (e *escapes) Write(keys []byte) (int, error) {
	var plain []byte // to be sent
	send := func() error {
		_, err := e.console.Write(plain)
		plain = plain[:0]
		return err
	}
	for _, key := range keys {
		switch {
		case !e.escaped && e.begin && key == '~':
			e.escaped = true
			continue
		case e.escaped:
			e.escaped = false
			if err := send(); err != nil {
				return 0, err
			}
			done, err := e.escape(key)
			if err != nil {
				return 0, err
			}
			if done {
				continue
			}
			if key != '~' {
				plain = append(plain, '~')
			}
		}
		plain = append(plain, key)
		e.begin = key == '\r' || key == '\n'
	}
	if err := send(); err != nil {
		return 0, err
	}
	return len(keys), nil
}

// escape does what the key after ~ says, and reports whether it says something.
func (e *escapes) escape(key byte) (done bool, err error) {
	switch key {
	case '.':
		return true, errLeft
	case 'B':
		return true, e.console.SendBreak(e.ctx)
	case '?':
		fmt.Fprint(e.tell, "\r\n"+strings.ReplaceAll(Help, "\n", "\r\n")+"\r\n")
		return true, nil
	}
	return false, nil
}
