package pipe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/pipe"
	"durward/internal/testkit/leftover"
	"durward/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// mailbox is a sink that hands on what it gets.
type mailbox chan exchange.Message

func (m mailbox) Receive(msg exchange.Message) { m <- msg }

func (m mailbox) next(t testing.TB) exchange.Message {
	t.Helper()
	select {
	case msg := <-m:
		return msg
	case <-time.After(time.Minute):
		t.Fatal("no message came")
		return nil
	}
}

// farLink is the real link of a test, at the far end.
type farLink struct {
	spec exchange.LinkSpec
	sink exchange.Sink
	sent chan exchange.Message
	end  chan struct{}
	fail error // what Send returns
	once sync.Once
}

func (l *farLink) Send(m exchange.Message) error {
	if l.fail != nil {
		return l.fail
	}
	l.sent <- m
	return nil
}

func (l *farLink) Close() { l.once.Do(func() { close(l.end) }) }

// link is both ends of a pipe with a farLink behind it.
type link struct {
	exchange.Link
	far    *farLink
	inbox  mailbox
	served chan error
	near   net.Conn
	beyond net.Conn
}

func newLink(t *testing.T, spec exchange.LinkSpec) *link {
	t.Helper()
	near, beyond := net.Pipe()
	l := &link{inbox: make(mailbox, 100), served: make(chan error, 1), near: near, beyond: beyond}
	opened := make(chan *farLink, 1)
	go func() {
		l.served <- pipe.Serve(beyond, func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
			far := &farLink{spec: spec, sink: sink, sent: make(chan exchange.Message, 100), end: make(chan struct{})}
			opened <- far
			return far
		})
	}()
	l.Link = pipe.Dial(near, spec, l.inbox)
	l.far = <-opened
	return l
}

// open lets the far end say that it is open.
func (l *link) open(t *testing.T) {
	t.Helper()
	l.far.sink.Receive(&exchange.Opened{Era: wire.Legacy, Revision: "2025-11-25"})
	if _, ok := l.inbox.next(t).(*exchange.Opened); !ok {
		t.Fatal("not opened")
	}
}

// finish ends the link in good order.
func (l *link) finish(t *testing.T) {
	t.Helper()
	l.Close()
	<-l.far.end
	l.far.sink.Receive(&exchange.Closed{Phase: exchange.PhaseStopped})
	if _, ok := l.inbox.next(t).(*exchange.Closed); !ok {
		t.Fatal("not closed")
	}
	if err := <-l.served; err != nil {
		t.Fatal(err)
	}
}

func TestSpecAndMessagesArriveWhole(t *testing.T) {
	spec := exchange.LinkSpec{
		Server: "s", Era: wire.Modern, Revision: "r", ClientInfo: []byte(`{}`), Capabilities: []byte{}, ProbeTimeout: time.Second,
		InitTimeout: time.Hour, MaxMessage: 1 << 16, URL: "http://x/é", Headers: map[string]string{"A": "b\n", "C": ""},
	}
	l := newLink(t, spec)
	if diff := cmp.Diff(spec, l.far.spec); diff != "" {
		t.Error(diff)
	}
	l.open(t)
	for _, m := range toFar(t) {
		if err := l.Send(m); err != nil {
			t.Fatalf("%T: %v", m, err)
		}
		if diff := cmp.Diff(m, <-l.far.sent); diff != "" {
			t.Errorf("%T: %s", m, diff)
		}
	}
	for _, m := range toNear() {
		l.far.sink.Receive(m)
		if diff := cmp.Diff(m, l.inbox.next(t)); diff != "" {
			t.Errorf("%T: %s", m, diff)
		}
	}
	l.finish(t)
}

