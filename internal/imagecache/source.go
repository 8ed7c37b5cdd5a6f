package imagecache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

// source is where images are fetched. It is safe for concurrent use.
type source interface {
	// describe returns i with what the source says of the image, if it says anything.
	describe(ctx context.Context, i image.Info) (image.Info, error)
	// open begins to read an image at an offset, which the source may ignore. The error is fault.Unreachable if another try may help.
	open(ctx context.Context, i image.Info, at int64) (*content, error)
	close() error
}

// content is what a source sends.
type content struct {
	io.ReadCloser
	from  int64 // where it begins
	whole int64 // bytes of the whole image, 0 = not known
	words func(error) error
}

// web fetches images by HTTP.
type web struct{ client *http.Client }

// maxRedirects is how many redirects a request follows.
const maxRedirects = 5

func newWeb(r dial.Reach) *web {
	return &web{&http.Client{
		Transport: dial.NewTransport(r, describeLimit),
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return nil
		},
	}}
}

func (w *web) describe(_ context.Context, i image.Info) (image.Info, error) { return i, nil }

func (w *web) close() error {
	w.client.CloseIdleConnections()
	return nil
}

func (w *web) open(ctx context.Context, i image.Info, at int64) (*content, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, i.Source, nil)
	if err != nil {
		return nil, fault.Coded(fault.ImageInvalid, "image_source is no URL")
	}
	if i.Authorization != "" {
		r.Header.Set("Authorization", i.Authorization)
	}
	return get(ctx, w.client, r, at)
}

// get sends a request for a file from an offset on.
func get(ctx context.Context, client *http.Client, r *http.Request, at int64) (*content, error) {
	r.Header.Set("Accept-Encoding", "identity") // the digest is that of the file
	if at > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	resp, err := client.Do(r)
	if err != nil {
		if err = image.RequestError(ctx, err); fault.Is(err, fault.Invalid) { // an address that is refused
			err = fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "%w", err)
		}
		return nil, err
	}
	c := &content{ReadCloser: resp.Body, words: func(err error) error { return image.RequestError(ctx, err) }}
	switch resp.StatusCode {
	case http.StatusOK:
		c.whole = max(resp.ContentLength, 0)
		return c, nil
	case http.StatusPartialContent:
		if c.from, c.whole, err = rangeOf(resp.Header.Get("Content-Range")); err == nil {
			return c, nil
		}
	case http.StatusRequestedRangeNotSatisfiable: // the part is the whole file, or more
		_ = resp.Body.Close()
		_, c.whole, _ = rangeOf(resp.Header.Get("Content-Range"))
		if c.whole == at {
			c.ReadCloser, c.from = http.NoBody, at
			return c, nil
		}
		again := r.Clone(ctx)
		again.Header.Del("Range")
		return get(ctx, client, again, 0)
	default:
		err = statusError(resp.StatusCode)
	}
	_ = resp.Body.Close()
	return nil, err
}

// statusOf is the error of an answer.
type statusOf struct {
	status int
	more   string
}

func (e *statusOf) Error() string { return fmt.Sprintf("the server answered %d%s", e.status, e.more) }

func statusError(status int) error {
	switch {
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "%w", &statusOf{status, ""})
	case status == http.StatusNotFound || status == http.StatusGone:
		return fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "%w", &statusOf{status, ": it has no such image"})
	}
	return fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "%w", &statusOf{status, ""})
}

// rangeOf parses a Content-Range (RFC 9110, 14.4). whole is 0 if it is not known.
func rangeOf(header string) (from, whole int64, err error) {
	spec, ok := strings.CutPrefix(header, "bytes ")
	part, total, _ := strings.Cut(spec, "/")
	first, _, _ := strings.Cut(part, "-")
	if !ok {
		return 0, 0, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the server answered with a part, and does not say which")
	}
	whole, _ = strconv.ParseInt(total, 10, 64) // 0 if it is *
	if first == "*" {
		return 0, whole, nil
	}
	if from, err = strconv.ParseInt(first, 10, 64); err != nil {
		return 0, 0, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the server answered with a part, and does not say which")
	}
	return from, whole, nil
}

// files reads images from folders of this machine.
type files struct{ roots map[string]*os.Root }

func newFiles(folders []string) (*files, error) {
	out := &files{map[string]*os.Root{}}
	for _, f := range folders {
		root, err := os.OpenRoot(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("image_folders: %w", err), out.close())
		}
		out.roots[filepath.Clean(f)] = root
	}
	return out, nil
}

func (f *files) describe(_ context.Context, i image.Info) (image.Info, error) { return i, nil }

func (f *files) close() error {
	var errs []error
	for _, r := range f.roots {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// open opens a file in one of the folders. Links that lead out of it are refused (os.Root).
func (f *files) open(_ context.Context, i image.Info, at int64) (*content, error) {
	u, err := url.Parse(i.Source)
	if err != nil {
		return nil, fault.Coded(fault.ImageInvalid, "image_source is no URL")
	}
	for folder, root := range f.roots {
		name, inside := strings.CutPrefix(u.Path, strings.TrimSuffix(folder, "/")+"/")
		if !inside {
			continue
		}
		file, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "there is no such file on this machine")
		}
		if err != nil {
			return nil, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the file can't be read: %w", bare(err))
		}
		return contentOf(file, at)
	}
	return nil, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the file is in none of the folders of image_folders")
}

func contentOf(file *os.File, at int64) (*content, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err == nil && at > info.Size() {
		at = 0
	}
	if err == nil {
		_, err = file.Seek(at, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the file can't be read: %w", bare(err))
	}
	return &content{ReadCloser: file, from: at, whole: info.Size(), words: func(err error) error {
		return fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the file can't be read: %w", bare(err))
	}}, nil
}

// bare is an error of a file without its name.
func bare(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
