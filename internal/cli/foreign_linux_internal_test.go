package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"durward/client"
)

// shownOn returns what a terminal is given by f, up to the end of a line.
func shownOn(t *testing.T, f func(terminal *os.File) error) string {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := f(terminal); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	for buffer := make([]byte, 4096); !strings.HasSuffix(string(seen), "\n"); {
		n, err := person.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
		seen = append(seen, buffer[:n]...)
	}
	return string(seen)
}

// Agents and servers choose some of what is on record: they do not steer the terminal of
// who looks at it, in whatever form that is printed. A file gets it as it was recorded.
func TestRecordsDoNotSteerATerminal(t *testing.T) {
	const name = "x\u009b2J\u202e\x7fy" // CSI, a change of direction, and what deletes
	call := client.CallRecord{ID: "1", FullName: name}
	steers := func(shown string) bool { return strings.ContainsAny(shown, "\u009b\u202e\x7f") }
	if shown := shownOn(t, func(terminal *os.File) error { return printJSON(terminal, call) }); steers(shown) || !strings.Contains(shown, "<U+009B>2J") {
		t.Errorf("%q", shown)
	}
	export := func(out *os.File) error {
		w, finish, err := exportTo("", Streams{Out: out})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "id,%s\r\n", name); err != nil {
			return err
		}
		return finish()
	}
	if shown := shownOn(t, export); steers(shown) || !strings.Contains(shown, "<U+009B>2J") {
		t.Errorf("%q", shown)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := export(file); err != nil {
		t.Fatal(err)
	}
	if err := printJSON(file, call); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || strings.Count(string(text), name) != 2 {
		t.Errorf("%q %v", text, err)
	}
}
