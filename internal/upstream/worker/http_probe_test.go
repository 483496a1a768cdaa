package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// TestB16_EraProbing: what an answer to the probe says of the era, and what is an
// outage instead.
func TestB16_EraProbing(t *testing.T) {
	const (
		page    = "<html>hello</html>"
		failure = `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":{"supported":["2025-06-18"]}}}`
	)
	refuse := func(status int, body string) func(http.ResponseWriter, *seen) {
		return func(w http.ResponseWriter, r *seen) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	rpc := func(status, code int) func(http.ResponseWriter, *seen) {
		return func(w http.ResponseWriter, r *seen) { sendJSON(w, status, fmt.Sprintf(failure, r.ID, code)) }
	}
	for name, tc := range map[string]struct {
		discover func(http.ResponseWriter, *seen)
		era      wire.Era     // EraUnknown: the handshake fails
		kind     durward.Kind // then
	}{
		"modern": {func(w http.ResponseWriter, r *seen) { sendJSON(w, 200, resultFor(r, discoverResult)) }, wire.Modern, 0},
		"modern in a stream": {func(w http.ResponseWriter, r *seen) {
			startStream(w)
			sendEvent(w, "id: 1\ndata:")
			sendEvent(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			sendEvent(w, "data: "+resultFor(r, discoverResult))
		}, wire.Modern, 0},
		"knows discover, speaks legacy only": {func(w http.ResponseWriter, r *seen) {
			sendJSON(w, 200, resultFor(r, `{"supportedVersions":["2025-11-25"],"capabilities":{}}`))
		}, wire.Legacy, 0},
		"400":                        {refuse(400, page), wire.Legacy, 0},
		"404":                        {refuse(404, ""), wire.Legacy, 0},
		"405":                        {refuse(405, ""), wire.Legacy, 0},
		"406":                        {refuse(406, page), wire.Legacy, 0},
		"415":                        {refuse(415, ""), wire.Legacy, 0},
		"422":                        {refuse(422, page), wire.Legacy, 0},
		"501":                        {refuse(501, page), wire.Legacy, 0},
		"200 with a page":            {refuse(200, page), wire.Legacy, 0},
		"202":                        {refuse(202, ""), wire.Legacy, 0},
		"unknown method":             {rpc(200, -32601), wire.Legacy, 0},
		"400 unknown method":         {rpc(400, -32601), wire.Legacy, 0},
		"500 with an error":          {rpc(500, -32603), wire.Legacy, 0},
		"legacy versions named":      {rpc(400, -32022), wire.Legacy, 0},
		"401":                        {refuse(401, page), wire.EraUnknown, durward.Unauthenticated},
		"403":                        {refuse(403, page), wire.EraUnknown, durward.Unauthenticated},
		"401 with an error":          {rpc(401, -32001), wire.EraUnknown, durward.Unauthenticated},
		"429":                        {refuse(429, ""), wire.EraUnknown, durward.Unavailable},
		"500":                        {refuse(500, page), wire.EraUnknown, durward.Unavailable},
		"502":                        {refuse(502, page), wire.EraUnknown, durward.Unavailable},
		"503":                        {refuse(503, page), wire.EraUnknown, durward.Unavailable},
		"a stream without an answer": {func(w http.ResponseWriter, _ *seen) { startStream(w) }, wire.EraUnknown, durward.Unavailable},
		"the connection breaks": {func(w http.ResponseWriter, _ *seen) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}, wire.EraUnknown, durward.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newWebServer(t, func(w http.ResponseWriter, r *seen, raw *http.Request) {
				if r.Name == wire.MethodDiscover {
					tc.discover(w, r)
					return
				}
				noStream(legacy(nil))(w, r, raw)
			})
			c := dialWeb(t, "direct", s.URL)
			if tc.era != wire.EraUnknown {
				if o := c.opened(); o.Era != tc.era {
					t.Errorf("%v", o.Era)
				}
				return
			}
			closed := c.end()
			if closed.Phase != exchange.PhaseHandshake || durward.Kind(closed.Fault.Kind) != tc.kind || closed.RetryLegacy {
				t.Errorf("%v %v: %s", closed.Phase, durward.Kind(closed.Fault.Kind), closed.Fault.Message)
			}
			if n := s.count(named(wire.MethodInitialize)); n != 0 {
				t.Error("initialize was tried after an outage")
			}
		})
	}
}

