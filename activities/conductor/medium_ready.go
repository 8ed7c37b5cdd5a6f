package conductor

import (
	"context"
	"errors"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	// mediumBuild is how long the API may take to make a CD of a kernel and a ramdisk that it has to fetch.
	mediumBuild = 15 * time.Minute
	// mediumPoll is the pause between two looks whether it has.
	mediumPoll = 2 * time.Second
)

// awaitMedium waits until the API has made the CD of the node's kernel and ramdisk: BMCs give up before that. If the API is not
// reached at that URL, which is made for BMCs, the BMC is left to find out.
func (t *task) awaitMedium(ctx context.Context, url string) error {
	if t.AskMedium == nil {
		return nil
	}
	since := time.Now().UTC()
	until := since.Add(mediumBuild)
	for {
		err := t.AskMedium(ctx, url)
		switch {
		case err == nil:
			t.arrived()
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrMediumNotReached):
			t.log.Info("this conductor does not reach the CD that the BMC will fetch, so that it can't see whether it is there")
			t.arrived()
			return nil
		case !fault.Is(err, fault.Unavailable) || !time.Now().Before(until):
			return err
		}
		t.waitFor(node.Wait{For: node.WaitBuild, Subject: mediumName(url), Since: since, Until: &until, Every: mediumPoll})
		t.saw("is being made")
		if err := t.pauseFor(ctx, mediumPoll); err != nil {
			return err
		}
	}
}

// ErrMediumNotReached means that the server of a medium was not reached.
var ErrMediumNotReached = errors.New("the server of the medium was not reached")
