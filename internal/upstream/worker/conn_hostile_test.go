package worker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

func TestB7_FloodOfText(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := ready(t, via, specFor(wire.Legacy))
		s.sends(t, call(t, 1, "tools/call", `{"name":"x"}`))
		s.line(t)
		const lines = 50_000
		began := time.Now()
		s.writes(t, strings.Repeat("warning: \x1b[1mdeprecated\x00 thing\n", lines))
		s.writes(t, strings.Repeat("x", 1<<20)+"\n")
		s.writes(t, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
		s.sink.want(t, "result 1 legacy {}")
		s.stdout.Close()
		if got := s.sink.count(t, "stdout-text"); got != lines+1 {
			t.Errorf("%d lines were counted of %d", got, lines+1)
		}
		if got := s.sink.detail["stdout-text"]; got != "warning: ?[1mdeprecated? thing" {
			t.Errorf("detail %q", got)
		}
		// One per 1,000 events or 100 ms, the first and the last; each of two kinds.
		if most := lines/1000 + int(time.Since(began)/(100*time.Millisecond)) + 2; s.sink.reports > 2*most {
			t.Errorf("%d reports for %d lines, at most %d", s.sink.reports, lines, 2*most)
		}
	})
}

func TestB7_LargeResult(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := ready(t, via, specFor(wire.Legacy))
		s.sends(t, call(t, 1, "tools/call", `{"name":"x"}`))
		s.line(t)
		body := `{"content":[{"type":"text","text":"` + strings.Repeat("0123456789abcdef", 1<<20) + `"}]}`
		s.writes(t, `{"jsonrpc":"2.0","id":1,"result":`+body+"}\n"+`{"jsonrpc":"2.0","method":"notifications/message"}`+"\n")
		m, ok := s.sink.next(t).(*exchange.Response)
		if !ok || !bytes.Equal(m.Result, []byte(body)) {
			t.Fatalf("%d bytes did not come back as they were sent", len(body))
		}
		s.sink.want(t, "note 0 notifications/message ")
	})
}

// A server that never reads its input blocks nobody; what it did not get can be tried elsewhere.
func TestB5_ServerThatDoesNotRead(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := ready(t, via, specFor(wire.Legacy))
		big := call(t, 0, "tools/call", `{"name":"x","arguments":{"t":"`+strings.Repeat("y", 4<<20)+`"}}`)
		accepted, refused := 0, 0
		for id := uint64(1); id <= 24; id++ {
			if err := s.link.Send(&exchange.Call{ID: id, Request: big.Request}); err == nil {
				accepted++
			} else if refused++; durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.message") {
				t.Fatalf("refused with %v", err)
			}
		}
		if accepted < 15 || (via == "direct" && refused < 5) {
			t.Fatalf("%d calls of 4 MiB accepted, %d refused; the bound is 64 MiB", accepted, refused)
		}
		// The beginning of a call is in the pipe, which through another process takes its time.
		if err := s.stdin.SetReadDeadline(time.Now().Add(2 * patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.lines.Peek(1); err != nil {
			t.Fatal(err)
		}
		s.stdin.Close()
		s.stdout.Close()
		unknown := 0
		for range accepted {
			m := s.sink.next(t).(*exchange.Response)
			if m.Fault == nil {
				t.Fatalf("an answer out of nothing: %s", show(m))
			}
			if m.Fault.Delivered != (durward.Kind(m.Fault.Kind) == durward.Unknown) {
				t.Fatalf("contradiction: %s", show(m))
			}
			if m.Fault.Delivered {
				unknown++
			}
		}
		if unknown != 1 {
			t.Errorf("%d calls are said to be delivered; of one the pipe took a part", unknown)
		}
		s.sink.want(t, "closed ready unavailable")
	})
}

// A server that closes its input can still answer what it has; then it is of no use.
func TestServerThatClosesItsInput(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := ready(t, via, specFor(wire.Legacy))
		s.sends(t, call(t, 1, "tools/call", `{"name":"x"}`))
		s.line(t)
		s.stdin.Close()
		if s.link.Send(call(t, 2, "tools/call", `{"name":"y"}`)) == nil {
			s.sink.want(t, "fault 2 unavailable delivered=false")
		}
		s.writes(t, `{"jsonrpc":"2.0","id":1,"result":{"late":true}}`+"\n")
		s.sink.want(t, `result 1 legacy {"late":true}`)
		s.sink.want(t, "closed ready unavailable")
	})
}

func TestTooManyServerRequests(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := ready(t, via, specFor(wire.Legacy))
		for i := range 65 {
			s.writes(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`+"\n", i))
		}
		if got := s.line(t); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":64,"error":{"code":40304,`) {
			t.Fatalf("the request over the bound got %s", got)
		}
		for i := range 64 {
			s.sink.want(t, fmt.Sprintf("request %d during 0 roots/list ", i+1))
		}
		s.sends(t, &exchange.Response{ID: 7, Reply: exchange.Reply{Result: []byte(`{"roots":[]}`)}})
		s.reads(t, `{"jsonrpc":"2.0","id":6,"result":{"roots":[]}}`)
		s.writes(t, `{"jsonrpc":"2.0","id":"again","method":"roots/list"}`+"\n")
		s.sink.want(t, "request 65 during 0 roots/list ")
	})
}

