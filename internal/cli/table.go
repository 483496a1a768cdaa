package cli

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"durward/internal/reveal"
)

// cell is one value in a table. Its text may be foreign.
type cell struct {
	text   string
	colour string // SGR code; empty: none
}

// table prints rows in columns, cut to the terminal. What matters least stands
// last. The width of a column is that of its widest cell among the first rows;
// what comes later may stand out.
type table struct {
	out    io.Writer
	screen int   // characters; 0: as wide as it gets
	widths []int // of the columns but the last
}

func newTable(out io.Writer) *table {
	t := &table{out: out}
	if f, ok := out.(*os.File); ok && isTerminal(out) {
		t.screen = columns(f)
	}
	return t
}

// print prints rows. The first ones decide how wide columns are.
func (t *table) print(rows [][]cell) error {
	if t.widths == nil {
		t.measure(rows)
	}
	for _, row := range rows {
		if _, err := io.WriteString(t.out, t.line(row)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) measure(rows [][]cell) {
	for _, row := range rows {
		for i, c := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(inline(c.text)))
		}
	}
}

func (t *table) line(row []cell) string {
	var out strings.Builder
	left := t.screen
	for i, c := range row {
		text := inline(c.text)
		if t.screen > 0 {
			if left <= 0 {
				break
			}
			text = cut(text, left)
		}
		length := utf8.RuneCountInString(text)
		if c.colour != "" && text != "" {
			out.WriteString(paint(t.out, c.colour, text))
		} else {
			out.WriteString(text)
		}
		if i < len(row)-1 {
			gap := max(0, t.widths[i]-length) + 2
			out.WriteString(strings.Repeat(" ", gap))
			left -= length + gap
		}
	}
	return strings.TrimRight(out.String(), " ")
}

// inline is a foreign text on one line, with everything visible in it. Where its
// lines ended is a space, since that is no news in a table.
func inline(text string) string {
	return reveal.Line(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
}
