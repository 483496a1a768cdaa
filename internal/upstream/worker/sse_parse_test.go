package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"durward"
)

func readEvents(t *testing.T, src io.Reader, limit int) (events []sseEvent, s *sseReader, err error) {
	t.Helper()
	s = newSSEReader(src, limit, "")
	defer s.release()
	for {
		ev, err := s.Next()
		if err != nil {
			return events, s, err
		}
		events = append(events, ev)
	}
}

func TestSSEParsing(t *testing.T) {
	const bom = "\xEF\xBB\xBF"
	for name, tc := range map[string]struct {
		in   string
		want []string // "type|data"
		id   string
	}{
		"one":                    {"data: a\n\n", []string{"|a"}, ""},
		"crlf":                   {"event: message\r\ndata: a\r\n\r\n", []string{"message|a"}, ""},
		"cr":                     {"data: a\r\rdata: b\r\r", []string{"|a", "|b"}, ""},
		"mixed ends":             {"data: a\rdata: b\ndata: c\r\n\n", []string{"|a\nb\nc"}, ""},
		"byte order mark":        {bom + "data: a\n\n", []string{"|a"}, ""},
		"two byte order marks":   {bom + bom + "data: a\n\n", nil, ""},
		"comment":                {": keep-alive\n\ndata: a\n:x\ndata: b\n\n", []string{"|a\nb"}, ""},
		"only one space goes":    {"data:  a\ndata:b\n\n", []string{"| a\nb"}, ""},
		"no colon":               {"data\ndata\n\n", []string{"|\n"}, ""},
		"empty data":             {"id: 7\nretry: 10\ndata: \n\n", []string{"|"}, "7"},
		"priming without data":   {"id: 7\nretry: 10\n\n", nil, "7"},
		"id with NUL":            {"id: 1\n\nid: a\x00b\ndata: x\n\n", []string{"|x"}, "1"},
		"empty id resets":        {"id: 1\ndata: x\n\nid\ndata: y\n\n", []string{"|x", "|y"}, ""},
		"id stays":               {"id: 1\ndata: x\n\ndata: y\n\n", []string{"|x", "|y"}, "1"},
		"type is of one event":   {"event: e\n\ndata: x\n\n", []string{"|x"}, ""},
		"last event unfinished":  {"data: a\n\ndata: b\n", []string{"|a"}, ""},
		"id of unfinished event": {"data: a\n\nid: 9\ndata: b\n", []string{"|a"}, ""},
		"unknown field":          {"foo: bar\ndatax: y\nDATA: z\n data: q\ndata: a\n\n", []string{"|a"}, ""},
		"colon in value":         {"data: a: b\n\n", []string{"|a: b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, src := range []io.Reader{strings.NewReader(tc.in), iotest.OneByteReader(strings.NewReader(tc.in)), iotest.DataErrReader(strings.NewReader(tc.in))} {
				events, s, err := readEvents(t, src, 1<<20)
				if !errors.Is(err, io.EOF) {
					t.Fatalf("ended with %v", err)
				}
				if got := show(events); strings.Join(got, "¶") != strings.Join(tc.want, "¶") {
					t.Errorf("got %q, want %q", got, tc.want)
				}
				if s.lastID != tc.id {
					t.Errorf("last id %q, want %q", s.lastID, tc.id)
				}
			}
		})
	}
}

func show(events []sseEvent) []string {
	var out []string
	for _, ev := range events {
		out = append(out, ev.Type+"|"+string(ev.Data))
	}
	return out
}

func TestSSERetry(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"retry: 10\n\n": 10 * time.Millisecond, "retry:0\n\n": 0, "retry: 1x\n\n": -1, "retry: -1\n\n": -1, "retry:\n\n": -1, "retry: \n\n": -1,
		"retry:  5\n\n": -1, "retry: 99999999999999999999\n\n": sseRetryMax, "retry: 120000\n\n": sseRetryMax, "retry: 7\nretry: q\n\n": 7 * time.Millisecond,
	} {
		_, s, _ := readEvents(t, strings.NewReader(in), 100)
		if got := s.retry; s.heard != (want >= 0) || s.heard && got != want {
			t.Errorf("%q: %v %v, want %v", in, s.heard, got, want)
		}
	}
}

// An event is handed out as soon as its blank line is there, without waiting for what follows.
func TestSSEIsIncremental(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		r, w := io.Pipe()
		s := newSSEReader(r, 100, "")
		for i := range 3 {
			go fmt.Fprintf(w, "data: %d%s%s", i, end, end)
			ev, err := s.Next() // a reader that waits for more hangs here
			if err != nil || string(ev.Data) != fmt.Sprint(i) {
				t.Fatalf("%q: %q %v", end, ev.Data, err)
			}
		}
		r.Close()
		s.release()
	}
}

