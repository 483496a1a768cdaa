package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward/test/chaos/fault"
	"durward/test/chaos/journal"
)

func parse(t *testing.T, text string) *message {
	t.Helper()
	m := new(message)
	if err := json.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAQuestionNamesItsOwner(t *testing.T) {
	b := newBook()
	alice := &person{who: "alice", where: "alice-modern", book: b}
	content, answered := alice.answer("owner=alice call=call-000007 round=2", "call-000007")
	if !answered || content != `{"action":"accept","content":{"name":"alice","call":"call-000007"}}` {
		t.Errorf("%v %s", answered, content)
	}
	if _, answered := alice.answer("owner=alice call=call-000008 round=1", "call-000007"); !answered || b.counts["questions of a sibling call"] != 1 {
		t.Error("a question to the same person by the way of another call is answered and counted")
	}
	if len(b.strays) != 0 {
		t.Errorf("misdirected: %q", b.strays)
	}
	if _, answered := alice.answer("owner=bob call=call-000009 round=1", "call-000009"); answered || len(b.strays) != 1 {
		t.Errorf("the question of another person was answered: %v, misdirected: %q", answered, b.strays)
	}
}

// A fault within an answer must leave something of it out, else nothing happened.
func TestACutLeavesSomethingOut(t *testing.T) {
	const head, body = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n", `{"jsonrpc":1}`
	d := newDice(1, t.Name())
	for _, kind := range []string{fault.ResetAnswer, fault.CutHead, fault.CutBody, fault.EndBody} {
		for size := 1; size <= len(head+body); size++ {
			p, passed, struck := plan{kind: kind}, 0, false
			for rest := []byte(head + body); len(rest) > 0 && !struck; {
				piece := rest[:min(size, len(rest))]
				rest = rest[len(piece):]
				cut := p.cut(piece, d)
				if struck = cut >= 0; struck {
					passed += cut
				} else {
					passed += len(piece)
					p.sent += len(piece)
				}
			}
			if !struck || passed >= len(head+body) {
				t.Errorf("%s in pieces of %d: struck %v, %d of %d bytes passed", kind, size, struck, passed, len(head+body))
			}
			if behind := strings.HasSuffix(kind, "body"); struck && behind != (passed >= len(head)) {
				t.Errorf("%s in pieces of %d struck behind %d bytes; the head has %d", kind, size, passed, len(head))
			}
		}
	}
}

func TestRequestsAreReadWhole(t *testing.T) {
	requests := []string{
		"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /mcp HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\n12345",
		"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"DELETE /mcp HTTP/1.1\r\n\r\n",
	}
	for size := 1; size < 90; size++ {
		near, far := net.Pipe()
		go func() {
			for all := []byte(strings.Join(requests, "")); len(all) > 0; {
				n, err := far.Write(all[:min(size, len(all))])
				if err != nil {
					return
				}
				all = all[n:]
			}
			far.Close()
		}()
		in := &reader{conn: near}
		for _, want := range requests {
			if err := in.fill(); err != nil {
				t.Fatal(err)
			}
			if got, err := in.request(); err != nil || string(got) != want {
				t.Fatalf("in pieces of %d: %q, %v; wanted %q", size, got, err, want)
			}
		}
		if err := in.fill(); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last: %v", err)
		}
	}
}

func TestEventsAreReadWhole(t *testing.T) {
	in := newEvents(strings.NewReader(": hello\n\nretry: 3000\n\nid: 1_0\ndata: \n\nevent: message\nid: 1_1\ndata: {\ndata: }\r\n\r\ndata: torn"))
	for _, want := range []event{{id: "1_0"}, {id: "1_1", data: "{\n}"}} {
		if got, err := in.next(); err != nil || got != want {
			t.Fatalf("%+v, %v; wanted %+v", got, err, want)
		}
	}
	if ev, err := in.next(); err == nil {
		t.Errorf("half an event was taken for one: %+v", ev)
	}
}

func TestJournalSurvivesItsWriters(t *testing.T) {
	dir := t.TempDir()
	w, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(journal.Entry{Kind: journal.Execution, Call: "call-000001", Server: "a"})
	torn, err := os.OpenFile(filepath.Join(dir, journal.File), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(torn, "\n"+`{"kind":"execution","call":"call-0000`) // killed within the write
	torn.Close()
	w.Write(journal.Entry{Kind: journal.Fault, Fault: fault.Hang, Call: "call-000003", Server: "a"})
	w.Close()
	entries, err := journal.Read(dir)
	if err != nil || len(entries) != 2 || entries[0].Call != "call-000001" || entries[1].Fault != fault.Hang {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestDiceDependOnSeedAndThrower(t *testing.T) {
	throw := func(seed uint64, who string) []byte {
		var b bytes.Buffer
		for d := newDice(seed, who); b.Len() < 40; {
			b.WriteByte(byte(d.n(256)))
		}
		return b.Bytes()
	}
	if !bytes.Equal(throw(1, "a"), throw(1, "a")) || bytes.Equal(throw(1, "a"), throw(1, "b")) || bytes.Equal(throw(1, "a"), throw(2, "a")) {
		t.Error("the same dice must fall the same, others must not")
	}
}
