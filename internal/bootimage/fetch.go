package bootimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
)

// answerLimit is how long a server may take until its answer begins.
const answerLimit = 30 * time.Second

// maxRedirects is how many redirects a request follows.
const maxRedirects = 5

// fetcher reads kernels and ramdisks from web servers and from files.
type fetcher struct{ http *http.Client }

func newFetcher(r dial.Reach) fetcher {
	return fetcher{&http.Client{
		Transport: dial.NewTransport(r, answerLimit),
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return nil
		},
	}}
}

// version identifies the content of a file.
func (f fetcher) version(ctx context.Context, from string) (string, error) {
	if filepath.IsAbs(from) {
		info, err := os.Stat(from)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano()), nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	answer, err := f.ask(ctx, http.MethodHead, from)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	return fmt.Sprint(answer.ContentLength, " ", answer.Header.Get("Last-Modified"), " ", answer.Header.Get("ETag")), nil
}

// fetch writes a file to a path.
func (f fetcher) fetch(ctx context.Context, from, to string) (err error) {
	content, err := f.open(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(content, fileLimit+1))
	switch {
	case err != nil:
		return words(err)
	case n > fileLimit:
		return fmt.Errorf("it has more than %d bytes", fileLimit)
	case n == 0:
		return errors.New("it is empty")
	}
	return nil
}

func (f fetcher) open(ctx context.Context, from string) (io.ReadCloser, error) {
	if filepath.IsAbs(from) {
		return os.Open(from)
	}
	answer, err := f.ask(ctx, http.MethodGet, from)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func (f fetcher) ask(ctx context.Context, method, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	answer, err := f.http.Do(r)
	if err != nil {
		return nil, words(err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("the server answered %d", answer.StatusCode)
	}
	return answer, nil
}

// words returns an error of a request without the URL that net/http puts into its errors, which may contain a password.
func words(err error) error {
	var refused *fault.Error
	if errors.As(err, &refused) { // dial.Reach refused the address
		return errors.New(refused.Error())
	}
	return errors.New(fault.NetworkWords(err))
}

// shown is a URL without passwords, or a path.
func shown(from string) string { return mask.URLs(from) }
