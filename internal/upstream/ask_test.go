package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

const canElicit = `{"elicitation":{}}`

// able is a call of a requester that declares capabilities.
func able(era wire.Era, capabilities string) *exchange.Request {
	return &exchange.Request{Method: wire.MethodToolsCall, Client: exchange.Client{Era: era, Capabilities: []byte(capabilities)}}
}

// Modern clients have no session; those that call themselves differently are two.
func TestB10_ClientsOfOnePrincipalAreToldApart(t *testing.T) {
	desk := upstream.Key{Principal: "alice", Client: "desk 1"}
	phone := upstream.Key{Principal: "alice", Client: "phone 2"}
	for name, tt := range map[string]struct {
		keys []upstream.Key
		gone []upstream.Key // of calls that are cancelled before the question
		want string         // "" = an error
	}{
		"one client":                     {[]upstream.Key{desk}, nil, `"0"`},
		"two calls of one":               {[]upstream.Key{desk, desk}, nil, `"1"`},
		"two clients":                    {[]upstream.Key{desk, phone}, nil, ""},
		"a client and a session":         {[]upstream.Key{desk, alice()}, nil, ""},
		"a client, after one of its own": {[]upstream.Key{desk}, []upstream.Key{desk}, `"0"`},
		"a client, after another":        {[]upstream.Key{desk}, []upstream.Key{phone}, ""},
		"a client, after both":           {[]upstream.Key{desk}, []upstream.Key{desk, phone}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, stdio(), &world{script: always(silentTools(nil))})
				for _, key := range tt.gone {
					ctx, cancel := context.WithCancel(context.Background())
					call := r.going(ctx, key, able(wire.Modern, canElicit), says(`"gone"`))
					synctest.Wait()
					cancel()
					<-call
				}
				for i, key := range tt.keys {
					r.inFlight(key, able(wire.Modern, canElicit), says(fmt.Sprintf(`"%d"`, i)))
				}
				c := r.world.conn(0)
				c.emit(&exchange.ServerRequest{ID: 7, Method: wire.MethodElicit})
				if got := answers(c)[7]; string(got.Result) != tt.want || (got.Error == nil) != (tt.want != "") {
					t.Errorf("answer %s %s, want %s", got.Result, got.Error, tt.want)
				}
			})
		})
	}
}

// Of several calls of one requester the newest is asked that can be.
func TestB10_WhoCannotBeAskedIsNotAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		capabilities []string // of calls in flight, oldest first
		params       string
		want         string
	}{
		"the only one that can":     {[]string{canElicit, `{}`, `{"sampling":{}}`}, `{}`, `"0"`},
		"the newest that can":       {[]string{canElicit, canElicit, `{}`}, `{}`, `"1"`},
		"one that can in this mode": {[]string{`{"elicitation":{"url":{}}}`, canElicit}, `{"mode":"url"}`, `"0"`},
		"nobody can":                {[]string{`{}`, `{}`}, `{}`, `"1"`}, // its edge says what is missing
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, stdio(), &world{script: always(silentTools(nil))})
				for i, capabilities := range tt.capabilities {
					r.inFlight(alice(), able(wire.Legacy, capabilities), says(fmt.Sprintf(`"%d"`, i)))
				}
				c := r.world.conn(0)
				c.emit(&exchange.ServerRequest{ID: 7, Method: wire.MethodElicit, Params: []byte(tt.params)})
				if got := answers(c)[7]; string(got.Result) != tt.want {
					t.Errorf("answer %s %s, want %s", got.Result, got.Error, tt.want)
				}
			})
		})
	}
}

// A capability is no reason to ask one principal for another, or one client.
func TestB10_ACapabilityDoesNotDecideWhoseACallIs(t *testing.T) {
	for name, other := range map[string]upstream.Key{
		"principal": bob(), "session": {Principal: "alice", Session: "a2"}, "client": {Principal: "alice", Session: "a1", Client: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, stdio(), &world{script: always(silentTools(nil))})
				r.inFlight(alice(), able(wire.Legacy, canElicit), says(`"alice"`))
				r.inFlight(other, able(wire.Legacy, `{}`), says(`"other"`))
				c := r.world.conn(0)
				c.emit(&exchange.ServerRequest{ID: 7, Method: wire.MethodElicit})
				if got := answers(c)[7]; got.Error == nil {
					t.Errorf("somebody was asked: %s", got.Result)
				}
			})
		})
	}
}

