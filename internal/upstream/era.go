package upstream

import (
	"durward"
	"durward/internal/wire"
)

// Era returns the era that the server is spoken to by default: that of its
// connection, else the one it had when it was connected last or is pinned to;
// EraUnknown before that is known.
func (s *Server) Era() wire.Era {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.primary.up != nil:
		return s.primary.up.opened.Era
	case s.pin != wire.EraUnknown:
		return s.pin
	default:
		return s.probed
	}
}

// Transport returns how the server is reached.
func (s *Server) Transport() durward.Transport { return s.opt.Spec.Transport }
