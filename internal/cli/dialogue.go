package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"durward"
)

// dialogue asks a person at a terminal.
type dialogue struct {
	in    *bufio.Reader
	out   io.Writer
	close func()
}

// openDialogue reports whether there is somebody to be asked: standard input is a
// terminal. Questions go to standard error or, where that leads elsewhere, to the
// terminal itself, and never to standard output.
func openDialogue(std Streams) (*dialogue, bool) {
	if !isTerminal(std.In) {
		return nil, false
	}
	d := &dialogue{in: bufio.NewReader(std.In), out: std.Err, close: func() {}}
	if isTerminal(std.Err) {
		return d, true
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return nil, false
	}
	d.out, d.close = tty, func() { _ = tty.Close() } // nothing is kept in it
	return d, true
}

// ask asks for one argument until the answer can be read.
func (d *dialogue) ask(schema inputSchema, key string) (json.RawMessage, error) {
	var p property
	_ = json.Unmarshal(schema.Properties[key], &p) // true and false are schemas, too, and say nothing
	about := strings.Join(p.types(), " or ")
	if p.Description != "" {
		about = strings.TrimPrefix(about+", "+firstLine(p.Description, 100), ", ")
	}
	for {
		_, _ = fmt.Fprintf(d.out, "%s (%s): ", paint(d.out, bold, key), about) // a terminal
		line, err := d.in.ReadString('\n')
		if err != nil {
			return nil, durward.Errorf(durward.Invalid, "argument "+key, "it is required and was not given")
		}
		raw, err := schema.value(key, strings.TrimRight(line, "\r\n"))
		if err == nil {
			return raw, nil
		}
		_, _ = fmt.Fprintln(d.out, err) // as above
	}
}
