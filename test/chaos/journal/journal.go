// Package journal is the file in which the servers of the chaos test write what
// they did, and from which the verdict is found. Many processes append to it at
// once; an entry is one line and one write, so that it is there whatever happens
// to its writer afterwards.
package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// File is the name of the journal in the folder of a run.
const File = "journal"

// Kinds of entries.
const (
	Execution   = "execution"   // a tool did what it does
	Fault       = "fault"       // a server is about to misbehave on purpose
	Misdirected = "misdirected" // somebody's answer came to somebody else's call
	Start       = "start"       // a process began
)

// Entry is one line.
type Entry struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Server string    `json:"server"`
	Call   string    `json:"call,omitempty"`  // id of the call it is about
	Fault  string    `json:"fault,omitempty"` // which one
	Text   string    `json:"text,omitempty"`
}

// Writer appends entries. Its methods may be called from any goroutine.
type Writer struct{ file *os.File }

// Open opens the journal in dir, making it if need be.
func Open(dir string) (*Writer, error) {
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{f}, nil
}

// Write appends an entry, which has reached the system when it returns. A
// journal that cannot be written makes the whole run worthless, so it panics.
func (w *Writer) Write(e Entry) {
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err == nil {
		// The break in front keeps it apart from one whose writer was killed while it wrote.
		_, err = w.file.Write(append(append([]byte{'\n'}, line...), '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("the journal cannot be written: %v", err))
	}
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Read reads all entries of the journal in dir. A torn line is left out: its
// writer was killed before it had written it, so what it tells did not happen.
func Read(dir string) ([]Entry, error) {
	data, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		return nil, err
	}
	var all []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
	return all, nil
}
