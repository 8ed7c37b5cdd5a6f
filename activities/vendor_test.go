package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// listener has the subscriptions of a BMC, and counts raw commands and restarts.
type listener struct {
	all     []bmc.Subscription
	answer  error // to a request that takes effect
	raws    [][]byte
	resets  []bool
	ejected []string
}

func (l *listener) add(s node.EventSubscription) bmc.Subscription {
	s.ID = string(rune('a' + len(l.all)))
	l.all = append(l.all, bmc.Subscription{EventSubscription: s, Path: "/subscriptions/" + s.ID})
	return l.all[len(l.all)-1]
}

// vendorSession is a session with what vendor methods need.
type vendorSession struct {
	*session
	*listener
}

func (s vendorSession) Subscriptions(context.Context) (string, []bmc.Subscription, error) {
	return "/subscriptions", s.all, nil
}

func (s vendorSession) Subscription(_ context.Context, id string) (bmc.Subscription, error) {
	for _, one := range s.all {
		if one.ID == id {
			return one, nil
		}
	}
	return bmc.Subscription{}, fault.Coded(fault.SubscriptionNotFound, "there is no %s", id)
}

func (s vendorSession) CreateSubscription(ctx context.Context, want node.EventSubscription, _ []any) (bmc.Subscription, error) {
	if err := s.write(ctx, bmc.NameSubscribe); err != nil {
		return bmc.Subscription{}, err
	}
	return s.add(want), s.answer
}

func (s vendorSession) DeleteSubscription(ctx context.Context, id string) error {
	if err := s.write(ctx, bmc.NameUnsubscribe(id)); err != nil {
		return err
	}
	s.all = nil
	return s.answer
}

func (s vendorSession) SendRaw(ctx context.Context, command []byte) error {
	if err := s.write(ctx, bmc.NameRaw); err != nil {
		return err
	}
	s.raws = append(s.raws, command)
	return s.answer
}

func (s vendorSession) RestartBMC(ctx context.Context, warm bool) error {
	if err := s.write(ctx, bmc.NameBMC); err != nil {
		return err
	}
	s.resets = append(s.resets, warm)
	return s.answer
}

func (s vendorSession) EjectDrives(ctx context.Context, kind string) error {
	if err := s.write(ctx, bmc.NameEjectDrives(kind)); err != nil {
		return err
	}
	s.ejected = append(s.ejected, kind)
	return s.answer
}

func vendorBench(t *testing.T, method string, args map[string]any) (*bench, *listener) {
	b := newBench(t, node.KindVendorPassthru, node.Active, bmc.PowerOn, direct, plan.Options{Vendor: node.VendorCall{Method: method, Args: args}})
	l := &listener{}
	b.machine.vendor = l
	return b, l
}

func TestARawCommandAndARestartOfTheBMCAreSentAtMostOnce(t *testing.T) {
	t.Parallel()
	for method, c := range map[string]struct {
		args    map[string]any
		command string
		sent    func(*listener) int
	}{
		node.StepSendRaw:  {map[string]any{"raw_bytes": "0x06 0x01"}, bmc.NameRaw, func(l *listener) int { return len(l.raws) }},
		node.StepResetBMC: {map[string]any{"warm": false}, bmc.NameBMC, func(l *listener) int { return len(l.resets) }},
	} {
		t.Run(method, func(t *testing.T) {
			b, l := vendorBench(t, method, c.args)
			_, err := b.run()
			require.NoError(t, err)
			require.Equal(t, 1, c.sent(l))

			b, l = vendorBench(t, method, c.args)
			l.answer = fault.New(fault.OutcomeUnknown, "sent, and no answer")
			_, err = b.run()
			require.True(t, final(err))
			require.Equal(t, c.command, b.op().Steps[0].Issued.Command)
			l.answer = nil
			b.changeOp(func(o *node.Operation) {
				o.Steps[0].State = node.StepRunning // as if its conductor had died before it could say so
			})
			_, err = b.run()
			require.ErrorContains(t, err, "its outcome is unknown")
			require.Equal(t, 1, c.sent(l))
		})
	}
}

