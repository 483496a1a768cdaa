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
	mask := masker(f, before, after)
	a, b := splitLines(before), splitLines(after)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	ops := compare(a, b)
	for start := 0; start < len(ops); {
		end := hunkEnd(ops, start)
		if end < 0 {
			break
		}
		out.WriteString(hunk(ops[start:], end-start))
		start = end
	}
	return mask.Replace(out.String())
}

// lineOp is a line that stays (' '), goes ('-') or comes ('+').
type lineOp struct {
	kind byte
	text string
	a, b int // numbers from 0 of the line in both versions
}

func splitLines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
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
	}
	from := func(line, n int) int {
		if n == 0 {
			return line
		}
		return line + 1
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s", from(ops[0].a, gone), gone, from(ops[0].b, came), came, body.String())
}

// masker hides every secret that a file holds, wherever it stands.
func masker(f syntax.Format, versions ...[]byte) *strings.Replacer {
	var found []string
	for _, data := range versions {
		if root, bad := syntax.Parse(f, data); bad == nil {
			collectSecrets(root, "", &found)
		}
	}
	slices.SortFunc(found, func(a, b string) int { // longest first: a value may hold another
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, text := range slices.Compact(found) {
		pairs = append(pairs, text, Mask)
		if quoted := strings.Trim(syntax.QuoteJSON(text), `"`); quoted != text {
			pairs = append(pairs, quoted, Mask)
		}
	}
	return strings.NewReplacer(pairs...)
}

func collectSecrets(n *syntax.Node, key string, found *[]string) {
	if n.Kind == syntax.Text {
		for _, s := range secretSpans(key, n.Text) {
			if s.end-s.start >= 4 { // shorter ones would damage the text and hide nothing
				*found = append(*found, n.Text[s.start:s.end])
			}
		}
	}
	for _, m := range n.Members {
		collectSecrets(m.Value, m.Name, found)
	}
	option := ""
	for _, e := range n.Elems {
		collectSecrets(e, option, found)
		if option = ""; e.Kind == syntax.Text && strings.HasPrefix(e.Text, "-") && !strings.ContainsAny(e.Text, "= ") {
			option = strings.TrimLeft(e.Text, "-")
		}
	}
}
