package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/sim/mischief"
)

// Media is the virtual CD.
type Media struct {
	Inserted bool   `json:"inserted"`
	Image    string `json:"image"` // URL
	SHA256   string `json:"sha256"`
	Bytes    int64  `json:"bytes"`
	Protect  bool   `json:"protect"` // write protected
}

// Errors of InsertMedia.
var (
	// ErrMediaInUse: something is in already, or on its way.
	ErrMediaInUse = errors.New("virtual media is already inserted")
	// ErrMediaFetch: the image could not be read; wrapped with why.
	ErrMediaFetch = errors.New("the image could not be read")
)

// mediaTimeout bounds the download of one image.
const mediaTimeout = 10 * time.Minute

// Media reads the virtual CD.
func (s *Server) Media() Media {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.media
}

// InsertMedia downloads the image at url to its end, as a check that it can be
// read and to know what it was, and puts it into the virtual CD. A BMC goes on
// with a download whose client has hung up, so it has no context.
func (s *Server) InsertMedia(url string, protect bool) error {
	f, slow := s.Faults.Take(mischief.SlowInsert, mischief.Event{}) // a refused request counts, too
	s.mu.Lock()
	if s.media.Inserted || s.insert {
		s.mu.Unlock()
		return ErrMediaInUse
	}
	s.insert = true
	s.mu.Unlock()

	if slow {
		time.Sleep(time.Duration(f.Delay)) // like the download, it can't be interrupted
	}
	ctx, cancel := context.WithTimeout(context.Background(), mediaTimeout)
	defer cancel()
	m, err := s.env.fetch(ctx, url)
	m.Protect = protect

	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.insert = false
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMediaFetch, err)
	}
	s.media = m
	return nil
}

// EjectMedia empties the virtual CD; an empty one stays so.
func (s *Server) EjectMedia() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.media = Media{}
}

func (e *Env) fetch(ctx context.Context, url string) (Media, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Media{}, err
	}
	res, err := e.Client.Do(req)
	if err != nil {
		return Media{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Media{}, fmt.Errorf("GET %s: %s", url, res.Status)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(res.Body, e.MediaLimit+1))
	switch {
	case err != nil:
		return Media{}, fmt.Errorf("GET %s: %w", url, err)
	case n > e.MediaLimit:
		return Media{}, fmt.Errorf("GET %s: larger than %d bytes", url, e.MediaLimit)
	case n == 0:
		return Media{}, fmt.Errorf("GET %s: empty", url)
	}
	return Media{Inserted: true, Image: url, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, nil
}
