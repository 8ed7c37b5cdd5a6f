package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// SubscriptionBook makes the destinations of subscriptions to the events of BMCs, and remembers the subscriptions of all
// conductors: a BMC allows few, and keeps one until it is deleted. An id is that of node.SubscriptionID.
type SubscriptionBook interface {
	// Begin records that this conductor is about to subscribe to the events of the BMC at address, and returns the URL to which
	// the BMC has to send them. Until Ended or Abandoned it calls happened at each event.
	Begin(ctx context.Context, address string, happened func()) (destination string, err error)
	// Ended forgets subscriptions that the BMC does not have any more.
	Ended(ctx context.Context, ids ...string)
	// Abandoned records that this conductor could not delete a subscription, so that the next login finds it.
	Abandoned(ctx context.Context, id string)
	// Left returns the subscriptions with this BMC whose conductors have died or have abandoned them, at most 16.
	Left(ctx context.Context, address string) []string
}

// subscribe has the events of the BMC sent to the API until ctx ends. Like a login, it is not guarded: it does not change the
// server, and the book remembers it.
func (s *session) subscribe(ctx context.Context, subscriptions string, happened func()) error {
	e, book := s.endpoint, s.endpoint.conf.Subscriptions
	destination, err := book.Begin(ctx, e.info.address(), happened)
	if err != nil {
		return err
	}
	id := node.SubscriptionID(destination)
	path, err := s.createSubscription(ctx, subscriptions, destination)
	if err == nil {
		happened()
		<-ctx.Done()
		err = cancelled(ctx, false)
	}
	// The request to create it may have taken effect even if it failed, or take effect later, unless the BMC has refused it.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(2*e.within(), deleteTime))
	defer cancel()
	var refused *refusal
	if errors.As(err, &refused) && refused.status < 500 || s.deleteSubscription(end, subscriptions, path, id) == nil {
		book.Ended(end, id)
	} else {
		book.Abandoned(end, id)
	}
	return err
}

// deleteTime bounds how long a step that is over waits until its subscription is deleted. After it the next login deletes it.
const deleteTime = 10 * time.Second

// createSubscription returns the path of the new subscription, "" if the BMC does not say. BMCs of older services want types of
// events instead of a type of subscription.
func (s *session) createSubscription(ctx context.Context, subscriptions, destination string) (path string, err error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	base := map[string]any{"Destination": destination, "Protocol": "Redfish", "Context": "temper"}
	for _, more := range []map[string]any{
		{"SubscriptionType": "RedfishEvent"},
		{"EventTypes": []string{"StatusChange", "ResourceUpdated", "Alert"}},
	} {
		maps.Copy(more, base)
		path, err = s.post(ctx, subscriptions, more, destination)
		var no *refusal
		if !errors.As(err, &no) || no.status != http.StatusBadRequest {
			break
		}
	}
	return path, err
}

// post creates a member of a collection, and returns its path.
func (s *session) post(ctx context.Context, collection string, body any, secrets ...string) (string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", fault.New(fault.Internal, "encode a request to %s: %w", collection, err)
	}
	a, err := s.withLogin(ctx, func(p login) (*answer, error) {
		return s.endpoint.send(ctx, request{method: http.MethodPost, path: collection, body: text, secrets: secrets}, p)
	})
	if err != nil {
		return "", err
	}
	return createdPath(a), nil
}

// deleteSubscription deletes the subscription at path, or looks for it if the path is not known. It fails if it does not find it,
// because the BMC may still be about to create it.
func (s *session) deleteSubscription(ctx context.Context, subscriptions, path, id string) error {
	if path == "" {
		l, err := s.endpoint.ensureLogin(ctx, 0)
		if err != nil {
			return err
		}
		deleted, _, err := s.endpoint.deleteSubscriptions(ctx, l, subscriptions, []string{id})
		if err == nil && deleted == 0 {
			err = fault.New(fault.NotFound, "the BMC shows no subscription of this destination")
		}
		return err
	}
	_, err := s.withLogin(ctx, func(p login) (*answer, error) {
		return s.endpoint.send(ctx, request{method: http.MethodDelete, path: path}, p)
	})
	if gone(err) {
		return nil
	}
	return err
}

func gone(err error) bool {
	var no *refusal
	return errors.As(err, &no) && (no.status == http.StatusNotFound || no.status == http.StatusGone)
}

// endLeftSubscriptions deletes the subscriptions that conductors have left with this BMC. It is part of a login, whose login
// is l. One that can't be deleted is left to the next login.
func (e *endpoint) endLeftSubscriptions(ctx context.Context, l login) {
	book := e.conf.Subscriptions
	if book == nil {
		return
	}
	left := book.Left(ctx, e.info.address())
	if len(left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leftTime)
	defer cancel()
	root, err := e.serviceRoot(ctx)
	if err != nil || root.EventService == "" {
		return
	}
	var service eventService
	if a, err := e.fetch(ctx, string(root.EventService), l); err != nil || a.err() != nil || a.decode(&service) != nil || service.Subscriptions == "" {
		return
	}
	if _, all, err := e.deleteSubscriptions(ctx, l, string(service.Subscriptions), left); err == nil && all {
		book.Ended(ctx, left...)
	}
}

// leftTime bounds how long a login is held up by what others have left.
const leftTime = 30 * time.Second

// deleteSubscriptions deletes the members of the collection whose destinations have these ids, and counts them. all reports
// whether every member could be read, so that none of the ids is left.
func (e *endpoint) deleteSubscriptions(ctx context.Context, l login, subscriptions string, ids []string) (deleted int, all bool, err error) {
	var c collection
	a, err := e.fetch(ctx, subscriptions, l)
	if err == nil {
		err = errors.Join(a.err(), a.decode(&c))
	}
	if err != nil {
		return deleted, false, err
	}
	all = c.NextLink == "" && len(c.Members) <= maxMembers
	for _, path := range c.Members[:min(len(c.Members), maxMembers)] {
		var one struct{ Destination looseString }
		a, err := e.fetch(ctx, path, l)
		if err != nil {
			return deleted, false, err
		}
		if a.status == http.StatusNotFound {
			continue
		}
		if a.err() != nil || a.decode(&one) != nil {
			all = false
			continue
		}
		if !slices.Contains(ids, node.SubscriptionID(string(one.Destination))) {
			continue
		}
		if a, err = e.send(ctx, request{method: http.MethodDelete, path: path}, l); err != nil {
			return deleted, false, err
		}
		if err := a.err(); err != nil && a.status != http.StatusNotFound {
			return deleted, false, fault.New(fault.KindOf(err), "%w", err)
		}
		deleted++
	}
	return deleted, all, nil
}