func TestHandshakeThatDoesNotEnd(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"no headers": func(_ http.ResponseWriter, raw *http.Request) { <-raw.Context().Done() },
		"no body": func(w http.ResponseWriter, raw *http.Request) {
			startStream(w)
			<-raw.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothInBubble(t, func(t *testing.T, via string) {
				s := newBubbleServer(t, func(w http.ResponseWriter, _ *seen, raw *http.Request) { answer(w, raw) })
				c := s.dial(t, worker.OpenHTTP, via, func(s *exchange.LinkSpec) { s.InitTimeout, s.ProbeTimeout = 80*time.Millisecond, time.Millisecond })
				closed := c.end()
				checkFault(t, &closed.Fault, durward.Timeout, false)
				if closed.RetryLegacy || closed.EraRefused != wire.EraUnknown || s.count(named(wire.MethodInitialize)) != 0 {
					t.Errorf("silence over HTTP is taken for an era: %+v", closed)
				}
			})
		})
	}
}

func TestCloseDuringTheHandshake(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		begun := make(chan struct{}, 1)
		s := newWebServer(t, func(_ http.ResponseWriter, _ *seen, raw *http.Request) {
			begun <- struct{}{}
			<-raw.Context().Done()
		})
		c := dialWeb(t, via, s.URL)
		<-begun
		c.link.Close()
		if closed := c.end(); closed.Phase != exchange.PhaseStopped {
			t.Errorf("%+v", closed)
		}
	})
}

func TestNeitherEra(t *testing.T) {
	for _, status := range []int{400, 404, 405} {
		s := newWebServer(t, func(w http.ResponseWriter, _ *seen, _ *http.Request) { w.WriteHeader(status) })
		closed := dialWeb(t, "direct", s.URL).end()
		checkFault(t, &closed.Fault, durward.Unavailable, false, "servers.web.transport to sse", fmt.Sprint(status))
	}
}

func TestConfiguredEra(t *testing.T) {
	s := newWebServer(t, noStream(legacy(nil)))
	closed := dialWeb(t, "direct", s.URL, modernEra).end()
	if closed.EraRefused != wire.Modern || s.count(named(wire.MethodInitialize)) != 0 {
		t.Errorf("%+v", closed)
	}
	before := s.count(named(wire.MethodDiscover))
	c := dialWeb(t, "direct", s.URL, legacyEra, func(s *exchange.LinkSpec) { s.Revision = "2025-06-18" })
	c.opened()
	if s.count(named(wire.MethodDiscover)) != before {
		t.Error("a server configured as legacy was probed")
	}
	if got := s.wait(t, "initialize", named(wire.MethodInitialize)); !strings.Contains(got.Body, `"protocolVersion":"2025-06-18"`) || got.Header.Get("Mcp-Method") != "" {
		t.Errorf("%s %v", got.Body, got.Header)
	}
	s = newWebServer(t, func(w http.ResponseWriter, r *seen, _ *http.Request) {
		sendJSON(w, 400, errorFor(r, `{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}`))
	})
	if closed := dialWeb(t, "direct", s.URL, legacyEra).end(); closed.EraRefused != wire.Legacy {
		t.Errorf("%+v", closed)
	}
}

func TestHandshakeFollowsSameOriginRedirect(t *testing.T) {
	s := newWebServer(t, func(w http.ResponseWriter, r *seen, raw *http.Request) {
		if raw.URL.Path == "/mcp" {
			http.Redirect(w, raw, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		modern(nil)(w, r, raw)
	})
	dialWeb(t, "direct", s.URL+"/mcp").opened()
	s = newWebServer(t, func(w http.ResponseWriter, _ *seen, raw *http.Request) {
		http.Redirect(w, raw, "https://login.example/", http.StatusFound)
	})
	closed := dialWeb(t, "direct", s.URL).end()
	checkFault(t, &closed.Fault, durward.Invalid, false, "https://login.example/")
}
