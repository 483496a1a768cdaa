package cli

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/reveal"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !isNull(info)
}

// isNull: the null device is a character device, too.
func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// The colours in use, as SGR codes.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

// paint colours text for a stream: on terminals only, and not if NO_COLOR is set
// (no-color.org) or the terminal is a dumb one.
func paint(stream any, code, text string) string {
	if !isTerminal(stream) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// stateColour is the colour of a server's state.
func stateColour(s durward.ServerState) string {
	switch s {
	case durward.StateReady:
		return green
	case durward.StateBackoff:
		return red
	default:
		return yellow
	}
}

// note tells a person at a terminal what is going on; it is silent elsewhere.
func note(std Streams, text string) {
	if isTerminal(std.Err) {
		_, _ = io.WriteString(std.Err, text+"\n") // nobody depends on it
	}
}

// printJSON prints one JSON document on one line. JSON itself leaves most of what steers
// a terminal as it is.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(foreign{w})
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// jsonFlag adds --json to a command.
func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print one JSON document")
}

// firstLine is the first line of a text, at most limit characters of it.
func firstLine(text string, limit int) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	return cut(reveal.Text(text), limit)
}

func cut(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
