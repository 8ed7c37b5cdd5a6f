package redfish

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// SessionBook remembers the sessions of all conductors with all BMCs. A BMC allows few sessions, some only eight, and
// keeps one that nobody uses for half an hour. So whoever logs in ends the sessions of conductors that have died.
// A session that could not be remembered ends by the BMC's own timeout, so no error is returned.
type SessionBook interface {
	// Opened remembers a session, if its path is not empty, and returns the sessions with this BMC whose conductors have
	// died, at most 16.
	Opened(ctx context.Context, address string, s node.BMCSession) (left []node.BMCSession)
	// Ended forgets sessions.
	Ended(ctx context.Context, address string, paths ...string)
}

// endLeftSessions remembers the session own, whose path is "" for none, and ends the sessions that conductors left behind. It
// reports whether it ended one.
func (e *endpoint) endLeftSessions(ctx context.Context, l login, own node.BMCSession) bool {
	if e.conf.Sessions == nil {
		return false
	}
	var over []string
	freed := false
	for _, left := range e.conf.Sessions.Opened(ctx, e.info.address(), own) {
		ended, err := e.endLeftSession(ctx, l, left)
		if err != nil {
			break // the next login tries again
		}
		over, freed = append(over, left.Path), freed || ended
	}
	e.forgetSessions(ctx, over...)
	return freed
}

// endLeftSession ends a session, and reports whether it did. It does not end a session of another user or one that was created at
// another time: some BMCs give the path of a session that has ended to the next one. It returns an error if the BMC did not say
// what became of the session, or refused the login: a wrong password must not be shown once for each session.
func (e *endpoint) endLeftSession(ctx context.Context, l login, left node.BMCSession) (bool, error) {
	about, err := e.fetch(ctx, left.Path, l)
	if err != nil {
		return false, err
	}
	if denied := about.err(); fault.Is(denied, fault.Denied) {
		return false, denied
	}
	var now aboutSession
	if about.err() == nil && about.decode(&now) == nil && now.isOther(e.info.username, left.Created) {
		return false, nil
	}
	a, err := e.send(ctx, request{method: http.MethodDelete, path: left.Path}, l)
	if err != nil {
		return false, err
	}
	if a.status == http.StatusNotFound {
		return false, nil
	}
	return a.err() == nil, a.err()
}

// aboutSession is what a BMC tells of a session.
type aboutSession struct {
	UserName    looseString
	CreatedTime looseString
}

// isOther reports whether the session is certainly not the one that the user created at the time created; "" = that is not known.
func (s aboutSession) isOther(user, created string) bool {
	return s.UserName != "" && !strings.EqualFold(string(s.UserName), user) || s.created() != "" && created != "" && !sameTime(s.created(), created)
}

// maxCreated bounds a CreatedTime, which has 25 bytes.
const maxCreated = 64

// created returns the CreatedTime, "" if the BMC does not tell it.
func (s aboutSession) created() string {
	if len(s.CreatedTime) > maxCreated {
		return ""
	}
	return string(s.CreatedTime)
}

// sameTime reports whether both are the same time. The time zone in which a BMC tells it may have been changed meanwhile.
func sameTime(one, other string) bool {
	a, err := time.Parse(time.RFC3339, one)
	b, otherErr := time.Parse(time.RFC3339, other)
	if err != nil || otherErr != nil {
		return one == other
	}
	return a.Equal(b)
}

func (e *endpoint) forgetSessions(ctx context.Context, paths ...string) {
	if e.conf.Sessions != nil && len(paths) > 0 && paths[0] != "" {
		e.conf.Sessions.Ended(ctx, e.info.address(), paths...)
	}
}
