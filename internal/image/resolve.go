package image

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

// maxSums is the size of the largest checksum file in bytes, maxRedirects how many redirects a
// request follows.
const (
	maxSums      = 64 << 10
	maxRedirects = 5
)

// Resolver fetches checksum files and the first bytes of images. It is safe for concurrent use.
type Resolver struct {
	policy Policy
	http   *http.Client
}

// NewResolver returns a resolver. timeout is for one file, redirects included (0 = 10 s).
func NewResolver(p Policy, timeout time.Duration) *Resolver {
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	return &Resolver{policy: p, http: &http.Client{
		Timeout: timeout,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return nil
		},
		Transport: dial.NewTransport(p.Reach, timeout),
	}}
}

// Close closes the idle connections.
func (r *Resolver) Close() { r.http.CloseIdleConnections() }

// Resolve returns the image with its digest. If the image has the URL of a checksum file,
// Resolve fetches the file; else it returns the image unchanged. Errors: fault.Invalid if the
// file is wrong, fault.Unreachable if its server does not answer, fault.Untrusted if the
// server's certificate does not verify.
func (r *Resolver) Resolve(ctx context.Context, i Info) (Info, error) {
	if !isURL(i.Checksum) {
		return i, nil
	}
	from := i.Checksum
	text, err := r.fetch(ctx, from)
	if err != nil {
		return Info{}, fmt.Errorf("%w; fetch the checksum file %s of the image", err, quotedURL(from))
	}
	digest, found := findDigest(text, i.name(), i.Algo)
	if !found {
		return Info{}, fault.Coded(fault.ImageInvalid, "no usable digest for %s; read the checksum file %s of the image",
			agent.OneLine(i.name()), quotedURL(from))
	}
	if err := i.setDigest("the digest in the checksum file", i.Algo, digest, r.policy); err != nil {
		return Info{}, fmt.Errorf("%w; read the checksum file %s", err, quotedURL(from))
	}
	return i, nil
}

func (r *Resolver) fetch(ctx context.Context, from string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", fault.Coded(fault.ImageInvalid, "it is no URL")
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return "", RequestError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return "", fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "the server answered %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return "", fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the server answered %d", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSums+1))
	switch {
	case err != nil:
		return "", RequestError(ctx, err)
	case len(b) > maxSums:
		return "", fault.Coded(fault.ImageInvalid, "the file is larger than %d bytes", maxSums)
	}
	return string(b), nil
}

// refusedAddress says why this process may not connect to an address.
type refusedAddress struct{ text string }

func (e *refusedAddress) Error() string { return e.text }

// RequestError returns the error of a request that got no answer, without the URL that
// net/http puts into its errors, because that may contain a secret.
func RequestError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	words := agent.OneLine(fault.NetworkWords(err))
	var refused *fault.Error
	if errors.As(err, &refused) { // dial.Reach refused the address
		return fault.New(refused.Kind, "%w", &refusedAddress{agent.OneLine(refused.Error())})
	}
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unverified) || errors.As(err, &unknown) {
		return fault.Coded(fault.ImageNotTrusted, "%s", words)
	}
	return fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "%s", words)
}
