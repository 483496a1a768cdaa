package journal_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/store/journal"
	"durward/internal/testkit/sharedlog"
	"durward/ledger"
)

// keeper is a journal over a fake store, with somebody who writes and remembers what was
// accepted.
type keeper struct {
	t     tester
	opt   journal.Options
	store *fake
	j     *journal.Journal
	log   sharedlog.Buffer

	head     ledger.Link
	accepted []ledger.Link
	open     []durward.CallID
	ended    bool // j was closed or killed
	exposed  bool // a kill now would lose what nobody can keep: a file was just removed, or what could not be cut off is behind the end
}

// smallDir is a directory where to sync takes no time, if the system has one.
func smallDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "durward-journal")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// tester is a test, or one of many that rapid makes.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

func newKeeper(t tester, dir string, opt journal.Options) *keeper {
	t.Helper()
	k := &keeper{t: t, opt: opt, store: newFake()}
	k.opt.Path = filepath.Join(dir, "ledger.db")
	k.opt.Log = slog.New(slog.NewTextHandler(&k.log, nil))
	k.reopen()
	return k
}

func (k *keeper) reopen() {
	k.t.Helper()
	k.store.set(works)
	k.opt.Store = k.store
	j, err := journal.Open(k.t.Context(), k.opt)
	must(k.t, err)
	k.j, k.exposed, k.ended = j, false, false
}

// next returns a batch that may be written.
func (k *keeper) next(text string) *ledger.Batch {
	i := &ledger.Intent{ID: durward.NewCallID(), Preview: text}
	records := []ledger.Record{i}
	for len(k.open) > 2 {
		records = append(records, &ledger.Outcome{Call: k.open[0], Status: durward.StatusOK})
		k.open = k.open[1:]
	}
	b := &ledger.Batch{Records: records, Link: k.head.Next(time.Now(), records)}
	if len(text)%3 == 1 {
		b.Bodies = []ledger.Body{{Digest: ledger.Digest{1}, Data: []byte(text)}}
	}
	return b
}

// write writes a batch and returns whether it was accepted.
func (k *keeper) write(text string) error {
	open := slices.Clone(k.open)
	b := k.next(text)
	if err := k.j.Write(k.t.Context(), b); err != nil {
		k.open = open
		return err
	}
	k.head, k.exposed = b.Link, false
	k.accepted = append(k.accepted, b.Link)
	if i, ok := b.Records[0].(*ledger.Intent); ok {
		k.open = append(k.open, i.ID)
	}
	return nil
}

func (k *keeper) fill(n int) {
	k.t.Helper()
	for range n {
		must(k.t, k.write("some text"))
	}
}

// holds checks that the store has exactly what was accepted.
func (k *keeper) holds() {
	k.t.Helper()
	all := k.store.all()
	if len(all) != len(k.accepted) {
		k.t.Fatalf("%d batches are in the store, %d were accepted", len(all), len(k.accepted))
	}
	for i, b := range all {
		if b.Link != k.accepted[i] || (&ledger.Link{}).Next(b.Link.At, b.Records).Digest != b.Link.Digest {
			k.t.Fatalf("batch %d is another", i)
		}
	}
}

// TestAnything has anything happen to a journal in any order. What was accepted is in
// the store after all, in order and once; what was refused is not, and nothing else.
func TestAnything(t *testing.T) {
	sizes := journal.SmallSizes()
	windowed := sizes
	windowed.Window(4096)
	for name, opt := range map[string]journal.Options{
		"normal": journal.WithSizes(journal.Options{}, sizes), "in memory": journal.WithSizes(journal.Options{}, windowed),
		"full": journal.WithSizes(journal.Options{Full: true}, windowed),
	} {
		t.Run(name, func(t *testing.T) {
			dir := smallDir(t)
			n := 0
			rapid.Check(t, func(r *rapid.T) {
				n++
				own := filepath.Join(dir, strings.Repeat("x", n%200)+"d")
				must(r, os.MkdirAll(own, 0o700))
				defer os.RemoveAll(own)
				k := newKeeper(r, own, opt)
				defer func() { // rapid may end this anywhere
					if !k.ended {
						k.j.Kill()
					}
				}()
				r.Repeat(k.actions())
				k.store.set(works)
				_ = k.j.Flush(r.Context())
				must(r, k.write("")) // what was put in the place of a file is gone
				k.ended = true
				must(r, k.j.Close())
				k.holds()
				if left := files(r, k.opt.Path); len(left) > 0 {
					r.Fatal("files are left: ", left)
				}
				if k.store.outlasting() != len(k.accepted) {
					r.Fatal("not everything was synced")
				}
			})
		})
	}
}

