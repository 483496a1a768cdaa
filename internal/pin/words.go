package pin

import (
	"strings"
	"unicode"
)

// Bounds of comparing two texts.
const (
	maxCells   = 4 << 20 // of the table; beyond, the middle counts as replaced
	maxContext = 6       // words kept around a change
	maxText    = 2 << 10 // bytes shown of one text, or of one run of changed words
)

// wordDiff shows how a text changed, word by word: [-gone-] {+new+}. Of long runs
// that did not change, the middle is left out. What it returns is revealed.
func wordDiff(old, now string) string {
	a, b := words(old), words(now)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out diffText
	out.same(a[:head])
	out.middle(a[head:len(a)-tail], b[head:len(b)-tail])
	out.same(a[len(a)-tail:])
	return out.end()
}

// words splits a text so that its pieces together are the text: a word with the
// space behind it, or a single other character.
func words(text string) []string {
	var out []string
	start, inSpace := 0, false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if i > start && inSpace && !space {
			out = append(out, text[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// diffText puts runs of words together.
type diffText struct {
	runs []run
}

type run struct {
	mark byte // '=', '-' or '+'
	text []string
}

func (d *diffText) add(mark byte, text ...string) {
	if len(text) == 0 {
		return
	}
	if n := len(d.runs); n > 0 && d.runs[n-1].mark == mark {
		d.runs[n-1].text = append(d.runs[n-1].text, text...)
		return
	}
	d.runs = append(d.runs, run{mark, append([]string(nil), text...)})
}

func (d *diffText) same(text []string) { d.add('=', text...) }

// middle compares what begins and ends differently, by the longest common subsequence.
func (d *diffText) middle(a, b []string) {
	if len(a)*len(b) > maxCells || len(a) == 0 || len(b) == 0 {
		d.add('-', a...)
		d.add('+', b...)
		return
	}
	width := len(b) + 1
	lengths := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				lengths[i*width+j] = lengths[(i+1)*width+j+1] + 1
			} else {
				lengths[i*width+j] = max(lengths[(i+1)*width+j], lengths[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			d.add('=', a[i])
			i, j = i+1, j+1
		case lengths[(i+1)*width+j] >= lengths[i*width+j+1]:
			d.add('-', a[i])
			i++
		default:
			d.add('+', b[j])
			j++
		}
	}
	d.add('-', a[i:]...)
	d.add('+', b[j:]...)
}

// end renders the runs.
func (d *diffText) end() string {
	var out strings.Builder
	for i, r := range d.runs {
		text := strings.Join(r.text, "")
		switch r.mark {
		case '-':
			out.WriteString("[-" + shown(strings.TrimRight(text, " ")) + "-] ")
		case '+':
			out.WriteString("{+" + shown(strings.TrimRight(text, " ")) + "+} ")
		default:
			out.WriteString(around(r.text, i == 0, i == len(d.runs)-1))
		}
	}
	return strings.TrimSpace(out.String())
}

// around shows what did not change around a change.
func around(text []string, first, last bool) string {
	if len(text) <= 2*maxContext {
		return shown(strings.Join(text, ""))
	}
	var head, tail string
	if !first {
		head = strings.Join(text[:maxContext], "")
	}
	if !last {
		tail = strings.Join(text[len(text)-maxContext:], "")
	}
	return shown(head) + "… " + shown(tail)
}

// shown is a foreign text as it may be shown: on one line, all of it visible, not too long.
func shown(text string) string { return Reveal(clip(text, maxText)) }
