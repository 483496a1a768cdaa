package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"durward"
	"durward/internal/clientconf"
)

// dialogue asks a person at a terminal.
type dialogue struct {
	terminal *os.File // standard input
	in       *bufio.Reader
	out      io.Writer
	close    func()
}

// openDialogue reports whether there is somebody to be asked: standard input is a
// terminal. Questions go to standard error or, where that leads elsewhere, to the
// terminal itself, and never to standard output.
func openDialogue(std Streams) (*dialogue, bool) {
	terminal, ok := std.In.(*os.File)
	if !ok || !isTerminal(terminal) {
		return nil, false
	}
	d := &dialogue{terminal: terminal, in: bufio.NewReader(terminal), out: std.Err, close: func() {}}
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

// line asks a question and reads one answer without its end. What is typed is shown, unless it is a
// secret. An interrupt ends the question and leaves the terminal as it was.
func (d *dialogue) line(question string, secret bool) (string, error) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	if secret {
		show, err := hideTyping(d.terminal)
		if err != nil {
			return "", durward.Errorf(durward.Unavailable, "", "what is typed here cannot be hidden: %w", err)
		}
		defer func() {
			_ = show()                 // nothing better can be done for the terminal
			_, _ = fmt.Fprintln(d.out) // the one that was typed was hidden, too
		}()
	}
	_, _ = fmt.Fprint(d.out, question) // a terminal; not before what is typed is hidden
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		// Reading a terminal cannot be interrupted; after an interrupt the process ends and this with it.
		text, err := d.in.ReadString('\n')
		read <- answer{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case a := <-read:
		return a.text, a.err
	case <-interrupted:
		return "", durward.Errorf(durward.Invalid, "", "it was interrupted before it was answered")
	}
}

// ask asks for one argument until the answer can be read.
func (d *dialogue) ask(schema inputSchema, key string) (json.RawMessage, error) {
	var p property
	_ = json.Unmarshal(schema.Properties[key], &p) // true and false are schemas, too, and say nothing
	about := strings.Join(p.types(), " or ")
	if p.Description != "" {
		about = strings.TrimPrefix(about+", "+firstLine(p.Description, 100), ", ")
	}
	secret := p.Format == "password" || p.WriteOnly || clientconf.SecretName(key)
	for {
		line, err := d.line(fmt.Sprintf("%s (%s): ", paint(d.out, bold, key), about), secret)
		if err != nil {
			return nil, durward.Errorf(durward.Invalid, "argument "+key, "it is required and was not given")
		}
		raw, err := schema.value(key, line)
		switch {
		case err == nil:
			return raw, nil
		case secret: // the error repeats what was typed
			_, _ = fmt.Fprintf(d.out, "it is no JSON of type %s\n", strings.Join(p.types(), " or ")) // as above
		default:
			_, _ = fmt.Fprintln(d.out, err) // as above
		}
	}
}
