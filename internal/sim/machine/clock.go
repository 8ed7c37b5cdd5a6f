package machine

import "time"

// Clock returns what the clock of the BMC shows. It is right until somebody sets it, and after a start of the rack.
func (s *Server) Clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.clockAhead).UTC()
}

// SetClock sets the clock of the BMC.
func (s *Server) SetClock(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clockAhead = time.Until(at)
}