// person answers with a name, and counts how often it was asked.
type person struct {
	stream
	asked atomic.Int32
}

func newPerson(name string) *person {
	p := &person{}
	p.ask = func(context.Context, string) exchange.Reply {
		p.asked.Add(1)
		return exchange.Reply{Result: []byte(wire.Quote(name))}
	}
	return p
}

// The first question of a shared server with calls of two principals in flight is
// put to nobody; from then on each has a process of its own, and is asked only
// what was asked there.
func TestB10_TwoPrincipalsAtTheFirstQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		a, b := newPerson("alice"), newPerson("bob")
		first := []<-chan exchange.Reply{
			r.going(context.Background(), alice(), able(wire.Legacy, canElicit), a),
			r.going(context.Background(), bob(), able(wire.Modern, canElicit), b),
		}
		synctest.Wait()
		shared := r.world.conn(0)
		shared.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodElicit})
		if got := answers(shared)[1]; got.Error == nil || a.asked.Load()+b.asked.Load() != 0 {
			t.Fatalf("somebody was asked: %s", got.Result)
		}
		for _, call := range callsTo(shared, wire.MethodToolsCall) {
			shared.result(call.ID, `{}`)
		}
		for _, call := range first {
			wantOK(t, <-call)
		}
		for range 3 { // whoever comes, in whatever order
			r.going(context.Background(), alice(), able(wire.Modern, canElicit), a)
			r.going(context.Background(), bob(), able(wire.Legacy, canElicit), b)
			synctest.Wait()
		}
		if n := len(r.world.openings()); n != 2 {
			t.Fatalf("%d processes for two principals", n)
		}
		for i := range 2 {
			c := r.world.conn(i)
			before := [2]int32{a.asked.Load(), b.asked.Load()}
			c.emit(&exchange.ServerRequest{ID: 9, Method: wire.MethodElicit})
			got := answers(c)[9]
			after := [2]int32{a.asked.Load(), b.asked.Load()}
			if asked := after[0] - before[0] + after[1] - before[1]; asked != 1 {
				t.Errorf("process %d: %d were asked: %s %s", i, asked, got.Result, got.Error)
			}
			owner := map[string]int{`"alice"`: 0, `"bob"`: 1}[string(got.Result)]
			if after[owner] == before[owner] {
				t.Errorf("process %d: the answer is of somebody else: %s", i, got.Result)
			}
		}
		if a.asked.Load() != 1 || b.asked.Load() != 1 {
			t.Errorf("alice was asked %d times, bob %d times", a.asked.Load(), b.asked.Load())
		}
	})
}

// The same, when the other principal's call was cancelled a moment before: the
// server may ask for it still.
func TestB10_ACancelledCallAtTheFirstQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		a, b := newPerson("alice"), newPerson("bob")
		ctx, cancel := context.WithCancel(context.Background())
		gone := r.going(ctx, alice(), able(wire.Legacy, canElicit), a)
		synctest.Wait()
		r.going(context.Background(), bob(), able(wire.Legacy, canElicit), b)
		synctest.Wait()
		cancel()
		wantCode(t, <-gone, wire.CodeUnknownOutcome, "cancelled")
		shared := r.world.conn(0)
		shared.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodElicit})
		if got := answers(shared)[1]; got.Error == nil {
			t.Fatalf("bob was asked for alice: %s", got.Result)
		}
		r.going(context.Background(), alice(), able(wire.Legacy, canElicit), a)
		synctest.Wait()
		own := r.world.conn(1)
		own.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodElicit})
		if got := answers(own)[1]; string(got.Result) != `"alice"` {
			t.Errorf("on her own process alice was not asked: %s", got.Error)
		}
		wait(2 * time.Minute) // what alice left behind on the other is over
		shared.emit(&exchange.ServerRequest{ID: 2, Method: wire.MethodElicit})
		if got := answers(shared)[2]; string(got.Result) != `"bob"` {
			t.Errorf("bob was not asked: %s", got.Error)
		}
		if a.asked.Load() != 1 || b.asked.Load() != 1 {
			t.Errorf("alice was asked %d times, bob %d times", a.asked.Load(), b.asked.Load())
		}
	})
}

