package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// script answers the requests of a handshake by method; an answer with a delay
// comes that much later, a method without one gets none.
type script struct {
	replies map[string]scripted
	asked   []string
}

type scripted struct {
	answer
	after time.Duration
}

func (s *script) begin(_ context.Context, o opening) <-chan answer {
	s.asked = append(s.asked, o.method)
	c := make(chan answer, 1)
	if r, ok := s.replies[o.method]; ok {
		time.AfterFunc(r.after, func() { c <- r.answer })
	}
	return c
}

func result(raw string) answer  { return answer{result: []byte(raw)} }
func failure(raw string) answer { return answer{failure: []byte(raw)} }

const (
	modernResult = `{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}}}`
	legacyResult = `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s"}}`
)

func TestHandshake(t *testing.T) {
	outage := durward.Errorf(durward.Unauthenticated, "", "401")
	reply := func(a answer) scripted { return scripted{answer: a} }
	late := func(a answer, after time.Duration) scripted { return scripted{a, after} }
	both := func(probe, hello scripted) map[string]scripted {
		return map[string]scripted{wire.MethodDiscover: probe, wire.MethodInitialize: hello}
	}
	for _, c := range []struct {
		name  string
		era   wire.Era
		http  bool // silence is an outage
		given map[string]scripted
		want  string
	}{
		{"modern", 0, false, both(reply(result(modernResult)), reply(result(legacyResult))), "modern 2026-07-28 after 0s: server/discover"},
		{"legacy by error", 0, false, both(reply(failure(`{"code":-32601,"message":"?"}`)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"legacy by any error", 0, true, both(reply(failure(`{"code":-32002,"message":"?"}`)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"legacy by foreign answer", 0, true, both(reply(answer{foreign: "404 page not found"}), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"legacy by a result that is none", 0, false, both(reply(result(`{"ok":true}`)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"legacy by null", 0, false, both(reply(result(`null`)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"legacy by silence", 0, false, map[string]scripted{wire.MethodInitialize: reply(result(legacyResult))}, "legacy 2025-06-18 after 3s: server/discover initialize"},
		{"silence over http is an outage", 0, true, map[string]scripted{wire.MethodInitialize: reply(result(legacyResult))}, "closed timeout after 30s: server/discover"},
		{"slow legacy", 0, false, both(late(failure(`{"code":-32601,"message":"?"}`), 5*time.Second), late(result(legacyResult), 2*time.Second)), "legacy 2025-06-18 after 5s: server/discover initialize"},
		{"slow modern", 0, false, both(late(result(modernResult), 4*time.Second), late(failure(`{"code":-32601,"message":"?"}`), 2*time.Second)), "modern 2026-07-28 after 5s: server/discover initialize"},
		{"slow modern that ignores initialize", 0, false, map[string]scripted{wire.MethodDiscover: late(result(modernResult), 4*time.Second)}, "modern 2026-07-28 after 30s: server/discover initialize"},
		{"silent twice", 0, false, nil, "closed timeout retry=legacy after 30s: server/discover initialize"},
		{"recognised modern error without revisions", 0, false, both(reply(failure(`{"code":-32021,"message":"?","data":{"requiredCapabilities":{}}}`)), scripted{}), "modern 2026-07-28 after 0s: server/discover"},
		{"unsupported, names a modern one", 0, true, both(reply(failure(`{"code":-32022,"message":"?","data":{"supported":["2026-07-28"]}}`)), scripted{}), "modern 2026-07-28 after 0s: server/discover"},
		{"unsupported, names legacy ones", 0, true, both(reply(failure(`{"code":-32022,"message":"?","data":{"supported":["2025-11-25"]}}`)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"unsupported, names nothing", 0, true, both(reply(failure(`{"code":-32022,"message":"?"}`)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: server/discover initialize"},
		{"unsupported, names strangers", 0, true, both(reply(failure(`{"code":-32022,"message":"?","data":{"supported":["x"]}}`)), reply(result(legacyResult))), "closed unavailable after 0s: server/discover"},
		{"outage at the probe", 0, true, both(reply(answer{err: outage}), scripted{}), "closed unauthenticated after 0s: server/discover"},
		{"end at the probe", 0, false, both(reply(answer{err: errEnded}), scripted{}), "closed unavailable retry=legacy after 0s: server/discover"},
		{"end at initialize, era unknown", 0, false, both(reply(failure(`{"code":1,"message":"?"}`)), reply(answer{err: errEnded})), "closed unavailable retry=legacy after 0s: server/discover initialize"},
		{"era legacy", wire.Legacy, false, both(reply(result(modernResult)), reply(result(legacyResult))), "legacy 2025-06-18 after 0s: initialize"},
		{"era legacy, end", wire.Legacy, false, both(scripted{}, reply(answer{err: errEnded})), "closed unavailable after 0s: initialize"},
		{"era legacy, unknown method", wire.Legacy, false, both(scripted{}, reply(failure(`{"code":-32601,"message":"?"}`))), "closed unavailable refused=legacy after 0s: initialize"},
		{"era legacy, error that names revisions", wire.Legacy, false, both(scripted{}, reply(failure(`{"code":-32602,"message":"?","data":{"supportedVersions":["2026-07-28"]}}`))), "closed unavailable refused=legacy after 0s: initialize"},
		{"era legacy, other error", wire.Legacy, false, both(scripted{}, reply(failure(`{"code":-32603,"message":"?"}`))), "closed unavailable after 0s: initialize"},
		{"era legacy, foreign", wire.Legacy, true, both(scripted{}, reply(answer{foreign: "405"})), "closed unavailable after 0s: initialize"},
		{"era legacy, modern revision", wire.Legacy, true, both(scripted{}, reply(result(`{"protocolVersion":"2026-07-28"}`))), "closed unavailable after 0s: initialize"},
		{"era legacy, silence", wire.Legacy, false, nil, "closed timeout after 30s: initialize"},
		{"era modern", wire.Modern, false, both(late(result(modernResult), 20*time.Second), scripted{}), "modern 2026-07-28 after 20s: server/discover"},
		{"era modern, refused", wire.Modern, true, both(reply(answer{foreign: "404"}), reply(result(legacyResult))), "closed unavailable refused=modern after 0s: server/discover"},
		{"era modern, silence", wire.Modern, false, nil, "closed timeout after 30s: server/discover"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{replies: c.given}
				h := &handshake{spec: withDefaults(exchange.LinkSpec{Era: c.era}), via: s, silenceIsLegacy: !c.http}
				began := time.Now()
				got := outcome(h.run(t.Context()))
				got += fmt.Sprintf(" after %s: %s", time.Since(began), strings.Join(s.asked, " "))
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

func outcome(opened *exchange.Opened, closed *exchange.Closed) string {
	if closed == nil {
		return opened.Era.String() + " " + opened.Revision
	}
	text := "closed " + durward.Kind(closed.Fault.Kind).String()
	if closed.EraRefused != wire.EraUnknown {
		text += " refused=" + closed.EraRefused.String()
	}
	if closed.RetryLegacy {
		text += " retry=legacy"
	}
	if opened != nil || closed.Fault.Message == "" || closed.Phase != exchange.PhaseHandshake {
		text += fmt.Sprintf(" (broken: %+v %+v)", opened, closed)
	}
	return text
}

func TestHandshakeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		h := &handshake{spec: withDefaults(exchange.LinkSpec{}), via: &script{}, silenceIsLegacy: true}
		if _, closed := h.run(ctx); closed == nil || closed.Phase != exchange.PhaseStopped || closed.RetryLegacy {
			t.Fatalf("%+v", closed)
		}
	})
}

func TestHandshakeRequests(t *testing.T) {
	h := &handshake{spec: withDefaults(exchange.LinkSpec{
		Revision: "2026-07-28", ClientInfo: []byte(`{"name":"g"}`), Capabilities: []byte(`{"roots":{}}`),
	})}
	if got, want := string(h.hello().params), `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"g"}}`; got != want {
		t.Errorf("initialize %s", got)
	}
	want := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"g"}}}`
	if got := string(h.probe().params); got != want {
		t.Errorf("discover %s", got)
	}
}
