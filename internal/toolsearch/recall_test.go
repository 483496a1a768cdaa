package toolsearch_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"durward/internal/builtin"
	"durward/internal/exchange"
	"durward/internal/toolsearch"
	"durward/internal/wire"
)

// rows reads a file of testdata: lines of fields between bars.
func rows(tb testing.TB, file string) [][]string {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		tb.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		out = append(out, fields)
	}
	return out
}

// catalog returns the raw tools of the catalog as a server would list them.
func catalog(tb testing.TB) [][]byte {
	tb.Helper()
	var tools [][]byte
	for _, row := range rows(tb, "catalog.txt") {
		var properties []string
		for param := range strings.SplitSeq(row[2], ";") {
			if name, text, ok := strings.Cut(param, ":"); ok {
				properties = append(properties, wire.Quote(strings.TrimSpace(name))+`:{"type":"string","description":`+wire.Quote(strings.TrimSpace(text))+`}`)
			}
		}
		tools = append(tools, []byte(`{"name":`+wire.Quote(row[0])+`,"description":`+wire.Quote(row[1])+
			`,"inputSchema":{"type":"object","properties":{`+strings.Join(properties, ",")+`}}}`))
	}
	return tools
}

func documents(tools [][]byte) []toolsearch.Document {
	docs := make([]toolsearch.Document, len(tools))
	for i := range tools {
		docs[i] = toolsearch.Read(tools[i])
	}
	return docs
}

// recall returns the share of the wanted tools that are among the first five, and
// tells what is missing.
func recall(tb testing.TB, x *toolsearch.Index, docs []toolsearch.Document) float64 {
	tb.Helper()
	sum := 0.0
	all := rows(tb, "queries.txt")
	for _, row := range all {
		var got []string
		for _, hit := range x.Search(row[0], 5, nil) {
			got = append(got, docs[hit.Document].Name)
		}
		wanted := strings.Fields(row[1])
		found := 0
		for _, name := range wanted {
			if slices.Contains(got, name) {
				found++
			}
		}
		if found < len(wanted) {
			tb.Logf("%q wants %v, found %v", row[0], wanted, got)
		}
		sum += float64(found) / float64(len(wanted))
	}
	return sum / float64(len(all))
}

// collector keeps what the built-in tools answer.
type collector chan exchange.Message

func (c collector) Receive(m exchange.Message) { c <- m }

// finders returns the bytes of the tools that a lazy route lists.
func finders(t *testing.T) (size int) {
	t.Helper()
	box := make(collector, 8)
	link := builtin.Open(exchange.LinkSpec{}, box)
	if err := link.Send(&exchange.Call{ID: 1, Request: exchange.Request{Method: wire.MethodToolsList}}); err != nil {
		t.Fatal(err)
	}
	link.Close()
	for m := range box {
		switch m := m.(type) {
		case *exchange.Response:
			list := wire.Get(m.Result, "tools")
			for at := range wire.Elements(list) {
				if name, _ := wire.Unquote(wire.Get(at.Of(list), "name")); slices.Contains(builtin.FinderTools(), name) {
					size += len(at.Of(list)) + len("local__,")
				}
			}
		case *exchange.Closed:
			return size
		}
	}
	return 0
}

func TestRecallAndTokens(t *testing.T) {
	tools := catalog(t)
	docs := documents(tools)
	if n := len(rows(t, "queries.txt")); len(tools) < 300 || n < 60 {
		t.Fatalf("%d tools and %d queries are too few to say anything", len(tools), n)
	}
	names := map[string]bool{}
	full := 0
	for i := range tools {
		full += len(tools[i]) + 1
		names[docs[i].Name] = true
	}
	for _, row := range rows(t, "queries.txt") {
		for name := range strings.FieldsSeq(row[1]) {
			if !names[name] {
				t.Errorf("%q wants %s, which is not in the catalog", row[0], name)
			}
		}
	}
	lazy := finders(t)
	share := recall(t, toolsearch.New(docs), docs)
	// A token is taken for 4 bytes, which is an estimate for JSON in English.
	fmt.Printf("toolsearch: tools=%d tokens_full=%d tokens_lazy=%d recall_at_5=%.3f\n", len(tools), full/4, lazy/4, share)
	if lazy == 0 || lazy*10 > full {
		t.Errorf("a lazy list has %d bytes, the full one %d", lazy, full)
	}
	if share < 0.93 {
		t.Errorf("recall at 5 is %.3f, and was 0.965", share)
	}
}
