package machine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"go.temper.dev/temper/internal/sim/faults"
)

// Media is the virtual CD.
type Media struct {
	Inserted       bool   `json:"inserted"`
	Image          string `json:"image"` // URL
	SHA256         string `json:"sha256"`
	Bytes          int64  `json:"bytes"`
	WriteProtected bool   `json:"protect"`
	// Slot is the Id of the virtual drive. Empty is the one that can be booted.
	Slot string `json:"slot,omitempty"`
	// Token is the agent's that stands on the medium, as the parameter ipa-agent-token. Empty is none.
	Token string `json:"token,omitempty"`
}

// Errors of InsertMedia.
var (
	// ErrMediaInUse: an image is inserted or being inserted.
	ErrMediaInUse = errors.New("virtual media is already inserted")
	// ErrMediaFetch: the image could not be downloaded; errors wrap it with the cause.
	ErrMediaFetch = errors.New("the image could not be read")
)

// mediaTimeout is the longest download of an image.
const mediaTimeout = 10 * time.Minute

// Media returns what is in the virtual CD drive.
func (s *Server) Media() Media {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.media
}

// LastImage returns the URL of the image that was inserted last, "" if there was none since
// the process started.
func (s *Server) LastImage() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastImage
}

// InsertMedia downloads the whole image at url, to check that it can be read and to compute
// its digest, and inserts it into the slot. It takes no context, because a BMC goes on with the download
// when the client has hung up.
func (s *Server) InsertMedia(url, slot string, protect bool) error {
	f, slow := s.Faults.Trigger(faults.SlowInsert, faults.Event{}) // a refused request counts, too
	s.mu.Lock()
	if s.media.Inserted || s.inserting {
		s.mu.Unlock()
		return ErrMediaInUse
	}
	s.inserting = true
	s.mu.Unlock()

	if slow {
		time.Sleep(time.Duration(f.Delay)) // like the download, it can't be interrupted
	}
	ctx, cancel := context.WithTimeout(context.Background(), mediaTimeout)
	defer cancel()
	m, err := s.download(ctx, url)
	m.WriteProtected, m.Slot = protect, slot

	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inserting = false
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMediaFetch, err)
	}
	s.media, s.lastImage = m, url
	return nil
}

// EjectMedia ejects the medium, if there is one. With SlowEject of the server's make that
// takes the power delay.
func (s *Server) EjectMedia() {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.make.SlowEject {
		s.media = Media{}
		return
	}
	ejected := s.media
	if !ejected.Inserted || s.ejecting == ejected {
		return
	}
	s.ejecting = ejected
	time.AfterFunc(s.env.PowerDelay, func() {
		defer s.changed()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.media == ejected {
			s.media = Media{}
		}
		if s.ejecting == ejected {
			s.ejecting = Media{}
		}
	})
}

// download reads the image, and keeps it for a real machine.
func (s *Server) download(ctx context.Context, url string) (Media, error) {
	f, err := s.newMedia()
	if err != nil {
		return Media{}, err
	}
	m, err := s.env.fetch(ctx, url, f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.keepMedia()
	}
	return m, err
}

func (e *Env) fetch(ctx context.Context, url string, to io.Writer) (Media, error) {
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
	h, token := sha256.New(), &tokenFinder{}
	n, err := io.Copy(io.MultiWriter(h, token, to), io.LimitReader(res.Body, e.MediaLimit+1))
	switch {
	case err != nil:
		return Media{}, fmt.Errorf("GET %s: %w", url, err)
	case n > e.MediaLimit:
		return Media{}, fmt.Errorf("GET %s: larger than %d bytes", url, e.MediaLimit)
	case n == 0:
		return Media{}, fmt.Errorf("GET %s: empty", url)
	}
	return Media{Inserted: true, Image: url, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n, Token: token.found}, nil
}

// tokenFinder finds the agent's token in an image that is written to it. It looks at no file system: the parameters of a medium are
// plain text, wherever they stand.
type tokenFinder struct {
	found string
	tail  []byte // of what was written last: a token may begin there
}

var tokenForm = regexp.MustCompile(`\bipa-agent-token=([A-Za-z0-9_-]{32,128})\s`)

func (f *tokenFinder) Write(b []byte) (int, error) {
	const longest = 256
	text := append(f.tail, b...)
	if m := tokenForm.FindSubmatch(text); m != nil && f.found == "" {
		f.found = string(m[1])
	}
	f.tail = bytes.Clone(text[max(0, len(text)-longest):])
	return len(b), nil
}
