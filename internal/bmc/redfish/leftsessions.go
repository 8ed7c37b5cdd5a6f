package redfish

import (
	"context"
	"net/http"
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
// reports whether it ended one. A session that the BMC does not know any more has ended, too.
func (e *endpoint) endLeftSessions(ctx context.Context, l login, path string) bool {
	if e.conf.Sessions == nil {
		return false
	}
	var ended []string
	freed := false
	for _, left := range e.conf.Sessions.Opened(ctx, e.info.address(), path) {
		a, err := e.send(ctx, request{method: http.MethodDelete, path: left}, l)
		if err != nil || a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
			break // the next login tries again; a wrong password must not be shown once for each session
		}
		if a.err() == nil {
			freed = true
		}
		if a.err() == nil || a.status == http.StatusNotFound {
			ended = append(ended, left)
		}
	}
	e.forgetSessions(ctx, ended...)
	return freed
}

func (e *endpoint) forgetSessions(ctx context.Context, paths ...string) {
	if e.conf.Sessions != nil && len(paths) > 0 && paths[0] != "" {
		e.conf.Sessions.Ended(ctx, e.info.address(), paths...)
	}
}