func TestABMCIsRestartedWarmOrCold(t *testing.T) {
	t.Parallel()
	for _, warm := range []bool{true, false} {
		b, l := vendorBench(t, node.StepResetBMC, map[string]any{"warm": warm})
		_, err := b.run()
		require.NoError(t, err)
		require.Equal(t, []bool{warm}, l.resets)
	}
}

func TestVirtualDrivesAreEmptied(t *testing.T) {
	t.Parallel()
	b, l := vendorBench(t, node.StepEjectMedia, map[string]any{"boot_device": "cd"})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"cd"}, l.ejected)
}

var alerts = map[string]any{"Destination": "https://listener/events", "Context": "mine"}

func TestASubscriptionIsCreatedOnceAlsoIfTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	b, l := vendorBench(t, node.StepCreateSubscription, alerts)
	before := l.add(node.SubscriptionOf(alerts)) // somebody's, that looks the same
	l.answer = fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))
	b.machine.within = 20 * time.Millisecond
	_, err := b.run()
	require.Error(t, err)
	require.False(t, final(err))
	require.Equal(t, []string{before.ID}, b.op().Steps[0].Issued.Known)
	require.Len(t, l.all, 2)

	l.answer = nil
	_, err = b.run()
	require.NoError(t, err)
	require.Len(t, l.all, 2, "it had taken effect")
	made := b.op().Steps[0].Subscription
	require.Equal(t, &node.EventSubscription{ID: l.all[1].ID, Context: "mine", Protocol: "Redfish", EventTypes: []string{"Alert"}}, made)
}

func TestASubscriptionThatWasNotCreatedIsCreatedByTheNextAttempt(t *testing.T) {
	t.Parallel()
	b, l := vendorBench(t, node.StepCreateSubscription, alerts)
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State, o.Steps[0].Issued = node.StepRunning, &node.Issued{At: time.Now(), Command: bmc.NameSubscribe}
	})
	b.left(bmc.NameSubscribe, 20*time.Millisecond)
	_, err := b.run()
	require.NoError(t, err)
	require.Len(t, l.all, 1)
	require.NotNil(t, b.op().Steps[0].Subscription)
}

func TestASubscriptionThatIsGoneAfterItsDeletionWasSentIsDeleted(t *testing.T) {
	t.Parallel()
	b, _ := vendorBench(t, node.StepDeleteSubscription, map[string]any{"id": "a"})
	_, err := b.run()
	require.True(t, final(err))
	require.Equal(t, fault.SubscriptionNotFound, b.op().Steps[0].Cause)

	b, l := vendorBench(t, node.StepDeleteSubscription, map[string]any{"id": "a"})
	l.add(node.SubscriptionOf(alerts))
	l.answer = fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))
	_, err = b.run()
	require.False(t, final(err))
	l.answer = nil
	_, err = b.run()
	require.NoError(t, err)
}

func TestSubscriptionsAreReadWithoutSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOn, direct, plan.Options{})
	read := func(in conductor.ReadInput) (out node.BMCReading, err error) {
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		env.RegisterActivity(b.steps)
		v, err := env.ExecuteActivity(b.steps.ReadBMC, in)
		if err == nil {
			require.NoError(t, v.Get(&out))
		}
		return out, err
	}
	_, err := read(conductor.ReadInput{Node: uuid, What: node.ReadSubscriptions})
	require.ErrorContains(t, err, "does not support vendor")

	l := &listener{}
	b.machine.vendor = l
	one := l.add(node.EventSubscription{Destination: "https://me:hunter2@listener:8443/services/hunter4?token=hunter3", Protocol: "Redfish"})
	got, err := read(conductor.ReadInput{Node: uuid, What: node.ReadSubscriptions})
	require.NoError(t, err)
	require.Equal(t, &node.EventSubscriptions{Path: "/subscriptions", Members: []string{one.Path}}, got.Subscriptions)
	got, err = read(conductor.ReadInput{Node: uuid, What: node.ReadSubscription, ID: one.ID})
	require.NoError(t, err)
	require.Equal(t, "https://listener:8443/******", got.Subscription.Destination)
	_, err = read(conductor.ReadInput{Node: uuid, What: node.ReadSubscription, ID: "z"})
	require.ErrorContains(t, err, "there is no z")
}
