package clientconf

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"durward/internal/clientconf/syntax"
	"durward/internal/lcs"
)

// diffContext is how many lines are shown around those that differ.
const diffContext = 3

// diffText renders the difference of two versions of a file in the unified
// form, with secrets masked. It is empty if there is none.
func diffText(f syntax.Format, name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	a, b := splitLines(before), splitLines(after)
	hunks := hunksOf(compare(a, b))
	// Compared as they are, shown without secrets.
	shownA, shownB := shown(f, before, hunks, func(o lineOp) int { return o.a }), shown(f, after, hunks, func(o lineOp) int { return o.b })
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks {
		for i, o := range h {
			if h[i].text = shownA[o.a]; o.kind == '+' {
				h[i].text = shownB[o.b]
			}
		}
		out.WriteString(render(h))
	}
	return out.String()
}

// shown returns the lines of a file by their number, those of the hunks with
// secrets masked; others may be left out.
func shown(f syntax.Format, data []byte, hunks [][]lineOp, number func(lineOp) int) map[int]string {
	first := number(hunks[0][0])
	end := hunks[len(hunks)-1]
	last := number(end[len(end)-1])
	from, to := len(data), len(data)
	at := 0
	for line := 0; line <= last && at < len(data); line++ {
		if line == first {
			from = at
		}
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			at += n + 1
		} else {
			at = len(data)
		}
		to = at
	}
	out := map[int]string{}
	if from < to {
		for i, text := range splitLines(masked(f, data, from, to)) {
			out[first+i] = text
		}
	}
	return out
}

// lineOp is a line that stays (' '), goes ('-') or comes ('+').
type lineOp struct {
	kind byte
	text string
	a, b int // numbers from 0 of the line in both versions
}

func splitLines(data []byte) []string {
	out := strings.SplitAfter(string(data), "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// compare finds the lines that differ.
func compare(a, b []string) []lineOp {
	var out []lineOp
	for _, r := range lcs.Compare(a, b) {
		x, y := r.A, r.B
		for range r.N {
			op := lineOp{kind: byte(r.Kind), a: x, b: y}
			if r.Kind == lcs.New {
				op.text = b[y]
			} else {
				op.text = a[x]
				x++
			}
			if r.Kind != lcs.Gone {
				y++
			}
			out = append(out, op)
		}
	}
	return out
}

// hunksOf cuts out the regions in which something changes, with their context.
func hunksOf(ops []lineOp) [][]lineOp {
	var out [][]lineOp
	for at := 0; ; {
		first := slices.IndexFunc(ops[at:], func(o lineOp) bool { return o.kind != ' ' })
		if first < 0 {
			return out
		}
		first += at
		last := first
		for i := first; i < len(ops) && i <= last+2*diffContext; i++ {
			if ops[i].kind != ' ' {
				last = i
			}
		}
		end := min(last+1+diffContext, len(ops))
		out = append(out, ops[max(first-diffContext, at):end])
		at = end
	}
}

// render renders one hunk.
func render(ops []lineOp) string {
	var body strings.Builder
	var gone, came int
	for _, o := range ops {
		if o.kind != '+' {
			gone++
		}
		if o.kind != '-' {
			came++
		}
		body.WriteString(string(o.kind) + shorten(strings.TrimRight(o.text, "\r\n")) + "\n")
		if !strings.HasSuffix(o.text, "\n") {
			body.WriteString("\\ No newline at end of file\n")
		}
	}
	from := func(line, n int) int {
		if n == 0 {
			return line
		}
		return line + 1
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s", from(ops[0].a, gone), gone, from(ops[0].b, came), came, body.String())
}

// shorten keeps the ends of a long line: a file that is one line is shown too,
// and what is new is usually at its end.
func shorten(line string) string {
	const most = 1000
	if len(line) <= most {
		return line
	}
	head, tail := line[:most/2], line[len(line)-most/2:]
	return strings.ToValidUTF8(head, "") + "…" + strings.ToValidUTF8(tail, "")
}

// masked returns the lines of a file from one offset to another with every
// secret masked; a line break stays where it was.
func masked(f syntax.Format, data []byte, from, to int) []byte {
	root, bad := syntax.Parse(f, data)
	if bad != nil && !isEmpty(data) {
		return nil // nothing is shown of what is not understood
	}
	c := collector{from: from, to: to}
	if root != nil {
		c.collect(root, "")
	}
	slices.SortFunc(c.places, func(a, b maskedPlace) int { return cmp.Compare(a.start, b.start) })
	var out strings.Builder
	at := from
	for _, p := range c.places {
		if p.start < at { // it begins before the lines: none of it is shown
			if p.end > at {
				out.WriteString(Mask + breaks(string(data[at:min(p.end, to)])))
				at = min(p.end, to)
			}
			continue
		}
		out.Write(data[at:p.start])
		out.WriteString(maskText(string(data[p.start:min(p.end, to)]), p.secrets))
		at = min(p.end, to)
	}
	out.Write(data[at:to])
	text := out.String()
	spans := disjoint(shapeSpans("", text)) // in comments, for instance
	for _, s := range slices.Backward(spans) {
		text = text[:s.start] + Mask + breaks(text[s.start:s.end]) + text[s.end:]
	}
	return []byte(text)
}

// breaks returns the line breaks of a text.
func breaks(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }

// maskedPlace is a text in a file that holds secrets.
type maskedPlace struct {
	start, end int
	secrets    []string
}

// maskText masks secrets in a text as it stands in the file, the whole of it if
// they are not to be seen there in plain.
func maskText(raw string, secrets []string) string {
	const most = 100 // beyond, the whole text is masked: it costs less
	shown := raw
	for _, s := range secrets {
		s = strings.Trim(syntax.QuoteJSON(s), `"`)
		if !strings.Contains(shown, s) || len(secrets) > most {
			return `"` + Mask + `"` + breaks(raw)
		}
		shown = strings.ReplaceAll(shown, s, Mask+breaks(s))
	}
	return shown
}

// collector finds the secrets between two offsets.
type collector struct {
	from, to int
	places   []maskedPlace
}

func (c *collector) collect(n *syntax.Node, key string) {
	if n.Kind == syntax.Text && n.Start < c.to && n.End > c.from {
		c.text(n, key)
	}
	for _, m := range n.Members {
		c.collect(m.Value, m.Name)
	}
	option := ""
	for _, e := range n.Elems {
		c.collect(e, option)
		if option = ""; e.Kind == syntax.Text && strings.HasPrefix(e.Text, "-") && !strings.ContainsAny(e.Text, "= ") {
			option = strings.TrimLeft(e.Text, "-")
		}
	}
}

func (c *collector) text(n *syntax.Node, key string) {
	if isReference(n.Text) {
		key = ""
	}
	p := maskedPlace{start: n.Start, end: n.End}
	if len(n.Text) > maxText {
		p.secrets = []string{n.Text} // too long to look through; none of it is needed
	} else {
		for _, s := range secretSpans(key, n.Text) {
			p.secrets = append(p.secrets, n.Text[s.start:s.end])
		}
	}
	if p.secrets != nil {
		c.places = append(c.places, p)
	}
}