// honest reads calls and answers each with its own params, over any streams.
func honest(t *testing.T, in io.ReadCloser, out io.WriteCloser) {
	defer in.Close()
	defer out.Close()
	lines := json.NewDecoder(in)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := lines.Decode(&m); err != nil {
			if err != io.EOF {
				t.Errorf("the server cannot read its input: %v", err)
			}
			return
		}
		switch {
		case m.Method == "initialize":
			io.WriteString(out, helloBack)
		case m.ID != nil:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, m.Params)
		}
	}
}

// Many senders at a time: messages never mix, each call gets its own answer. Once
// over pipes of the system, once over streams without descriptors.
func TestManySenders(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		sink := newRecorder()
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		go honest(t, stdin, stdout)
		link := openVia(t, via, specFor(wire.Legacy), sink, func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
			return worker.OpenStdio(spec, in, out, sink)
		})
		manySenders(t, link, sink)
	})
	t.Run("descriptors", func(t *testing.T) {
		s := startServer(t, "direct", specFor(wire.Legacy))
		go honest(t, s.stdin, s.stdout)
		manySenders(t, s.link, s.sink)
	})
}

func manySenders(t *testing.T, link exchange.Link, sink *recorder) {
	t.Helper()
	const senders, each = 12, 40
	if _, ok := sink.next(t).(*exchange.Opened); !ok {
		t.Fatal("not opened")
	}
	var all sync.WaitGroup
	for n := range senders {
		all.Go(func() {
			for i := range each {
				id := uint64(n*each + i + 1)
				params := fmt.Sprintf(`{"id":%d,"pad":"%s"}`, id, strings.Repeat("p", i*i*2))
				if err := link.Send(call(t, id, "x", params)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := map[uint64]bool{}
	for range senders * each {
		m := sink.next(t).(*exchange.Response)
		var got struct{ ID uint64 }
		if err := json.Unmarshal(m.Result, &got); err != nil || got.ID != m.ID || seen[m.ID] {
			t.Fatalf("call %d got %s, %v", m.ID, show(m), err)
		}
		seen[m.ID] = true
	}
	link.Close()
	sink.want(t, "closed stopped unavailable")
}

// Whatever the moment of the end, a call that was accepted is answered exactly once.
func TestEndWhileSending(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		for round := range 10 {
			s := startServer(t, via, specFor(wire.Legacy))
			go honest(t, s.stdin, s.stdout)
			if _, ok := s.sink.next(t).(*exchange.Opened); !ok {
				t.Fatal("not opened")
			}
			accepted := make([][]uint64, 4)
			var all sync.WaitGroup
			for n := range accepted {
				all.Go(func() {
					for i := range 200 {
						if n == 0 && i == round*20 {
							s.link.Close()
						}
						id := uint64(n*1000 + i + 1)
						if s.link.Send(call(t, id, "x", `{"a":1}`)) == nil {
							accepted[n] = append(accepted[n], id)
						}
					}
				})
			}
			all.Wait()
			s.sink.count(t, "")
			checkOnce(t, s.sink, accepted)
		}
	})
}

func checkOnce(t *testing.T, sink *recorder, accepted [][]uint64) {
	t.Helper()
	answers := map[uint64]int{}
	for _, m := range sink.got {
		if r, ok := m.(*exchange.Response); ok {
			answers[r.ID]++
		}
	}
	for _, ids := range accepted {
		for _, id := range ids {
			if answers[id] != 1 {
				t.Fatalf("call %d was answered %d times", id, answers[id])
			}
			delete(answers, id)
		}
	}
	if len(answers) > 0 {
		t.Fatalf("answers to calls that were refused: %v", answers)
	}
}

func TestRefusedCalls(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		spec := specFor(wire.Legacy)
		spec.MaxMessage = 4096
		s := startServer(t, via, spec)
		if err := s.link.Send(call(t, 1, "ping", "")); durward.KindOf(err) != durward.Unavailable {
			t.Fatalf("a call before Opened: %v", err)
		}
		s.reads(t, helloLine)
		s.writes(t, helloBack)
		s.sink.next(t)
		s.reads(t, readyLine)
		s.refuses(t, call(t, 2, "x", `{"a":"`+strings.Repeat("b", 8000)+`"}`))
		if err := s.link.Send(&exchange.Opened{}); durward.KindOf(err) != durward.Internal {
			t.Fatalf("a message that does not go this way: %v", err)
		}
		s.link.Close()
		s.link.Close()
	})
}

func TestClosedNamesBothLists(t *testing.T) {
	both(t, func(t *testing.T, via string) {
		s := startServer(t, via, specFor(wire.Modern))
		s.reads(t, probeLine)
		s.writes(t, `{"jsonrpc":"2.0","id":2147483646,"error":{"code":-32022,"message":"m","data":{"supported":["2099-01-01"]}}}`+"\n")
		closed, ok := s.sink.next(t).(*exchange.Closed)
		if !ok || closed.EraRefused != wire.Modern {
			t.Fatalf("%+v", closed)
		}
		for _, revision := range []string{"2099-01-01", wire.RevisionModern, wire.RevisionLegacy} {
			if !strings.Contains(closed.Fault.Message, revision) {
				t.Errorf("%q does not name %s", closed.Fault.Message, revision)
			}
		}
	})
}
