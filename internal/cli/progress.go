package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// bar shows a person how far a long task is: as a bar on a terminal, else in lines,
// of which short tasks have none. It writes to stderr only.
type bar struct {
	out      io.Writer
	what     string
	terminal bool
	last     time.Time // when a line was written
	tenths   int64     // of the last line; -1 before the first
}

// lineEvery is how often a line is written at most.
const lineEvery = 2 * time.Second

func newBar(std Streams, what string) *bar {
	return &bar{out: std.Err, what: what, terminal: isTerminal(std.Err), last: time.Now(), tenths: -1}
}

// tell is told how far it is; of may be 0 for unknown. The numbers can be those of a
// damaged file.
func (b *bar) tell(done, of int64) {
	if b.terminal {
		_, _ = io.WriteString(b.out, "\r\x1b[K"+b.text(done, of)) // nobody depends on it
		return
	}
	tenths := int64(-1)
	if of > 0 {
		tenths = part(done, of, 10)
	}
	// Less than before is worth a line, too: the next part of the task began.
	if now := time.Now(); now.Sub(b.last) >= lineEvery && (of <= 0 || tenths != b.tenths) {
		b.last, b.tenths = now, tenths
		_, _ = fmt.Fprintf(b.out, "durward: %s: %s\n", b.what, share(done, of))
	}
}

const barWidth = 30

func (b *bar) text(done, of int64) string {
	if of <= 0 {
		return b.what + "  " + share(done, of)
	}
	full := int(part(done, of, barWidth))
	return b.what + "  " + strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + "  " + share(done, of)
}

func share(done, of int64) string {
	if of <= 0 {
		return fmt.Sprintf("%d", done)
	}
	return fmt.Sprintf("%d %%", part(done, of, 100))
}

// part is how many parts of the whole are done: 0 to parts, which are few.
func part(done, of, parts int64) int64 {
	if of > 1<<50 {
		done, of = done>>13, of>>13 // what is multiplied must fit
	}
	return min(max(done, 0), of) * parts / of
}

// end takes the bar away.
func (b *bar) end() {
	if b.terminal {
		_, _ = io.WriteString(b.out, "\r\x1b[K") // nobody depends on it
	}
}
