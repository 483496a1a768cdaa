package worker_test

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// FuzzIncoming: whatever a server writes, the link does not panic or hang, keeps
// the contract of its sink, answers each call once, and ends with Closed.
func FuzzIncoming(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `{"jsonrpc":"2.0","id":null,"error":{}}`, "\xef\xbb\xbf{}\r\n\n",
		`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n", `[{"jsonrpc":"2.0","id":1,"result":1}]` + "\n", "text\xff\n{\n",
		`{"result":{"t":"` + string(bytes.Repeat([]byte("x"), 3000)) + `"},"jsonrpc":"2.0","id":2}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n",
		`{"jsonrpc":"2.0","id":"a","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}` + "\n",
	} {
		f.Add([]byte(line), false)
		f.Add([]byte(line), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, modern bool) {
		spec, hello := specFor(wire.Legacy), helloBack
		if modern {
			spec, hello = specFor(wire.Modern), probeBack
		}
		spec.MaxMessage = 2048
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		sink := newRecorder()
		link := worker.OpenStdio(spec, in, out, sink)
		if _, err := bufio.NewReader(stdin).ReadSlice('\n'); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, stdin)
		io.WriteString(stdout, hello)
		if _, ok := sink.next(t).(*exchange.Opened); !ok {
			t.Fatal("not opened")
		}
		for id := range uint64(3) {
			if err := link.Send(call(t, id, "x", "")); err != nil {
				t.Fatal(err)
			}
		}
		stdout.Write(text)
		stdout.Close()
		sink.count(t, "")
		checkOnce(t, sink, [][]uint64{{0, 1, 2}})
		for kind, n := range sink.anomalies {
			if n <= 0 || len(sink.detail[kind]) > 200 {
				t.Fatalf("anomaly %s: %d, %q", kind, n, sink.detail[kind])
			}
		}
	})
}
