package worker

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/node"
)

// sessionBookTimeout limits how long a login to a BMC waits for the database.
const sessionBookTimeout = 2 * time.Second

// BMCSessionStore is where the sessions with BMCs are remembered (package store).
type BMCSessionStore interface {
	OpenedBMCSession(ctx context.Context, conductor, address string, s node.BMCSession) (left []node.BMCSession, err error)
	EndedBMCSessions(ctx context.Context, address string, paths []string) error
}

// sessionBook logs what can't be remembered: the login goes on without.
type sessionBook struct {
	store     BMCSessionStore
	conductor string
	log       *zap.Logger
}

// NewSessionBook returns the book of the sessions with BMCs as the conductor of that name uses it.
func NewSessionBook(s BMCSessionStore, conductor string, log *zap.Logger) redfish.SessionBook {
	return sessionBook{s, conductor, log}
}

// Opened implements redfish.SessionBook.
func (b sessionBook) Opened(ctx context.Context, address string, s node.BMCSession) []node.BMCSession {
	ctx, cancel := context.WithTimeout(ctx, sessionBookTimeout)
	defer cancel()
	left, err := b.store.OpenedBMCSession(ctx, b.conductor, address, s)
	if err != nil {
		b.log.Warn("a session with a BMC was not remembered", zap.String("bmc", address), zap.Error(err))
	}
	return left
}

// Ended implements redfish.SessionBook.
func (b sessionBook) Ended(ctx context.Context, address string, paths ...string) {
	ctx, cancel := context.WithTimeout(ctx, sessionBookTimeout)
	defer cancel()
	if err := b.store.EndedBMCSessions(ctx, address, paths); err != nil {
		b.log.Warn("sessions with a BMC that have ended were not forgotten", zap.String("bmc", address), zap.Error(err))
	}
}