// news tells a connection's core that a page was dealt with.
func news(related uint64, id string) *exchange.Notification {
	return &exchange.Notification{Related: related, Method: wire.NoteElicitComplete, Params: []byte(`{"elicitationId":` + wire.Quote(id) + `}`)}
}

// A server's news that a page was dealt with goes to who was asked to visit it
// (2025-11-25, client/elicitation); modern clients know no such news.
func TestNewsOfAVisitedPageGoToWhoVisitedIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(silentTools(nil))})
		caps := `{"elicitation":{"url":{}}}`
		legacyOut, modernOut, otherOut := says(`{}`), says(`{}`), says(`{}`)
		legacy := r.inFlight(alice(), able(wire.Legacy, caps), legacyOut)
		r.inFlight(upstream.Key{Principal: "alice", Client: "m"}, able(wire.Modern, caps), modernOut)
		r.inFlight(bob(), able(wire.Legacy, caps), otherOut)
		c := r.world.conn(0)
		calls := callsTo(c, wire.MethodToolsCall)
		for i, id := range []string{"of the legacy client", "of the modern client"} {
			c.emit(&exchange.ServerRequest{ID: uint64(i + 1), Related: calls[i].ID, Method: wire.MethodElicit, Params: []byte(`{"mode":"url","elicitationId":` + wire.Quote(id) + `}`)})
		}
		synctest.Wait()
		c.emit(news(0, "of the legacy client"))
		c.emit(news(0, "of the modern client"))
		c.emit(news(calls[1].ID, "of the modern client"))
		c.emit(news(calls[1].ID, "of nobody"))
		c.emit(news(calls[2].ID, "of the other, who was not asked here"))
		if got := strings.Join(legacyOut.heard(), " "); got != wire.NoteElicitComplete+`{"elicitationId":"of the legacy client"}` {
			t.Errorf("the legacy client heard %s", got)
		}
		if got := modernOut.heard(); len(got) != 0 {
			t.Errorf("the modern client heard %s", got)
		}
		if got := otherOut.heard(); len(got) != 1 || !contains(got[0], "of the other") {
			t.Errorf("the other client heard %s", got)
		}
		if n := len(r.watch.notes); n != 0 {
			t.Errorf("the Observer heard %d", n)
		}
		c.result(calls[0].ID, `{}`)
		wantOK(t, <-legacy.reply)
		c.emit(news(0, "of the legacy client")) // who is on no call
		c.emit(news(0, "of the modern client"))
		c.emit(news(0, "of nobody"))
		if n := len(r.watch.notes); n != 2 {
			t.Errorf("the Observer heard %d of what is for sessions, want 2", n)
		}
	})
}

func TestPagesAreForgottenInTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(silentTools(nil))})
		out := says(`{}`)
		r.inFlight(alice(), able(wire.Modern, `{"elicitation":{"url":{}}}`), out)
		c := r.world.conn(0)
		for i := range uint64(300) {
			c.emit(&exchange.ServerRequest{ID: i + 1, Related: callsTo(c, wire.MethodToolsCall)[0].ID, Method: wire.MethodElicit, Params: fmt.Appendf(nil, `{"elicitationId":"%d"}`, i)})
			synctest.Wait()
		}
		for i := range 300 {
			c.emit(news(0, fmt.Sprint(i)))
		}
		if n := len(r.watch.notes); n != 44 { // nobody knows any more whom they were for
			t.Errorf("%d of 300 pages are not remembered, want 44", n)
		}
	})
}
