package worker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/node"
)

// BMCSubscriptionStore is where the subscriptions to the events of BMCs are remembered, and their events announced (package
// store).
type BMCSubscriptionStore interface {
	OpenBMCSubscription(ctx context.Context, conductor, address, id string) error
	LeftBMCSubscriptions(ctx context.Context, address string) ([]string, error)
	EndedBMCSubscriptions(ctx context.Context, ids []string) error
	AbandonBMCSubscription(ctx context.Context, id string) error
	HearBMCEvents(ctx context.Context, ready func(), heard func(id string)) error
}

// hearAgain is the pause before a connection that broke is made again.
const hearAgain = 2 * time.Second

// SubscriptionBook is the redfish.SubscriptionBook of a conductor. Run has to run while it is used.
type SubscriptionBook struct {
	Store     BMCSubscriptionStore
	Conductor string // its name
	URL       string // at which BMCs reach the API
	Log       *zap.Logger

	mu       sync.Mutex
	happened map[string]func() // by id
}

// Run hears the events that the API announces, until ctx ends.
func (b *SubscriptionBook) Run(ctx context.Context) {
	for {
		err := b.Store.HearBMCEvents(ctx, func() {}, b.hear)
		if ctx.Err() != nil {
			return
		}
		b.Log.Warn("the events of BMCs are not heard for a moment", zap.Error(err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(hearAgain):
		}
	}
}

func (b *SubscriptionBook) hear(id string) {
	b.mu.Lock()
	happened := b.happened[id]
	b.mu.Unlock()
	if happened != nil {
		happened()
	}
}

// Begin implements redfish.SubscriptionBook.
func (b *SubscriptionBook) Begin(ctx context.Context, address string, happened func()) (string, error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	destination := strings.TrimRight(b.URL, "/") + node.EventPath + base64.RawURLEncoding.EncodeToString(secret)
	id := node.SubscriptionID(destination)
	ctx, cancel := context.WithTimeout(ctx, sessionBookTimeout)
	defer cancel()
	if err := b.Store.OpenBMCSubscription(ctx, b.Conductor, address, id); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.happened == nil {
		b.happened = map[string]func(){}
	}
	b.happened[id] = happened
	return destination, nil
}

func (b *SubscriptionBook) forget(ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.happened, id)
	}
}

// Ended implements redfish.SubscriptionBook.
func (b *SubscriptionBook) Ended(ctx context.Context, ids ...string) {
	b.forget(ids...)
	ctx, cancel := context.WithTimeout(ctx, sessionBookTimeout)
	defer cancel()
	if err := b.Store.EndedBMCSubscriptions(ctx, ids); err != nil {
		b.Log.Warn("subscriptions to the events of a BMC that have ended were not forgotten", zap.Error(err))
	}
}

// Abandoned implements redfish.SubscriptionBook.
func (b *SubscriptionBook) Abandoned(ctx context.Context, id string) {
	b.forget(id)
	ctx, cancel := context.WithTimeout(ctx, sessionBookTimeout)
	defer cancel()
	if err := b.Store.AbandonBMCSubscription(ctx, id); err != nil {
		b.Log.Warn("a subscription to the events of a BMC was not deleted, and that was not recorded", zap.Error(err))
	}
}

// Left implements redfish.SubscriptionBook.
func (b *SubscriptionBook) Left(ctx context.Context, address string) []string {
	ctx, cancel := context.WithTimeout(ctx, sessionBookTimeout)
	defer cancel()
	left, err := b.Store.LeftBMCSubscriptions(ctx, address)
	if err != nil {
		b.Log.Warn("what other conductors have left with a BMC was not found", zap.String("bmc", address), zap.Error(err))
	}
	return left
}
