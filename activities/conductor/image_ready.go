package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// ImageRequest says of which node the image is wanted.
type ImageRequest struct {
	NodeUUID                 string
	InstanceInfo, DriverInfo map[string]any                            // with secrets
	AgentURL                 string                                    // at which Temper serves images to the node's agent; "" = nowhere
	Token                    func(ctx context.Context) (string, error) // of the agent
}

const (
	// imageFetch is how long Temper may take to fetch an image that it serves to agents.
	imageFetch = 2 * time.Hour
	// imagePoll is the pause between two looks whether it has.
	imagePoll = 2 * time.Second
)

// image returns the image of the node. It waits until Temper has fetched one that it serves to the agent.
func (t *task) image(ctx context.Context) (info agent.ImageInfo, size int64, err error) {
	r := ImageRequest{
		NodeUUID: t.node.UUID, InstanceInfo: t.instanceInfo, DriverInfo: t.driverInfo,
		AgentURL: t.Settings.Boot.Of(t.node, t.driverInfo, t.instanceInfo).AgentURL,
		Token:    func(ctx context.Context) (string, error) { return t.Store.AgentToken(ctx, t.node.UUID) },
	}
	since := time.Now().UTC()
	until := since.Add(imageFetch)
	for {
		info, size, err = t.Image(ctx, r)
		if !fault.Is(err, fault.Unavailable) || ctx.Err() != nil || !time.Now().Before(until) {
			t.arrived()
			return info, size, err
		}
		t.waitFor(node.Wait{For: node.WaitImage, Since: since, Until: &until, Every: imagePoll})
		t.saw(err.Error())
		if err := t.pauseFor(ctx, imagePoll); err != nil {
			return info, size, err
		}
	}
}

// pauseFor waits, and tells meanwhile that the step goes on. The error is errEndAsked if the operation is to end.
func (t *task) pauseFor(ctx context.Context, d time.Duration) error {
	if err := t.sleepTelling(ctx, d); err != nil {
		return err
	}
	if err := t.guardAndTell(ctx); err != nil {
		return err
	}
	if t.op.Asked.Ends() {
		return errEndAsked
	}
	return nil
}
