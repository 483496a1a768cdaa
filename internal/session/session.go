package session

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Session is one conversation with a client. Its methods may be called from any goroutine.
type Session struct {
	store   *Store
	id      string         // under which it is in the store
	caller  durward.Caller // as the entrance knows it; Client is filled in by Greet
	route   durward.Route
	revived bool                   // it was begun in another process
	used    atomic.Int64           // Unix nanoseconds
	facts   atomic.Pointer[facts]  // what initialize said
	level   atomic.Pointer[string] // set by logging/setLevel; nil: never

	calls calls
	asks  asks
	boxes boxes

	mu     sync.Mutex // guards ended and onEnd
	ended  bool
	onEnd  []func()
	endNow sync.Once

	attach   sync.Once
	attached atomic.Bool
}

type facts struct {
	caller durward.Caller
	client exchange.Client
}

func newSession(store *Store, caller durward.Caller, route durward.Route) *Session {
	s := &Session{store: store, caller: caller, route: route}
	s.facts.Store(&facts{caller: caller})
	s.touch()
	return s
}

// Greet notes what the client said at initialize. The bytes are copied.
func (s *Session) Greet(client exchange.Client) {
	client.Info, client.Capabilities = bytes.Clone(client.Info), bytes.Clone(client.Capabilities)
	caller := s.caller
	caller.Client = describe(client.Info)
	s.facts.Store(&facts{caller: caller, client: client})
}

// describe reads name and version out of an Implementation object, cut to what is fit for display.
func describe(info []byte) durward.ClientInfo {
	name, _ := wire.Unquote(wire.Get(info, "name"))
	version, _ := wire.Unquote(wire.Get(info, "version"))
	return durward.ClientInfo{Name: clip(name), Version: clip(version)}
}

func clip(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return string([]byte(s[:most])) // a copy, so that the rest is not kept
}

// Caller returns who speaks, with the session and what the client calls itself.
func (s *Session) Caller() durward.Caller { return s.facts.Load().caller }

// Client returns what the client said at initialize; its Revision is empty before.
func (s *Session) Client() exchange.Client { return s.facts.Load().client }

// Level returns the least severe level of log messages wanted, "" while the client never said.
func (s *Session) Level() string {
	if level := s.level.Load(); level != nil {
		return *level
	}
	return ""
}

// SetLevel notes what logging/setLevel asked for.
func (s *Session) SetLevel(level string) { s.level.Store(&level) }

// OnEnd has f called once when the session ends, at once if it has ended.
func (s *Session) OnEnd(f func()) {
	s.mu.Lock()
	if !s.ended {
		s.onEnd = append(s.onEnd, f)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	f()
}

// End cancels what is in flight, fails what the client was asked and closes its
// streams. It may be called more than once and returns when that is done.
func (s *Session) End() {
	s.endNow.Do(func() {
		s.mu.Lock()
		s.ended = true
		after := slices.Clone(s.onEnd)
		s.onEnd = nil
		s.mu.Unlock()
		s.calls.end()
		s.asks.end()
		s.boxes.end()
		for _, f := range after {
			f()
		}
	})
}

func (s *Session) touch() { s.used.Store(time.Now().UnixNano()) }

func (s *Session) lastUse() time.Time { return time.Unix(0, s.used.Load()) }

// busy reports whether a request is in flight or a stream of the client is open.
func (s *Session) busy() bool { return s.calls.any() || s.boxes.read() }
