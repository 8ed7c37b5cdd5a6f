package conductor

import (
	"context"
	"slices"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// sendRaw sends one IPMI command that somebody has given. It may do anything, and nothing can be read back, so it is sent at most once.
func sendRaw(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := sentBefore(step, bmc.NameRaw, "the raw command"); err != nil {
		return 0, err
	}
	raw, err := t.rawCommander(ctx)
	if err != nil {
		return 0, err
	}
	command, err := node.RawBytes(textArg(t.stepArgs(step), node.ArgRawBytes))
	if err != nil {
		return 0, err
	}
	return done, t.sendOnce(ctx, step, node.Issued{Command: bmc.NameRaw}, func(ctx context.Context) error { return raw.SendRaw(ctx, command) })
}

// resetBMC restarts the BMC. Nobody can read back whether it did: a BMC is silent for other reasons, too. A second restart would hit
// it while it boots, when some lose their settings, so it is sent at most once.
func resetBMC(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if err := sentBefore(step, bmc.NameBMC, "the restart of the BMC"); err != nil {
		return 0, err
	}
	manager, err := t.managerRestarter(ctx)
	if err != nil {
		return 0, err
	}
	warm, given := step.Args[node.ArgWarm].(bool)
	return done, t.sendOnce(ctx, step, node.Issued{Command: bmc.NameBMC}, func(ctx context.Context) error { return manager.RestartBMC(ctx, warm || !given) })
}

// ejectMedia empties virtual drives. The driver looks at each drive before it ejects its medium.
func ejectMedia(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	drives, err := t.driveEjector(ctx)
	if err != nil {
		return 0, err
	}
	return done, drives.EjectDrives(ctx, textArg(step.Args, node.ArgBootDevice))
}

// createSubscription has the BMC send its events to the URL of the request. The step records which subscriptions the BMC has before it
// sends the request. An attempt that finds the record waits until that request can't take effect any more, looks for a subscription
// that is new and as asked for, and sends the request again only if there is none.
func createSubscription(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	subscriber, err := t.subscriber(ctx)
	if err != nil {
		return 0, err
	}
	args := t.stepArgs(step)
	want := node.SubscriptionOf(args)
	headers, _ := args[node.ArgHTTPHeaders].([]any)
	sent := step.Issued != nil && step.Issued.Command == bmc.NameSubscribe
	if sent {
		if _, err := t.awaitOthers(ctx, bmc.NameSubscribe); err != nil {
			return 0, err
		}
	}
	_, all, err := subscriber.Subscriptions(ctx)
	if err != nil {
		return 0, err
	}
	var known []string
	for _, one := range all {
		if sent && one.Destination == want.Destination && one.Context == want.Context && !slices.Contains(step.Issued.Known, one.ID) {
			t.tookEffect(bmc.NameSubscribe)
			noteSubscription(step, one)
			return done, nil
		}
		known = append(known, one.ID)
	}
	var made bmc.Subscription
	err = t.sendOnce(ctx, step, node.Issued{Command: bmc.NameSubscribe, Known: known}, func(ctx context.Context) (err error) {
		made, err = subscriber.CreateSubscription(ctx, want, headers)
		return err
	})
	if err == nil {
		noteSubscription(step, made)
	}
	return done, err
}

// noteSubscription notes what was created on the step, which the next save records.
func noteSubscription(step *node.Step, s bmc.Subscription) {
	made := s.EventSubscription
	made.Destination = "" // it may contain secrets
	step.Subscription = &made
}

// deleteSubscription deletes a subscription. If an earlier attempt has sent the request, one that is gone is what was asked for.
func deleteSubscription(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	subscriber, err := t.subscriber(ctx)
	if err != nil {
		return 0, err
	}
	id := textArg(step.Args, node.ArgID)
	name := bmc.NameUnsubscribe(id)
	sent := step.Issued != nil && step.Issued.Command == name
	if _, err := subscriber.Subscription(ctx, id); err != nil {
		if sent && fault.Is(err, fault.NotFound) {
			t.tookEffect(name)
			return done, nil
		}
		return 0, err
	}
	return done, t.sendOnce(ctx, step, node.Issued{Command: name}, func(ctx context.Context) error { return subscriber.DeleteSubscription(ctx, id) })
}

// textArg returns an argument that is a text, "" if there is none.
func textArg(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}
