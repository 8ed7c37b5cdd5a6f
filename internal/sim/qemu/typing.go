package qemu

import "io"

// typing hands what is typed to a machine. A write does not block: what a machine does not read in time is lost.
type typing struct {
	keys  chan []byte
	ended chan struct{}
}

func newTyping(to io.WriteCloser) *typing {
	t := &typing{keys: make(chan []byte, 64), ended: make(chan struct{})}
	go func() {
		defer to.Close()
		for {
			select {
			case b := <-t.keys:
				if _, err := to.Write(b); err != nil {
					return
				}
			case <-t.ended:
				return
			}
		}
	}()
	return t
}

func (t *typing) Write(b []byte) (int, error) {
	select {
	case t.keys <- append([]byte(nil), b...):
	default:
	}
	return len(b), nil
}

func (t *typing) close() { close(t.ended) }
