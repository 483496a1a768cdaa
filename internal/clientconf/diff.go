package clientconf

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"durward/internal/clientconf/syntax"
)

// Bounds of a difference that is shown.
const (
	diffContext = 3
	diffSearch  = 2000 // lines that are compared one by one; beyond, a region is shown as a whole
)

// diffText renders the difference of two versions of a file in the unified
// form, with secrets masked. It is empty if there is none.
func diffText(f syntax.Format, name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	a, b := splitLines(before), splitLines(after)
	shownA, shownB := splitLines(masked(f, before)), splitLines(masked(f, after))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	ops := compare(a, b)
	for i, o := range ops { // compared as they are, shown without secrets
		if ops[i].text = ""; o.kind == '+' && o.b < len(shownB) {
			ops[i].text = shownB[o.b]
		} else if o.kind != '+' && o.a < len(shownA) {
			ops[i].text = shownA[o.a]
		}
	}
	for start := 0; start < len(ops); {
		end := hunkEnd(ops, start)
		if end < 0 {
			break
		}
		out.WriteString(hunk(ops[start:], end-start))
		start = end
	}
	return out.String()
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

// compare finds the lines that differ. Most files differ in one region, so equal
// ends are taken off first.
func compare(a, b []string) []lineOp {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []lineOp
	for i := range head {
		out = append(out, lineOp{' ', a[i], i, i})
	}
	out = append(out, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := range tail {
		x, y := len(a)-tail+i, len(b)-tail+i
		out = append(out, lineOp{' ', a[x], x, y})
	}
	return out
}

// middle finds a longest common subsequence by the table of its lengths.
func middle(a, b []string, at int) []lineOp {
	var out []lineOp
	i, j := 0, 0
	gone := func() { out = append(out, lineOp{'-', a[i], at + i, at + j}); i++ }
	came := func() { out = append(out, lineOp{'+', b[j], at + i, at + j}); j++ }
	if len(a) <= diffSearch && len(b) <= diffSearch {
		width := len(b) + 1
		common := make([]uint16, (len(a)+1)*width)
		for x := len(a) - 1; x >= 0; x-- {
			for y := len(b) - 1; y >= 0; y-- {
				if a[x] == b[y] {
					common[x*width+y] = common[(x+1)*width+y+1] + 1
				} else {
					common[x*width+y] = max(common[(x+1)*width+y], common[x*width+y+1])
				}
			}
		}
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out = append(out, lineOp{' ', a[i], at + i, at + j})
				i, j = i+1, j+1
			case common[(i+1)*width+j] >= common[i*width+j+1]:
				gone()
			default:
				came()
			}
		}
	}
	for i < len(a) {
		gone()
	}
	for j < len(b) {
		came()
	}
	return out
}

// hunkEnd moves start to the next change less its context, and returns where
// the region of changes ends; -1 if there is none.
func hunkEnd(ops []lineOp, start int) int {
	first := slices.IndexFunc(ops[start:], func(o lineOp) bool { return o.kind != ' ' })
	if first < 0 {
		return -1
	}
	last := start + first
	for i := last; i < len(ops) && i <= last+2*diffContext+1; i++ {
		if ops[i].kind != ' ' {
			last = i
		}
	}
	return min(last+1+diffContext, len(ops))
}

// hunk renders the region of changes in the first n lines.
func hunk(ops []lineOp, n int) string {
	ops = ops[:n]
	first := slices.IndexFunc(ops, func(o lineOp) bool { return o.kind != ' ' })
	ops = ops[max(first-diffContext, 0):]
	var body strings.Builder
	var gone, came int
	for _, o := range ops {
		if o.kind != '+' {
			gone++
		}
		if o.kind != '-' {
			came++
		}
		body.WriteString(string(o.kind) + strings.TrimRight(o.text, "\r\n") + "\n")
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

// masked returns a file in which every secret is masked, with its lines where
// they were.
func masked(f syntax.Format, data []byte) []byte {
	root, bad := syntax.Parse(f, data)
	if bad != nil {
		return nil // nothing is shown of what is not understood
	}
	var places []maskedPlace
	collectSecrets(root, "", &places)
	slices.SortFunc(places, func(a, b maskedPlace) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, p := range places {
		if p.start < at {
			continue
		}
		out = append(out, data[at:p.start]...)
		out = append(out, maskText(string(data[p.start:p.end]), p.secrets)...)
		at = p.end
	}
	out = append(out, data[at:]...)
	return knownShapes.ReplaceAllFunc(out, func(m []byte) []byte { // in comments, for instance
		return []byte(Mask + strings.Repeat("\n", bytes.Count(m, []byte("\n"))))
	})
}

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
			return `"` + Mask + `"` + strings.Repeat("\n", strings.Count(raw, "\n"))
		}
		shown = strings.ReplaceAll(shown, s, Mask)
	}
	return shown
}

func collectSecrets(n *syntax.Node, key string, places *[]maskedPlace) {
	if n.Kind == syntax.Text {
		if isReference(n.Text) {
			key = ""
		}
		p := maskedPlace{start: n.Start, end: n.End}
		for _, s := range secretSpans(key, n.Text) {
			p.secrets = append(p.secrets, n.Text[s.start:s.end])
		}
		if p.secrets != nil {
			*places = append(*places, p)
		}
	}
	for _, m := range n.Members {
		collectSecrets(m.Value, m.Name, places)
	}
	option := ""
	for _, e := range n.Elems {
		collectSecrets(e, option, places)
		if option = ""; e.Kind == syntax.Text && strings.HasPrefix(e.Text, "-") && !strings.ContainsAny(e.Text, "= ") {
			option = strings.TrimLeft(e.Text, "-")
		}
	}
}
