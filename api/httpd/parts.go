package httpd

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
)

// partsWaiting is how many parts of an answer may wait for a slow client (4 MiB). A list that is not longer holds no connection of the
// database while it waits.
const partsWaiting = 64

// errClientGone ends a format.Parts whose client went away.
var errClientGone = errors.New("the client went away")

// partBuffers are the buffers of parts that were sent.
var partBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, format.PartSize+8<<10) // and the item that makes it full
	return &b
}}

// partsMade is an answer as it is made.
type partsMade struct {
	parts chan []byte
	gone  chan struct{} // closed when the answer has ended, or its client went away
	err   error         // known when parts is closed
}

// makeParts begins to make an answer.
func makeParts(parts format.Parts) *partsMade {
	m := &partsMade{parts: make(chan []byte, partsWaiting), gone: make(chan struct{})}
	go func() {
		defer close(m.parts)
		defer func() {
			if p := recover(); p != nil {
				m.err = fault.New(fault.Internal, "panic: %v\n%s", p, debug.Stack())
			}
		}()
		held := partBuffer()
		m.err = parts(held, func(b []byte) ([]byte, error) {
			select {
			case m.parts <- b:
				held = partBuffer()
				return held, nil
			case <-m.gone:
				return nil, errClientGone
			}
		})
		partBuffers.Put(&held)
	}()
	return m
}

func partBuffer() []byte { return (*partBuffers.Get().(*[]byte))[:0] } //nolint:forcetypeassert // the pool has no others

// end waits until nothing is made any more.
func (m *partsMade) end() {
	close(m.gone)
	for range m.parts {
	}
}

// sendParts sends an answer while it is made. An error before anything was sent is answered like that of any handler. One after that ends
// the connection, so that no client takes half an answer for a whole one.
func sendParts(c *gin.Context, status int, parts format.Parts) {
	m := makeParts(parts)
	defer m.end()
	first, made := <-m.parts
	second, more := <-m.parts
	if !more && m.err != nil || !made {
		fail(c, m.err)
		return
	}
	c.Header("Content-Type", jsonType)
	if !more {
		c.Header("Content-Length", strconv.Itoa(len(first)))
	}
	c.Status(status)
	for b := first; b != nil; b, second = second, <-m.parts {
		if _, err := c.Writer.Write(b); err != nil {
			Logger(c).Info("client went away", zap.String("path", loggedPath(c)), zap.Error(err))
			return
		}
		partBuffers.Put(&b)
	}
	if m.err != nil {
		Logger(c).Error("answer broken off", zap.String("path", loggedPath(c)), zap.Error(m.err))
		panic(http.ErrAbortHandler)
	}
}
