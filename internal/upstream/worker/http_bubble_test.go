package worker_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"durward/internal/exchange"
	"durward/internal/testkit/pipenet"
)

// bothInBubble is both in bubbles of time, where a deadline passes when all have
// done what they can, and not while one of them waits for a processor. The servers
// are those of newBubbleServer.
func bothInBubble(t *testing.T, f func(t *testing.T, via string)) {
	t.Helper()
	both(t, func(t *testing.T, via string) {
		synctest.Test(t, func(t *testing.T) { f(t, via) })
	})
}

// bubbleServer is a webServer that is reached inside of a bubble.
type bubbleServer struct {
	*webServer
	rt http.RoundTripper
}

func newBubbleServer(t *testing.T, answer func(w http.ResponseWriter, r *seen, raw *http.Request)) *bubbleServer {
	t.Helper()
	at := pipenet.Listen()
	s := &webServer{answer: answer}
	s.more = sync.NewCond(&s.mu)
	s.Server = &httptest.Server{Listener: at, Config: &http.Server{Handler: s}}
	s.Start()
	t.Cleanup(s.Close)
	rt := &http.Transport{DisableCompression: true, DialContext: at.Dial}
	t.Cleanup(rt.CloseIdleConnections)
	return &bubbleServer{s, rt}
}

// dial opens a connection to s.
func (s *bubbleServer) dial(t *testing.T, open func(exchange.LinkSpec, http.RoundTripper, exchange.Sink) exchange.Link, via string, edit ...func(*exchange.LinkSpec)) *webConn {
	t.Helper()
	return dialBy(t, func(spec exchange.LinkSpec, _ http.RoundTripper, sink exchange.Sink) exchange.Link {
		return open(spec, s.rt, sink)
	}, via, s.URL, edit...)
}
