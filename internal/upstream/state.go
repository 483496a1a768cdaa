package upstream

import (
	"maps"
	"time"

	"durward"
)

// become is the only place where the state changes. Everybody who wants to know
// is told afterwards, in order. mu is held.
func (s *Server) become(state durward.ServerState, reason string, next time.Time) {
	if s.state == state && s.reason == reason && s.next.Equal(next) {
		return
	}
	if s.state != state {
		s.since = time.Now()
	}
	s.state, s.reason, s.next = state, reason, next
	s.announceState()
}

// settleState is the state of a server whose primary is connected: it depends on
// what of its catalog could be read. mu is held.
func (s *Server) settleState() {
	reason := ""
	for k, why := range s.failed {
		if why != "" {
			reason = joinReasons(reason, kind(k).String()+": "+why)
		}
	}
	if reason != "" {
		s.become(durward.StateDegraded, reason, time.Time{})
		return
	}
	s.become(durward.StateReady, "", time.Time{})
}

func joinReasons(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Status returns what is to be said of the server now.
func (s *Server) Status() durward.ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status()
}

// status needs mu.
func (s *Server) status() durward.ServerStatus {
	st := durward.ServerStatus{
		Name: s.name, Transport: s.opt.Spec.Transport, State: s.state, Reason: s.reason, NextTry: s.next, Since: s.since,
		Restarts: s.restarts, InFlight: s.active, Queued: len(s.waiting), Confined: s.confined,
		Tools: len(s.listing.Tools), Prompts: len(s.listing.Prompts), Resources: len(s.listing.Resources), Templates: len(s.listing.Templates),
	}
	if s.listing.Revision != "" {
		st.Era, st.Revision = s.listing.Era.String(), s.listing.Revision
	}
	if c := s.primary.up; c != nil {
		st.Era, st.Revision = c.opened.Era.String(), c.opened.Revision
	}
	if len(s.oddities) > 0 {
		st.Anomalies = maps.Clone(s.oddities)
	}
	return st
}

// maxOddities bounds how many kinds of anomalies are told apart: their names may
// come from a worker that is not to be trusted.
const maxOddities = 64

func (s *Server) count(kind string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally(kind, n)
}

// tally needs mu.
func (s *Server) tally(kind string, n int) {
	if _, known := s.oddities[kind]; !known && len(s.oddities) >= maxOddities {
		kind = "other"
	}
	s.oddities[kind] += n
}
