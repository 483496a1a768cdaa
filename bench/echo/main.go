// Command echo is the MCP server of the benchmarks: the fastest honest one that
// could be written, so that what is measured is the way to it. It speaks both
// eras, on stdio or as streamable HTTP, and answers in order.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"durward/internal/wire"
)

func main() {
	listen := flag.String("http", "", "serve streamable HTTP on this address and print it; default: stdio")
	tools := flag.Int("tools", 1, "how many tools to offer besides big")
	hang := flag.Bool("hang", false, "read and never answer")
	flag.Parse()
	s := server{list: listing(*tools)}
	switch {
	case *hang:
		_, _ = io.Copy(io.Discard, os.Stdin)
	case *listen != "":
		log.Fatal(s.serveHTTP(*listen))
	default:
		if err := s.serveStdio(); err != nil {
			log.Fatal(err)
		}
	}
}

type server struct{ list []byte }

// listing offers echo, big and as many more tools as asked for, each about 400 bytes.
func listing(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":[` +
		`{"name":"echo","description":"Returns its message.","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}},` +
		`{"name":"big","description":"Returns so many bytes.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}}}}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `,{"name":"tool_%05d","description":"%s","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"%s"}},"required":["path"]}}`,
			i, strings.Repeat("What it does. ", 8), strings.Repeat("Where it is. ", 8))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// answer appends the response to one message; nothing for a notification.
func (s *server) answer(dst, in []byte) []byte {
	var m wire.Message
	if err := wire.Parse(in, wire.FromClient, &m); err != nil {
		return wire.AppendFailure(dst, nil, wire.AppendError(nil, wire.CodeParse, err.Error(), nil))
	}
	if m.Kind != wire.Request {
		return dst
	}
	switch m.Method {
	case wire.MethodToolsCall:
		return s.call(dst, &m)
	case wire.MethodToolsList:
		return wire.AppendResult(dst, m.ID, s.list)
	case wire.MethodInitialize:
		return wire.AppendResult(dst, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`))
	case wire.MethodDiscover:
		return wire.AppendResult(dst, m.ID, []byte(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public"}`))
	case wire.MethodPing:
		return wire.AppendResult(dst, m.ID, []byte(`{}`))
	default:
		return wire.AppendFailure(dst, m.ID, wire.AppendError(nil, wire.CodeMethodNotFound, m.Method, nil))
	}
}

func (s *server) call(dst []byte, m *wire.Message) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, m.ID...)
	dst = append(dst, `,"result":{"resultType":"complete","content":[{"type":"text","text":`...)
	arguments := m.Params.Arguments.Of(m.Params.Raw)
	if name, _ := m.Params.String(m.Params.Name); name == "big" {
		n, _ := strconv.Atoi(string(wire.Get(arguments, "bytes")))
		dst = append(dst, '"')
		dst = append(dst, bytes.Repeat([]byte("x"), n)...)
		dst = append(dst, '"')
	} else if message := wire.Get(arguments, "message"); message != nil {
		dst = append(dst, message...)
	} else {
		dst = append(dst, `""`...)
	}
	return append(dst, `}]}}`...)
}

func (s *server) serveStdio() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	var buf []byte
	for {
		line, err := readLine(in)
		if err != nil {
			return out.Flush()
		}
		if buf = s.answer(buf[:0], line); len(buf) > 0 {
			if _, err := out.Write(append(buf, '\n')); err != nil {
				return err
			}
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is
		return line, err
	}
	whole := bytes.Clone(line)
	rest, err := in.ReadBytes('\n')
	return append(whole, rest...), err
}

func (s *server) serveHTTP(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, http.HandlerFunc(s.handle))
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body := make([]byte, max(r.ContentLength, 0))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	out := s.answer(nil, body)
	if len(out) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out)
}
