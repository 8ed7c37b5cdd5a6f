package worker

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/mask"
)

// Images returns a function that reads from a node's dictionaries which image the agent has to fetch, and learns how many bytes it
// needs on a disk (0 = not known). While Temper fetches an image that it is to serve, the error is fault.Unavailable.
func Images(p image.Policy) func(context.Context, conductor.ImageRequest) (agent.ImageInfo, int64, error) {
	resolver, served := image.NewResolver(p, 0), ownServer(p.Reach)
	return func(ctx context.Context, r conductor.ImageRequest) (agent.ImageInfo, int64, error) {
		info, err := image.Parse(r.NodeUUID, r.InstanceInfo, r.DriverInfo, p)
		switch {
		case err != nil:
		case info.Local:
			info, err = askImage(ctx, served, info, r)
		default:
			if info, err = resolver.Resolve(ctx, info); err == nil {
				info, err = resolver.Detect(ctx, info)
			}
		}
		if err != nil {
			return agent.ImageInfo{}, 0, err
		}
		return info.ForAgent(), info.Size, nil
	}
}

// askImage asks Temper for an image that it serves to the agent.
func askImage(ctx context.Context, served *http.Client, i image.Info, r conductor.ImageRequest) (image.Info, error) {
	if r.AgentURL == "" {
		return i, fault.Coded(fault.ImageInvalid, "the image is one that temper boot or the API has to serve to the agent, and the setting agent_url, which says where, is not set")
	}
	token, err := r.Token(ctx)
	if err != nil {
		return i, err
	}
	at := i.ServedURL(r.AgentURL, token)
	answer, err := beginningOf(ctx, served, at, agent.FormatBytes)
	if err != nil {
		return i, fmt.Errorf("%w; ask for the image at agent_url, where temper boot or the API serves it", image.RequestError(ctx, err))
	}
	defer func() { _ = answer.Body.Close() }()
	if code, err := refusalOf(answer); err != nil {
		if code == "" {
			code = fault.ImageUnreachable
		}
		return i, fault.CodedAs(fault.KindOf(err), code, "%w", err)
	}
	return i.AsServed(at, answer)
}

// ownServer is a client of Temper's own servers of media and images.
func ownServer(r dial.Reach) *http.Client {
	return &http.Client{
		Timeout: mediumLimit, Transport: dial.NewTransport(r, mediumLimit),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// beginningOf asks for the first bytes of a file. A HEAD would be answered without the reason of a refusal.
func beginningOf(ctx context.Context, c *http.Client, url string, bytes int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the URL is none")
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", bytes-1))
	return c.Do(req)
}

// refusalOf returns the error that an answer is, nil if it is a file: fault.Unavailable if its server needs more time, else fault.Invalid.
func refusalOf(answer *http.Response) (fault.Code, error) {
	switch answer.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		return "", nil
	}
	words, code := refusalWords(answer.Body)
	words = mask.URLs(strings.TrimSuffix(words, "."))
	if answer.StatusCode == http.StatusServiceUnavailable {
		return code, fault.New(fault.Unavailable, "%s", words)
	}
	return code, fault.New(fault.Invalid, "%s (status %d)", words, answer.StatusCode)
}
