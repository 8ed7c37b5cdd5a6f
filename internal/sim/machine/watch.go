package machine

// Watch returns a channel that gets a value after each change of the server's state; changes that come before it was read
// are one. end must be called.
func (s *Server) Watch() (changes <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		s.watchers = map[chan struct{}]bool{}
	}
	s.watchers[c] = true
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, c)
	}
}

// changed says that the server's state has changed. The caller must not hold the lock.
func (s *Server) changed() {
	s.mu.Lock()
	for c := range s.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	s.mu.Unlock()
	if s.env.Changed != nil {
		s.env.Changed(s)
	}
}