func TestSSEBounds(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for name, tc := range map[string]struct {
		in string
		ok bool
	}{
		"at the limit":        {"data: " + big + "\n\n", true},
		"each event anew":     {"data: " + big + "\n\ndata: " + big + "\n\n", true},
		"a long comment":      {":" + big + big + "\ndata: a\n\n", true},
		"a long unknown line": {big + big + "\ndata: a\n\n", true},
		"a long id":           {"id: " + big + "\ndata: a\n\n", false},
		"a long type":         {"event: " + big + "\ndata: a\n\n", false},
		"a long retry":        {"retry: " + big + "\ndata: a\n\n", false},
	} {
		events, _, err := readEvents(t, strings.NewReader(tc.in), len(big))
		if errors.Is(err, io.EOF) != tc.ok || tc.ok && len(events) == 0 {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
		if !tc.ok && durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: kind %v", name, durward.KindOf(err))
		}
	}
}

// An event over the limit is left out, and the stream goes on behind it.
func TestSSEOversizedEvent(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for name, in := range map[string]string{
		"one line":  "data: head" + big + "tail\n\n",
		"lines":     "data: head" + big[:50_000] + "\ndata: " + big + "\ndata: tail\n\n",
		"long tail": "data: head\ndata: " + big + strings.Repeat("y", 1000) + "tail\n\n",
	} {
		for _, src := range []io.Reader{strings.NewReader(in + "data: next\n\n"), iotest.HalfReader(strings.NewReader(in + "data: next\n\n"))} {
			events, _, err := readEvents(t, src, 100_000)
			if !errors.Is(err, io.EOF) || len(events) != 2 || !events[0].Over || events[1].Over || string(events[1].Data) != "next" {
				t.Fatalf("%s: %d events, %v", name, len(events), err)
			}
			head, tail := string(events[0].Data), string(events[0].Tail)
			if !strings.HasPrefix(head, "head") || len(head) > lineHead || !strings.HasSuffix(tail, "tail") || len(tail) > lineTail {
				t.Errorf("%s: %.10q %q", name, head, tail)
			}
		}
	}
}

func TestSSEStuckSource(t *testing.T) {
	if _, _, err := readEvents(t, stuck{}, 100); !errors.Is(err, io.ErrNoProgress) {
		t.Fatal(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestSSESmallEventAllocates(t *testing.T) {
	in := []byte(strings.Repeat("event: message\ndata: {\"jsonrpc\":\"2.0\"}\n\n", 1000))
	s := newSSEReader(bytes.NewReader(in), 1<<20, "")
	defer s.release()
	n := testing.AllocsPerRun(900, func() {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1 { // the data itself
		t.Errorf("%v allocations for an event", n)
	}
}

// referenceSSE is the algorithm of the standard, word for word, over the whole stream.
func referenceSSE(in string) (events []sseEvent, lastID string) {
	in = strings.TrimPrefix(in, "\xEF\xBB\xBF")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n")
	var data, kind, id string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			lastID = id
			if data != "" {
				events = append(events, sseEvent{Type: kind, Data: []byte(strings.TrimSuffix(data, "\n"))})
			}
			data, kind = "", ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data += value + "\n"
		case "event":
			kind = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return events, lastID
}

func FuzzSSEParse(f *testing.F) {
	f.Add("event: message\ndata: {}\n\n", 1)
	f.Add("\xEF\xBB\xBFdata: a\r\n\rid: 1\r\r\n:c\ndata\n\n", 3)
	f.Add("data: a\rdata:  b\n\revent:x\n\n\n", 2)
	f.Add("\xEF\xBB", 1)
	f.Fuzz(func(t *testing.T, in string, step int) {
		if len(in) > 4000 { // below every bound
			return
		}
		events, s, err := readEvents(t, &stepReader{in: in, step: max(1, step%64)}, 4000)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("ended with %v", err)
		}
		want, id := referenceSSE(in)
		if fmt.Sprintf("%q", show(events)) != fmt.Sprintf("%q", show(want)) || s.lastID != id {
			t.Fatalf("%q\n got %q id %q\nwant %q id %q", in, show(events), s.lastID, show(want), id)
		}
	})
}

// stepReader hands its text out in pieces of step bytes.
type stepReader struct {
	in   string
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if r.in == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.in)
	r.in = r.in[n:]
	return n, nil
}