func (k *keeper) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"write": func(r *rapid.T) {
			for range rapid.IntRange(1, 5).Draw(r, "batches") {
				err := k.write(strings.Repeat("t", rapid.SampledFrom([]int{0, 10, 100, 700, 3000}).Draw(r, "text")))
				if err != nil && durward.KindOf(err) != durward.Unavailable {
					r.Fatal(err)
				}
			}
		},
		"write what does not fit": func(r *rapid.T) {
			b := k.next("")
			b.Link.Hash[0] ^= 1
			if err := k.j.Write(k.t.Context(), b); err == nil {
				r.Fatal("it was accepted")
			}
			for _, o := range b.Records[1:] {
				if o, ok := o.(*ledger.Outcome); ok {
					k.open = append(k.open, o.Call)
				}
			}
		},
		"mood":  func(r *rapid.T) { k.store.set(mood(rapid.IntRange(int(works), int(isSilent)).Draw(r, "mood"))) },
		"works": func(*rapid.T) { k.store.set(works) },
		"flush": func(r *rapid.T) {
			k.store.set(works)
			for range 2 { // the first may be told of an attempt from before
				if err := k.j.Flush(k.t.Context()); err == nil {
					k.holds()
					return
				}
			}
			r.Fatal("it does not recover")
		},
		"sync": func(*rapid.T) {
			if k.j.Sync(k.t.Context()) == nil {
				k.holds()
			}
		},
		"wait": func(*rapid.T) { time.Sleep(2 * time.Millisecond) },
		"file": func(r *rapid.T) { k.tamper(rapid.IntRange(0, 3).Draw(r, "what"), rapid.IntRange(0, 1).Draw(r, "file")) },
		"ghost": func(*rapid.T) {
			open := slices.Clone(k.open)
			must(k.t, k.j.Ghost(k.next(strings.Repeat("ghost", 500))))
			k.open, k.exposed = open, true
		},
		"kill": func(r *rapid.T) {
			if k.exposed {
				k.store.set(works)
				_ = k.j.Flush(k.t.Context())
				must(k.t, k.write("")) // all is well again
			}
			k.ended = true
			k.j.Kill()
			k.store.set(works)
			if rapid.Bool().Draw(r, "torn") {
				k.tear(rapid.IntRange(0, 1).Draw(r, "file"), rapid.IntRange(1, 300).Draw(r, "bytes"))
			}
			k.reopen()
			k.holds()
			if aside := k.j.Aside(); len(aside) > 0 {
				r.Fatal("kept aside: ", aside, k.log.String())
			}
		},
		"close": func(*rapid.T) {
			k.store.set(works)
			_ = k.j.Flush(k.t.Context())
			k.ended = true
			must(k.t, k.j.Close())
			k.holds()
			k.reopen()
		},
	}
}

// tamper does something to a file while it is in use.
func (k *keeper) tamper(what, file int) {
	name := journal.Names(k.opt.Path)[file]
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	must(k.t, err)
	if k.exposed && what == 3 {
		return // a copy of what is behind the end may not be taken for good
	}
	k.exposed = true
	// What comes in its place is there at once: while it is being written the journal may
	// have noticed already, and who writes to its file then destroys that.
	instead := func(content []byte) {
		other := filepath.Join(filepath.Dir(name), "other")
		must(k.t, os.WriteFile(other, content, 0o600))
		must(k.t, os.Rename(other, name))
	}
	switch what {
	case 0:
		must(k.t, os.Remove(name))
	case 1:
		must(k.t, os.Rename(name, filepath.Join(filepath.Dir(name), "elsewhere")))
	case 2:
		must(k.t, os.Remove(name))
		instead([]byte(strings.Repeat("foreign", 100)))
	case 3: // a file with frames that were good once
		instead(content)
	}
}

// tear writes the beginning of a frame behind what is in a file: the process was killed
// while it wrote.
func (k *keeper) tear(file, most int) {
	name := journal.Names(k.opt.Path)[file]
	frame := journal.FrameOf(k.next(strings.Repeat("torn", 100)))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(k.t, err)
	defer f.Close()
	_, err = f.WriteAt(frame[:min(most, len(frame)-1)], k.j.Ends()[file])
	must(k.t, err)
}
