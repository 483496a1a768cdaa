package egress

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of how long a connection of which a server says when it closes it is kept idle.
const (
	idleMargin = time.Second      // before the server does: a request is under way for that long at most
	idleLeast  = time.Millisecond // http.Transport takes 0 for ever
)

// patient keeps idle connections for a shorter time than the server says that it does, in
// Keep-Alive: timeout=SECONDS (RFC 2068 §19.7.1.1, which servers still follow; those of
// Node say 5). A request that comes to a connection when the server is just closing it
// would be lost, and nobody could say whether it was executed.
type patient struct {
	current atomic.Pointer[http.Transport]

	mu     sync.Mutex        // guards former, and is held to change current
	former []*http.Transport // their connections may still be in use
}

func newPatient(t *http.Transport) *patient {
	p := &patient{}
	p.current.Store(t)
	return p
}

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	t := p.current.Load()
	resp, err := t.RoundTrip(req)
	if err == nil {
		if said, ok := idleSaid(resp.Header); ok && said < t.IdleConnTimeout {
			p.shorten(said)
		}
	}
	return resp, err
}

// CloseIdleConnections closes the connections that no request is on.
func (p *patient) CloseIdleConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current.Load().CloseIdleConnections()
	for _, t := range p.former {
		t.CloseIdleConnections()
	}
}

// shorten has connections kept for that long. A transport cannot be changed any more, so
// another one takes what comes.
func (p *patient) shorten(to time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.current.Load()
	if to >= old.IdleConnTimeout {
		return
	}
	next := old.Clone()
	next.IdleConnTimeout = to
	p.current.Store(next)
	p.former = append(p.former, old) // as many as there are whole seconds in idleTimeout at most
	old.CloseIdleConnections()
}

// idleSaid is for how long a connection is kept of which the server says how long it does.
func idleSaid(h http.Header) (time.Duration, bool) {
	for _, line := range h["Keep-Alive"] {
		for field := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
			if !strings.EqualFold(name, "timeout") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
			if err != nil {
				return 0, false
			}
			said := time.Duration(seconds) * time.Second
			return max(said-idleMargin, said/2, idleLeast), true
		}
	}
	return 0, false
}
