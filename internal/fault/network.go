package fault

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
)

// networkErrors has plain words for errors of connections. The first row that fits counts.
var networkErrors = []struct {
	errors []error
	words  string
}{
	{[]error{context.DeadlineExceeded, os.ErrDeadlineExceeded, syscall.ETIMEDOUT}, "no answer in time"},
	{[]error{syscall.ECONNREFUSED}, "the connection was refused: nothing listens there"},
	{[]error{syscall.EHOSTUNREACH, syscall.EHOSTDOWN}, "no host has that address, or no route leads to it"},
	{[]error{syscall.ENETUNREACH, syscall.ENETDOWN}, "no route leads to its network"},
	{[]error{io.EOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, net.ErrClosed}, "the connection was closed without an answer"},
	{[]error{io.ErrUnexpectedEOF}, "the connection was closed in the middle of the answer"},
	{[]error{http.ErrSchemeMismatch}, "it speaks HTTP, not HTTPS"},
}

// NetworkWords says in plain words why a request got no answer. It returns Go's own text, which names system calls, only for errors
// of no known kind.
func NetworkWords(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return "no address is known for " + dns.Name
	}
	for _, known := range networkErrors {
		for _, one := range known.errors {
			if errors.Is(err, one) {
				return known.words
			}
		}
	}
	var timeout net.Error
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return networkErrors[0].words
	case errors.As(err, &noTLS):
		return "it does not speak TLS"
	}
	var wrapped *url.Error // whose text has the whole URL
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
