package machine

import (
	"cmp"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session is a Redfish session.
type Session struct {
	ID       string
	User     string
	Token    string
	Created  time.Time
	lastUsed time.Time
}

// Errors of logging in.
var (
	// ErrCredentials: wrong user name or password.
	ErrCredentials = errors.New("wrong user name or password")
	// ErrSessionLimit: the BMC has as many sessions as it allows.
	ErrSessionLimit = errors.New("too many sessions")
)

// CountBadLogin counts a login that was refused.
func (s *Server) CountBadLogin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.badLogin++
	s.Log.Add(LogLoginFailed)
}

// Login creates a session.
func (s *Server) Login(user, password string) (Session, error) {
	if !s.CheckPassword(user, password) {
		return Session{}, ErrCredentials
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireSessions()
	if len(s.sessions) >= s.maxSessions() {
		return Session{}, ErrSessionLimit
	}
	if s.sessions == nil {
		s.sessions = map[string]*Session{}
	}
	s.nextID++
	now := time.Now()
	n := &Session{ID: strconv.Itoa(s.nextID), User: user, Token: rand.Text(), Created: now, lastUsed: now}
	s.sessions[n.Token] = n
	return *n, nil
}

// CheckToken reports whether a session has the token, and renews the session.
func (s *Server) CheckToken(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireSessions()
	n, ok := s.sessions[token]
	if ok {
		n.lastUsed = time.Now()
	}
	return ok
}

// ForgetToken deletes the session with that token, if there is one.
func (s *Server) ForgetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, token)
}

// Logout deletes the session with that id. It returns false if there is none.
func (s *Server) Logout(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, n := range s.sessions {
		if n.ID == id {
			delete(s.sessions, t)
			return true
		}
	}
	return false
}

// Sessions returns the sessions, oldest first, without their tokens.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireSessions()
	out := make([]Session, 0, len(s.sessions))
	for _, n := range s.sessions {
		out = append(out, Session{ID: n.ID, User: n.User, Created: n.Created})
	}
	slices.SortFunc(out, func(a, b Session) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// SessionTimeout returns how long a session lives without a request.
func (s *Server) SessionTimeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessionTimeout()
}

// sessionTimeout is SessionTimeout for callers that hold the lock.
func (s *Server) sessionTimeout() time.Duration {
	return cmp.Or(time.Duration(s.settings.SessionSeconds)*time.Second, s.env.SessionTimeout)
}

// SetSessionTimeout changes the session timeout of this BMC. The caller has checked d.
func (s *Server) SetSessionTimeout(d time.Duration) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.SessionSeconds = int(d.Seconds())
}

func (s *Server) expireSessions() {
	now := time.Now()
	for t, n := range s.sessions {
		if now.Sub(n.lastUsed) > s.sessionTimeout() {
			delete(s.sessions, t)
		}
	}
}
