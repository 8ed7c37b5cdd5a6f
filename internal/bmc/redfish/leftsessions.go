package redfish

import (
	"context"
	"net/http"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// SessionBook remembers the sessions of all conductors with all BMCs. A BMC allows few sessions, some only eight, and
// keeps one that nobody uses for half an hour. So whoever logs in ends the sessions of conductors that have died.
// A session that could not be remembered ends by the BMC's own timeout, so no error is returned.
type SessionBook interface {
	// Opened remembers the session at path, if that is not empty, and returns the paths of the sessions with this BMC
	// whose conductors have died, at most 16.
	Opened(ctx context.Context, address, path string) (left []string)
	// Ended forgets sessions.
	Ended(ctx context.Context, address string, paths ...string)
}

// endLeftSessions remembers the session at path, "" for none, and ends the sessions that conductors left behind. It
// reports whether it ended one.
func (e *endpoint) endLeftSessions(ctx context.Context, l login, path string) bool {
	if e.conf.Sessions == nil {
		return false
	}
	var over []string
	freed := false
	for _, left := range e.conf.Sessions.Opened(ctx, e.info.address(), path) {
		ended, err := e.endLeftSession(ctx, l, left)
		if err != nil {
			break // the next login tries again
		}
		over, freed = append(over, left), freed || ended
	}
	e.forgetSessions(ctx, over...)
	return freed
}

// endLeftSession ends a session, and reports whether it did. It leaves a session of another user: some BMCs give the path of
// a session that has ended to the next one. It returns an error if the BMC did not say what became of the session, or
// refused the login: a wrong password must not be shown once for each session.
func (e *endpoint) endLeftSession(ctx context.Context, l login, path string) (bool, error) {
	about, err := e.fetch(ctx, path, l)
	if err != nil {
		return false, err
	}
	if denied := about.err(); fault.Is(denied, fault.Denied) {
		return false, denied
	}
	var of struct{ UserName looseString }
	if about.err() == nil && about.decode(&of) == nil && of.UserName != "" && !strings.EqualFold(string(of.UserName), e.info.username) {
		return false, nil
	}
	a, err := e.send(ctx, request{method: http.MethodDelete, path: path}, l)
	if err != nil {
		return false, err
	}
	if a.status == http.StatusNotFound {
		return false, nil
	}
	return a.err() == nil, a.err()
}

func (e *endpoint) forgetSessions(ctx context.Context, paths ...string) {
	if e.conf.Sessions != nil && len(paths) > 0 && paths[0] != "" {
		e.conf.Sessions.Ended(ctx, e.info.address(), paths...)
	}
}
