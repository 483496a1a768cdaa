//go:build unix

package stdiobridge_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"durward/internal/stdiobridge"
)

// BenchmarkLine is what lines cost on their way through the process: a request of
// 1 kB and an answer of 1 kB each time, so two lines an operation. "plain" reads
// and writes and looks at nothing; what is above it is the bridge's own.
func BenchmarkLine(b *testing.B) {
	for _, way := range []struct {
		name  string
		carry func(in io.Reader, out io.Writer, dial stdiobridge.Dialer) error
	}{
		{"plain", carryPlain},
		{"bridge", carryBridge},
	} {
		for _, at := range []int{1, 16} {
			b.Run(way.name+"/in-flight="+strconv.Itoa(at), func(b *testing.B) { benchmarkLine(b, way.carry, at) })
		}
	}
}

func carryBridge(in io.Reader, out io.Writer, dial stdiobridge.Dialer) error {
	bridge, err := stdiobridge.New(stdiobridge.Options{In: in, Out: out, Dial: dial})
	if err != nil {
		return err
	}
	return bridge.Run(context.Background())
}

func carryPlain(in io.Reader, out io.Writer, dial stdiobridge.Dialer) error {
	conn, err := dial(context.Background(), 0)
	if err != nil {
		return err
	}
	go func() {
		copyPlain(conn, in)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	copyPlain(out, conn)
	return nil
}

// copyPlain is io.Copy without the system's short cuts.
func copyPlain(to io.Writer, from io.Reader) {
	space := make([]byte, 64<<10)
	for {
		n, err := from.Read(space)
		if err != nil {
			return
		}
		if _, err := to.Write(space[:n]); err != nil {
			return
		}
	}
}

func benchmarkLine(b *testing.B, carry func(io.Reader, io.Writer, stdiobridge.Dialer) error, inFlight int) {
	path := filepath.Join(b.TempDir(), "s")
	service, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	go answerAll(service)
	b.Cleanup(func() { service.Close() })
	inRead, in, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- carry(inRead, outWrite, func(ctx context.Context, _ time.Duration) (io.ReadWriteCloser, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		})
		outWrite.Close()
	}()
	answers := bufio.NewReaderSize(out, 64<<10)
	var line []byte
	pad := strings.Repeat("x", 910)
	send := func(n int) {
		line = append(strconv.AppendInt(append(line[:0], requestHead...), int64(n), 10), requestTail...)
		line = append(append(line, pad...), "\"}}}\n"...)
		if _, err := in.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	for n := range inFlight {
		send(n)
	}
	b.ReportAllocs()
	n, began := inFlight, cpuTime()
	for b.Loop() {
		if _, err := answers.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
		send(n)
		n++
	}
	b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
	in.Close()
	_, _ = io.Copy(io.Discard, answers)
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	inRead.Close()
	out.Close()
}

// cpuTime is what this process has used, the fake service and client included.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

const (
	requestHead = `{"jsonrpc":"2.0","id":`
	requestTail = `,"method":"tools/call","params":{"name":"echo","arguments":{"m":"`
)

// answerAll answers each request with a line of about 1 kB.
func answerAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go answerOn(conn)
	}
}

func answerOn(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	result := `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("y", 930) + `"}]}}` + "\n"
	var out []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		id, _, _ := bytes.Cut(line[len(requestHead):], []byte(","))
		out = append(append(append(out, requestHead...), id...), result...)
		if in.Buffered() == 0 {
			if _, err := conn.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
}
