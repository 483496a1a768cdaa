package telemetry

import (
	"io"
	"log/slog"
	"os"

	"durward"
)

// NewLogger writes records of level ("debug", "info", "warn", "error") and above
// to w. Format "text" is for people, "json" for machines, and "auto" is text on
// a terminal and json elsewhere. Lines about a request that has a trace say which.
// Every line passes redact, which takes out known secrets, whatever they came in by.
func NewLogger(w io.Writer, level, format string, redact func([]byte) []byte) (*slog.Logger, error) {
	terminal := isTerminal(w)
	w = &redacting{w, redact}
	var opt slog.HandlerOptions
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, durward.Errorf(durward.Invalid, "log.level", "%q is not one of debug, info, warn, error", level)
	}
	opt.Level = least
	switch format {
	case "text":
		return slog.New(tracing{slog.NewTextHandler(w, &opt)}), nil
	case "json":
		return slog.New(tracing{slog.NewJSONHandler(w, &opt)}), nil
	case "auto", "":
		if terminal {
			return slog.New(tracing{slog.NewTextHandler(w, &opt)}), nil
		}
		return slog.New(tracing{slog.NewJSONHandler(w, &opt)}), nil
	default:
		return nil, durward.Errorf(durward.Invalid, "log.format", "%q is not one of auto, text, json", format)
	}
}

// redacting is a writer of whole lines: slog's handlers write a record at once.
type redacting struct {
	to     io.Writer
	redact func([]byte) []byte
}

// Write writes the line without secrets.
func (r *redacting) Write(line []byte) (int, error) {
	if _, err := r.to.Write(r.redact(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
