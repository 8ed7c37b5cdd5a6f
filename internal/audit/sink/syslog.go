package sink

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// priority is facility 13, log audit, with severity 6, informational (RFC 5424).
	priority   = 13*8 + 6
	syslogTime = 5 * time.Second // to connect, and for one write
)

// Syslog sends rows to a syslog server as RFC 5424 says, with the JSON object as the message. By TCP each message has its length before it (RFC
// 6587). UDP does not tell whether a message arrives.
type Syslog struct {
	network, address string
	host             string
	conn             net.Conn // nil = not connected
}

// NewSyslog returns a Writer for unixgram:///dev/log, udp://host:514 or tcp://host:601.
func NewSyslog(to string) (*Syslog, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("want unixgram:///path, udp://host:port or tcp://host:port: %w", err)
	}
	s := &Syslog{network: u.Scheme, address: u.Host}
	switch {
	case u.Scheme == "unixgram" && u.Host == "" && u.Path != "":
		s.address = u.Path
	case (u.Scheme == "udp" || u.Scheme == "tcp") && u.Port() != "" && u.Hostname() != "" && strings.Trim(u.Path, "/") == "":
	default:
		return nil, fmt.Errorf("want unixgram:///path, udp://host:port or tcp://host:port")
	}
	if s.host, err = os.Hostname(); err != nil || s.host == "" {
		s.host = "-"
	}
	return s, nil
}

// Write is of Writer. A connection that fails is made anew by the next write.
func (s *Syslog) Write(ctx context.Context, lines [][]byte) (err error) {
	if s.conn == nil {
		dialer := net.Dialer{Timeout: syslogTime}
		if s.conn, err = dialer.DialContext(ctx, s.network, s.address); err != nil {
			s.conn = nil
			return err
		}
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	for _, line := range lines {
		if err := s.conn.SetWriteDeadline(time.Now().Add(syslogTime)); err != nil {
			return err
		}
		if _, err := s.conn.Write(s.message(line, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

func (s *Syslog) message(line []byte, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<%d>1 %s %s temper %d audit - ", priority, now.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), s.host, os.Getpid())
	b.Write(line)
	if s.network != "tcp" {
		return b.Bytes()
	}
	return append([]byte(fmt.Sprintf("%d ", b.Len())), b.Bytes()...)
}

// Close is of Writer.
func (s *Syslog) Close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}
