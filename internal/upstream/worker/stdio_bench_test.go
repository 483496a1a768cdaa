package worker_test

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// replies is a sink for measurements: it wakes who waits for an answer.
type replies struct {
	opened chan struct{}
	closed chan struct{}
	wait   [128]chan struct{} // by id modulo its length
}

func newReplies() *replies {
	r := &replies{opened: make(chan struct{}), closed: make(chan struct{})}
	for i := range r.wait {
		r.wait[i] = make(chan struct{}, 1)
	}
	return r
}

func (r *replies) Receive(m exchange.Message) {
	switch m := m.(type) {
	case *exchange.Opened:
		close(r.opened)
	case *exchange.Response:
		r.wait[m.ID%uint64(len(r.wait))] <- struct{}{}
	case *exchange.Closed:
		close(r.closed)
	}
}

// echo answers every line that has an id with the same result. It does not allocate per line.
func echo(in io.Reader, out io.WriteCloser, payload string) {
	defer out.Close()
	lines := bufio.NewReaderSize(in, 1<<20)
	var reply []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		text := string(line[:min(64, len(line))]) // stays on the stack: see below
		at := strings.Index(text, `"id":`)
		if at < 0 {
			continue
		}
		id := text[at+5:]
		id = id[:strings.IndexByte(id, ',')]
		if id == "2147483647" {
			_, err = io.WriteString(out, helloBack)
		} else {
			reply = append(append(reply[:0], `{"jsonrpc":"2.0","id":`...), id...)
			reply = append(append(append(reply, `,"result":`...), payload...), "}\n"...)
			_, err = out.Write(reply)
		}
		if err != nil {
			return
		}
	}
}

// echoServer opens a connection to an echo over pipes of the system.
func echoServer(tb testing.TB, payload string) (exchange.Link, *replies) {
	tb.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	go func() {
		echo(stdin, stdout, payload)
		stdin.Close()
	}()
	sink := newReplies()
	link := worker.OpenStdio(specFor(wire.Legacy), in, out, sink)
	tb.Cleanup(func() {
		link.Close()
		<-sink.closed
	})
	<-sink.opened
	return link, sink
}

const tinyResult = `{"content":[{"type":"text","text":"hello"}]}`

// tinyCall is a call as a modern client over HTTP sends it.
func tinyCall(tb testing.TB) exchange.Request {
	tb.Helper()
	r := exchange.Request{Method: wire.MethodToolsCall, Name: []byte(`"echo"`)}
	raw := `{"name":"srv__echo","arguments":{"text":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}`
	if err := wire.ParseParams([]byte(raw), &r.Params); err != nil {
		tb.Fatal(err)
	}
	return r
}

// The budget of the hot path: the Call, the Response, its bytes, and what the
// rewrite of `_meta` costs. The echo on the other side of the pipes costs one.
func TestAllocationsPerCall(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector allocates by itself: only that calls work is tested")
	}
	link, sink := echoServer(t, tinyResult)
	request := tinyCall(t)
	var id uint64
	got := testing.AllocsPerRun(2000, func() {
		id++
		if err := link.Send(&exchange.Call{ID: id, Request: request}); err != nil {
			t.Fatal(err)
		}
		<-sink.wait[id%uint64(len(sink.wait))]
	})
	const budget = 6
	if got > budget && !raceEnabled {
		t.Errorf("%v allocations per call, the budget is %d", got, budget)
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) { benchmark(b, callers, tinyResult) })
	}
	b.Run("64KB", func(b *testing.B) {
		benchmark(b, 1, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 64<<10)+`"}]}`)
	})
}

func benchmark(b *testing.B, callers int, payload string) {
	link, sink := echoServer(b, payload)
	request := tinyCall(b)
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for slot := range callers {
		all.Go(func() {
			for id := uint64(slot); left.Add(-1) >= 0; id += uint64(len(sink.wait)) {
				if err := link.Send(&exchange.Call{ID: id, Request: request}); err != nil {
					b.Error(err)
					return
				}
				<-sink.wait[slot]
			}
		})
	}
	all.Wait()
}
