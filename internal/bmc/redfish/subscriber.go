package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// eventDestination is a subscription as a BMC tells it.
type eventDestination struct {
	ID          looseString `json:"Id"`
	Context     looseString
	Protocol    looseString
	Destination looseString
	EventTypes  looseList[looseString]
}

// Subscriptions reads the subscriptions of others than Temper.
func (s *session) Subscriptions(ctx context.Context) (collection string, all []bmc.Subscription, err error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	collection, _, err = s.subscriptions(ctx)
	if err == nil {
		all, err = s.readSubscriptions(ctx, collection)
	}
	return collection, all, s.wrap("read the event subscriptions", err)
}

// subscriptions returns the path of the collection of subscriptions, and the types of events that the BMC names.
func (s *session) subscriptions(ctx context.Context) (collection string, types []string, err error) {
	service, err := s.eventService(ctx)
	if err != nil {
		return "", nil, err
	}
	if service.Subscriptions == "" {
		return "", nil, fault.New(fault.Refused, "the BMC has no service of events that is enabled")
	}
	for _, t := range service.EventTypes {
		types = append(types, string(t))
	}
	return string(service.Subscriptions), types, nil
}

func (s *session) readSubscriptions(ctx context.Context, collection string) (all []bmc.Subscription, err error) {
	paths, err := s.members(ctx, collection)
	for _, p := range paths {
		one, rerr := s.readSubscription(ctx, p)
		switch {
		case fault.Is(rerr, fault.NotFound), gone(rerr): // deleted meanwhile, or Temper's own
		case rerr != nil:
			return nil, rerr
		default:
			all = append(all, one)
		}
	}
	return all, err
}

// readSubscription returns fault.NotFound for a subscription of Temper itself.
func (s *session) readSubscription(ctx context.Context, at string) (bmc.Subscription, error) {
	var d eventDestination
	if _, err := s.read(ctx, at, &d); err != nil {
		return bmc.Subscription{}, err
	}
	if node.IsEventDestination(string(d.Destination)) {
		return bmc.Subscription{}, fault.New(fault.NotFound, "the subscription is Temper's own")
	}
	out := bmc.Subscription{Path: at, EventSubscription: node.EventSubscription{
		ID: string(d.ID), Context: string(d.Context), Protocol: string(d.Protocol), Destination: string(d.Destination), EventTypes: []string{},
	}}
	if out.ID == "" {
		out.ID = path.Base(at)
	}
	for _, t := range d.EventTypes {
		out.EventTypes = append(out.EventTypes, string(t))
	}
	return out, nil
}

// Subscription reads one subscription.
func (s *session) Subscription(ctx context.Context, id string) (bmc.Subscription, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	one, err := s.subscription(ctx, id)
	return one, s.wrap("read the event subscription", err)
}

// subscription reads the member of the collection whose path ends with the id.
func (s *session) subscription(ctx context.Context, id string) (bmc.Subscription, error) {
	collection, _, err := s.subscriptions(ctx)
	if err != nil {
		return bmc.Subscription{}, err
	}
	var one bmc.Subscription
	if validID(id) {
		at := collection + "/" + id
		if strings.HasSuffix(collection, "/") { // HPE's paths end so
			at = collection + id + "/"
		}
		one, err = s.readSubscription(ctx, at)
	}
	if !validID(id) || gone(err) || fault.Is(err, fault.NotFound) {
		return one, fault.Coded(fault.SubscriptionNotFound, "The BMC has no event subscription %s that is not Temper's own", printable(id, 80))
	}
	return one, err
}

// validID reports whether id can be the last segment of a path of the BMC.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && id != "." && id != ".." && !strings.ContainsFunc(id, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("/?#%\\", r)
	})
}

// maxID is the length of the longest id of a subscription, in bytes.
const maxID = 255

// CreateSubscription creates a subscription and reads it.
func (s *session) CreateSubscription(ctx context.Context, want node.EventSubscription, headers []any) (bmc.Subscription, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	one, err := s.create(ctx, want, headers)
	return one, s.wrap("create an event subscription", err)
}

func (s *session) create(ctx context.Context, want node.EventSubscription, headers []any) (bmc.Subscription, error) {
	collection, types, err := s.subscriptions(ctx)
	if err != nil {
		return bmc.Subscription{}, err
	}
	if i := slices.IndexFunc(want.EventTypes, func(t string) bool { return !slices.Contains(types, t) }); i >= 0 && len(types) > 0 {
		return bmc.Subscription{}, fault.New(fault.Invalid, "the BMC has no EventTypes %s; it has %s", printable(want.EventTypes[i], 80), printable(strings.Join(types, ", "), maxMessage))
	}
	body := map[string]any{"Destination": want.Destination, "Protocol": want.Protocol, "Context": want.Context, "EventTypes": want.EventTypes}
	secrets := append(secretsOf(want.Destination), want.Destination)
	if len(headers) > 0 {
		body["HttpHeaders"] = headers
		secrets = append(secrets, stringsIn(headers)...)
	}
	a, err := s.changed(bmc.Asking(ctx, bmc.NameSubscribe), http.MethodPost, collection, "", body, secrets...)
	if err != nil {
		return bmc.Subscription{}, err
	}
	at := createdPath(a)
	created := bmc.Subscription{Path: at, EventSubscription: want}
	if at == "" {
		return s.newest(ctx, collection, created)
	}
	created.ID = path.Base(at)
	if read, err := s.readSubscription(ctx, at); err == nil { // else it is as it was asked for
		created = read
	}
	return created, nil
}

// newest returns the subscription with the destination of created that the BMC lists last, for a BMC that has not said where the new
// one is. The BMC has accepted the request, so no error may mean that it has certainly not carried it out: a list that can't be read
// counts as an answer that was lost, after which the caller looks for the new one, and a list without it as fault.OutcomeUnknown.
func (s *session) newest(ctx context.Context, collection string, created bmc.Subscription) (bmc.Subscription, error) {
	all, err := s.readSubscriptions(ctx, collection)
	var end *cancelledRequest
	switch {
	case errors.As(err, &end):
		return created, err
	case err != nil:
		lost := &lostAnswer{sent: true, text: "the BMC has accepted the subscription without saying where it is, and does not list it: " + err.Error()}
		return created, fault.New(fault.Unreachable, "%w", lost)
	}
	for _, one := range all {
		if one.Destination == created.Destination {
			created = one
		}
	}
	if created.ID == "" {
		err = fault.New(fault.OutcomeUnknown, "the BMC has accepted the subscription, and lists none with this destination")
	}
	return created, err
}

// stringsIn returns all strings in v, a JSON value.
func stringsIn(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, one := range v {
			all = append(all, stringsIn(one)...)
		}
	case map[string]any:
		for _, one := range v {
			all = append(all, stringsIn(one)...)
		}
	default:
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// DeleteSubscription deletes a subscription.
func (s *session) DeleteSubscription(ctx context.Context, id string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	one, err := s.subscription(ctx, id)
	if err == nil {
		err = s.change(bmc.Asking(ctx, bmc.NameUnsubscribe(id)), http.MethodDelete, one.Path, "", nil)
	}
	if gone(err) {
		err = nil
	}
	return s.wrap("delete the event subscription", err)
}