func toFar(t *testing.T) []exchange.Message {
	t.Helper()
	whole := &exchange.Call{ID: 1<<64 - 1, Request: exchange.Request{
		Method: "tools/call", Name: []byte(`"n"`), LogLevel: "debug", Progress: true, Deadline: time.Unix(1, 23),
		Client:  exchange.Client{Era: wire.Modern, Revision: "r", Info: []byte("i"), Capabilities: []byte("c")},
		Headers: []exchange.Header{{Name: "A", Value: "1"}, {}},
	}}
	if err := wire.ParseParams([]byte(`{"name":"x","_meta":{"progressToken":1e400}}`), &whole.Params); err != nil {
		t.Fatal(err)
	}
	return []exchange.Message{
		whole, &exchange.Call{ID: 2}, &exchange.Call{ID: 3, Request: exchange.Request{Method: "x", Headers: []exchange.Header{}}},
		&exchange.Call{ID: 4}, &exchange.Call{ID: 5, Request: exchange.Request{Trace: &exchange.TraceContext{Parent: "p", State: "s", Baggage: "b"}}}, &exchange.Cancel{ID: 2, Reason: "é"},
		&exchange.Notification{Related: 4, Method: "m", Params: []byte(`{}`)},
		&exchange.Response{ID: 9, Reply: exchange.Reply{Result: []byte("null"), ResultType: "t", IsError: true, Era: wire.Legacy}},
		&exchange.Response{ID: 9, Fault: &exchange.Fault{Kind: 8, Message: "m", Delivered: true, NoSession: true, StaleHeaders: true, Again: true, RetryAfter: 7 * time.Second}},
	}
}

func toNear() []exchange.Message {
	return []exchange.Message{
		&exchange.Notification{Related: 1, Method: "m"}, &exchange.Response{ID: 4, Reply: exchange.Reply{Error: []byte(`{}`)}},
		&exchange.ServerRequest{ID: 5, Related: 6, Method: "m", Params: []byte(`{"a":1e400}`)},
		&exchange.Anomaly{Kind: "k", Detail: "d", Count: 3}, &exchange.Response{ID: 1<<64 - 1, Fault: &exchange.Fault{}},
		&exchange.Response{ID: 3}, &exchange.Response{ID: 5, Reply: exchange.Reply{Result: []byte("1")}},
	}
}

