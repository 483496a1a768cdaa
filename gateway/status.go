package gateway

import "durward"

// Status is what is to be said of a running gateway.
type Status struct {
	Servers  []durward.ServerStatus `json:"servers"`
	Policy   string                 `json:"policy"`   // in a sentence: what decides calls
	Ledger   string                 `json:"ledger"`   // in a sentence: where calls are recorded
	Sessions int                    `json:"sessions"` // legacy sessions that are open
}

// Status reports the state of the gateway and of every server.
func (g *Gateway) Status() Status {
	s := Status{Servers: g.set.Status(), Policy: "rules decide every call", Ledger: "every call is recorded before it acts"}
	if _, all := g.decider.(allowAll); all {
		s.Policy = "none: every call is allowed"
	}
	if _, nothing := g.recorder.(recordNothing); nothing {
		s.Ledger = "none: nothing is recorded"
	}
	g.sessions.Range(func(any, any) bool { s.Sessions++; return true })
	return s
}
