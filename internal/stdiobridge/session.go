package stdiobridge

import (
	"bytes"
	"hash/maphash"
	"slices"

	"durward"
	"durward/internal/wire"
)

// subscriptionsMost bounds what is remembered of resources/subscribe: the default
// of limits.session_subscriptions. More are lost when the service ends.
const subscriptionsMost = 1000

const initializedLine = `{"jsonrpc":"2.0","method":"` + wire.NoteInitialized + `"}`

var errForgotten = durward.Errorf(durward.Unavailable, "",
	"the service ended, and cannot be told anew who the client is: its initialize request was too large to be kept; start the client anew")

// session is what a legacy client's connection is in, and has to be brought to
// again after it broke. Bridge.mu guards it.
type session struct {
	seed        maphash.Seed
	greeted     bool   // initialize was answered
	hello       []byte // its params; nil if they could not be kept
	facts       uint64 // digest of the revision and the capabilities that it was answered with
	initialized bool   // the client has sent the notification
	level       []byte // of the last logging/setLevel, a JSON string; nil: none
	uris        []string
	forgot      bool // there were more subscriptions than could be kept
}

func newSession() session { return session{seed: maphash.MakeSeed()} }

// greet notes that initialize was answered.
func (s *session) greet(params, result []byte) {
	s.greeted, s.hello, s.facts = true, bytes.Clone(params), s.digestOf(result)
}

// digestOf is of what the answer to initialize settles.
func (s *session) digestOf(result []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, name := range [...]string{"protocolVersion", "capabilities"} {
		_, _ = h.Write(append(wire.Get(result, name), 0)) // never fails
	}
	return h.Sum64()
}

// answered notes what the answer to a request settles.
func (s *session) answered(e *entry, m *wire.Message) {
	if m.Kind != wire.Result {
		return
	}
	switch e.method {
	case wire.MethodInitialize:
		if !s.greeted {
			s.greet(e.params(), m.Result)
		}
	case wire.MethodSetLevel:
		s.level = bytes.Clone(wire.Get(e.params(), "level"))
	case wire.MethodSubscribe:
		s.subscribe(e)
	case wire.MethodUnsubscribe:
		if uri, ok := wire.Unquote(wire.Get(e.params(), "uri")); ok {
			s.drop(uri)
		}
	}
}

func (s *session) subscribe(e *entry) {
	uri, ok := wire.Unquote(wire.Get(e.params(), "uri"))
	switch {
	case ok && s.has(uri):
	case !ok || len(s.uris) >= subscriptionsMost || len(uri) > keepMost/subscriptionsMost:
		s.forgot = true
	default:
		s.uris = append(s.uris, uri)
	}
}

func (s *session) drop(uri string) {
	if i := slices.Index(s.uris, uri); i >= 0 {
		s.uris = slices.Delete(s.uris, i, i+1)
	}
}

func (s *session) has(uri string) bool { return slices.Contains(s.uris, uri) }