func TestAnswersToNobodyAreDropped(t *testing.T) {
	l := newLink(t, exchange.LinkSpec{})
	l.open(t)
	if err := l.Send(&exchange.Call{ID: 1}); err != nil {
		t.Fatal(err)
	}
	<-l.far.sent
	for range 2 {
		if err := l.Send(&exchange.Cancel{ID: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if m, ok := (<-l.far.sent).(*exchange.Cancel); !ok || len(l.far.sent) > 0 {
		t.Fatalf("%+v", m)
	}
	l.far.sink.Receive(&exchange.Response{ID: 1})
	l.far.sink.Receive(&exchange.Response{ID: 99})
	l.far.sink.Receive(&exchange.Anomaly{Kind: "next"})
	if m, ok := l.inbox.next(t).(*exchange.Anomaly); !ok {
		t.Fatalf("%+v", m)
	}
	l.finish(t)
}

// A call that the far link does not take comes back as what it is: not delivered.
func TestRefusalsComeBack(t *testing.T) {
	l := newLink(t, exchange.LinkSpec{})
	if err := l.Send(&exchange.Call{ID: 1}); durward.KindOf(err) != durward.Unavailable {
		t.Fatalf("a call before Opened: %v", err)
	}
	l.open(t)
	l.far.fail = durward.Errorf(durward.Unavailable, "", "full")
	bad := &exchange.Call{ID: 3}
	bad.Params.Raw = []byte(`{"a":1,"a":2}`)
	for _, c := range []struct {
		call *exchange.Call
		kind durward.Kind
	}{{&exchange.Call{ID: 2}, durward.Unavailable}, {bad, durward.Invalid}} {
		if err := l.Send(c.call); err != nil {
			t.Fatal(err)
		}
		m, ok := l.inbox.next(t).(*exchange.Response)
		if !ok || m.ID != c.call.ID || m.Fault == nil || m.Fault.Delivered || durward.Kind(m.Fault.Kind) != c.kind {
			t.Fatalf("%+v %+v", m, m.Fault)
		}
	}
	l.finish(t)
	if err := l.Send(&exchange.Call{ID: 4}); durward.KindOf(err) != durward.Unavailable {
		t.Fatalf("a call after Closed: %v", err)
	}
}

// When the worker vanishes, what it had may have been executed.
func TestFarEndVanishes(t *testing.T) {
	l := newLink(t, exchange.LinkSpec{})
	l.open(t)
	for id := range uint64(3) {
		if err := l.Send(&exchange.Call{ID: id}); err != nil {
			t.Fatal(err)
		}
		<-l.far.sent
	}
	l.far.sink.Receive(&exchange.Response{ID: 1, Reply: exchange.Reply{Result: []byte("1")}})
	l.inbox.next(t)
	l.beyond.Close()
	for _, id := range []uint64{0, 2} {
		m, ok := l.inbox.next(t).(*exchange.Response)
		if !ok || m.ID != id || m.Fault == nil || !m.Fault.Delivered || durward.Kind(m.Fault.Kind) != durward.Unknown {
			t.Fatalf("%+v", m)
		}
	}
	if m, ok := l.inbox.next(t).(*exchange.Closed); !ok || m.Phase != exchange.PhaseReady {
		t.Fatalf("%+v", m)
	}
	<-l.far.end // the real link is closed as well
	l.far.sink.Receive(&exchange.Closed{})
	if err := <-l.served; durward.KindOf(err) != durward.Unavailable {
		t.Fatal(err)
	}
}

// A far end that does not read blocks nobody; its calls were not delivered.
func TestFarEndDoesNotRead(t *testing.T) {
	near, beyond := net.Pipe()
	inbox := make(mailbox, 1000)
	l := pipe.Dial(near, exchange.LinkSpec{}, inbox)
	if _, err := io.ReadFull(beyond, make([]byte, 4)); err != nil { // then never again
		t.Fatal(err)
	}
	go beyond.Write(frame(0x97, 8, 1, 0xa1, 'r', 0xc0, 0xc0, 0xa0, 0xc2)) // Opened, legacy
	inbox.next(t)
	big := []byte(`"` + strings.Repeat("x", 4<<20) + `"`)
	accepted := 0
	for id := range uint64(30) {
		err := l.Send(&exchange.Call{ID: id, Request: exchange.Request{Name: big}})
		if err == nil {
			accepted++
		} else if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.message") {
			t.Fatal(err)
		}
	}
	if accepted < 14 || accepted > 18 {
		t.Errorf("%d calls of 4 MiB were accepted, the bound is 64 MiB", accepted)
	}
	l.Close()
	beyond.Close() // as it does when its process is killed
	for range accepted {
		m, ok := inbox.next(t).(*exchange.Response)
		if !ok || m.Fault == nil || m.Fault.Delivered {
			t.Fatalf("%+v", m)
		}
	}
	if m, ok := inbox.next(t).(*exchange.Closed); !ok || m.Phase != exchange.PhaseStopped {
		t.Fatalf("%+v", m)
	}
}

func TestMessagesOverTheLimit(t *testing.T) {
	l := newLink(t, exchange.LinkSpec{MaxMessage: 1000})
	l.open(t)
	huge := bytes.Repeat([]byte("x"), 1000+64<<10)
	if err := l.Send(&exchange.Call{ID: 1, Request: exchange.Request{Name: huge}}); durward.KindOf(err) != durward.Invalid {
		t.Fatal(err)
	}
	if err := l.Send(&exchange.Call{ID: 2}); err != nil {
		t.Fatal(err)
	}
	l.far.sink.Receive(&exchange.Notification{Params: huge})
	if m, ok := l.inbox.next(t).(*exchange.Anomaly); !ok || m.Kind != "oversized" {
		t.Fatalf("%+v", m)
	}
	l.far.sink.Receive(&exchange.Response{ID: 2, Reply: exchange.Reply{Result: huge}})
	if m, ok := l.inbox.next(t).(*exchange.Response); !ok || m.ID != 2 || m.Fault == nil || !m.Fault.Delivered {
		t.Fatalf("%+v", m)
	}
	l.finish(t)

	inbox := make(mailbox, 1)
	near, beyond := net.Pipe()
	pipe.Dial(near, exchange.LinkSpec{MaxMessage: 1, ClientInfo: huge}, inbox)
	if m, ok := inbox.next(t).(*exchange.Closed); !ok || durward.Kind(m.Fault.Kind) != durward.Unavailable {
		t.Fatalf("%+v", m)
	}
	beyond.Close()
}

// frame is a frame with these bytes.
func frame(body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// Frames that do not belong there, or are none, end the link: at the core with Closed.
func TestBrokenFrames(t *testing.T) {
	opened := frame(0x96, 8, 1, 0xa1, 'r', 0xc0, 0xc0, 0xa0)
	for name, text := range map[string][]byte{
		"not an array":     frame(0xc0),
		"unknown kind":     frame(0x91, 99),
		"missing fields":   frame(0x91, 8),
		"wrong direction":  frame(0x93, 4, 1, 0xa0),
		"close":            frame(0x91, 2),
		"bytes behind":     append(frame(0x96, 8, 1, 0xa1, 'r', 0xc0, 0xc0, 0xa0, 0), 0),
		"opened twice":     append(bytes.Clone(opened), opened...),
		"unknown era":      frame(0x96, 8, 3, 0xa1, 'r', 0xc0, 0xc0, 0xa0),
		"length of 4 GiB":  {0xff, 0xff, 0xff, 0xff},
		"string of 4 GiB":  frame(0x96, 8, 1, 0xdb, 0xff, 0xff, 0xff, 0xff),
		"bytes of 4 GiB":   frame(0x96, 8, 1, 0xa0, 0xc6, 0xff, 0xff, 0xff, 0xff),
		"half a frame":     opened[:7],
		"half a header":    {0, 0},
		"an empty frame":   frame(),
		"text":             []byte("panic: runtime error\n"),
		"a number instead": frame(0x93, 9, 1, 2, 3),
	} {
		t.Run(name, func(t *testing.T) {
			near, beyond := net.Pipe()
			inbox := make(mailbox, 10)
			pipe.Dial(near, exchange.LinkSpec{}, inbox)
			go io.Copy(io.Discard, beyond)
			go func() {
				beyond.Write(text)
				beyond.Close()
			}()
			for {
				m := inbox.next(t)
				if c, ok := m.(*exchange.Closed); ok {
					if c.Fault.Message == "" {
						t.Error("no reason")
					}
					return
				}
				if _, ok := m.(*exchange.Opened); !ok {
					t.Fatalf("%+v", m)
				}
			}
		})
	}
}

func TestServeRefusesOtherBeginnings(t *testing.T) {
	for name, text := range map[string][]byte{
		"nothing": nil, "a close": frame(0x91, 2), "text": []byte("GET / HTTP/1.1\r\n\r\n"), "half": {0, 0, 0, 9, 1},
	} {
		near, beyond := net.Pipe()
		go func() {
			near.Write(text)
			near.Close()
		}()
		err := pipe.Serve(beyond, func(exchange.LinkSpec, exchange.Sink) exchange.Link {
			t.Errorf("%s opened a link", name)
			return nil
		})
		if durward.KindOf(err) != durward.Unavailable || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServeEndsOnBrokenFrames(t *testing.T) {
	l := newLink(t, exchange.LinkSpec{})
	l.open(t)
	l.near.Write(frame(0x91, 99))
	<-l.far.end
	l.far.sink.Receive(&exchange.Closed{Phase: exchange.PhaseReady})
	l.inbox.next(t)
	if err := <-l.served; err != nil && !errors.Is(err, io.EOF) && durward.KindOf(err) != durward.Unavailable {
		t.Fatal(err)
	}
}

func ExampleDial() {
	near, far := net.Pipe()
	served := make(chan error)
	go func() {
		served <- pipe.Serve(far, func(spec exchange.LinkSpec, sink exchange.Sink) exchange.Link {
			go sink.Receive(&exchange.Closed{Fault: exchange.Fault{Message: "no server called " + spec.Server}})
			return &farLink{end: make(chan struct{})}
		})
	}()
	inbox := make(mailbox, 1)
	pipe.Dial(near, exchange.LinkSpec{Server: "github"}, inbox)
	closed := (<-inbox).(*exchange.Closed)
	fmt.Println(closed.Fault.Message, <-served)
	// Output: no server called github <nil>
}
