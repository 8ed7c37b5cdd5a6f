package httpd

import (
	"io"
	"net/http"
	"time"
)

// Head is a route, as Get.
func Head(path string, since int, h Handler) Route {
	return Route{Method: http.MethodHead, Path: path, since: since, handler: h}
}

// File is the body of an answer that a handler returns to have a file sent, whole or in ranges. The sending has no deadline; each
// write has one, so that a client that does not read ends it.
type File struct {
	Content     io.ReadSeeker // it is closed afterwards if it can be
	ContentType string
	ETag        string // with quotes; the same only for the same content; "" = none
	Changed     time.Time
	Sent        func(bytes int64) // is called after each piece that was sent
}

// fileWriteTimeout bounds one write to the client of a file. Some BMCs read on only after a while.
const fileWriteTimeout = 2 * time.Minute

// ServeHTTP sends the file.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", f.ContentType)
	if f.ETag != "" {
		w.Header().Set("ETag", f.ETag)
	}
	if c, ok := f.Content.(io.Closer); ok {
		defer func() { _ = c.Close() }() // it was only read
	}
	control := http.NewResponseController(w)
	http.ServeContent(&fileWriter{ResponseWriter: w, sent: f.Sent, moreTime: func() { _ = control.SetWriteDeadline(time.Now().Add(fileWriteTimeout)) }}, r, "", f.Changed, f.Content)
}

// fileWriter moves the deadline before each write, and tells what was sent. It has no ReadFrom, so that a file is sent in small pieces.
type fileWriter struct {
	http.ResponseWriter
	sent     func(bytes int64)
	moreTime func()
	refused  bool // the request: what follows is no piece of the file
}

func (w *fileWriter) WriteHeader(status int) {
	w.refused = status >= http.StatusBadRequest
	w.ResponseWriter.WriteHeader(status)
}

func (w *fileWriter) Write(b []byte) (int, error) {
	w.moreTime()
	n, err := w.ResponseWriter.Write(b)
	if n > 0 && !w.refused {
		w.sent(int64(n))
	}
	return n, err
}
