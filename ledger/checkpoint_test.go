package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"

	"durward"
	"durward/ledger"
)

func sum(content string) ledger.Digest { return sha256.Sum256([]byte(content)) }

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// notes returns the details of the notes that a store holds.
func (s *shelf) notes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, r := range s.rows {
		if n, ok := r.record.(*ledger.Note); ok {
			all = append(all, n.What+": "+n.Detail)
		}
	}
	return strings.Join(all, "\n")
}

func TestCheckpointsAreNotesThatAnybodyCanCheck(t *testing.T) {
	o := newOffice(t)
	o.fill(3)
	for _, path := range []string{o.key(), ledger.VerifiersPath(o.key()), o.path()} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Error(path, info, err)
		}
	}
	keys := o.verifiers()
	if len(keys) != 1 || keys[0] != o.check.Verifier() {
		t.Fatal(keys)
	}
	v, err := note.NewVerifier(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	entries := ledger.ParseSheet(read(t, o.path())).Raw
	if len(entries) != 4 {
		t.Fatalf("%q", entries)
	}
	n, err := note.Open(bytes.TrimSuffix(entries[3], []byte("\n")), note.VerifierList(v))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^durward-[0-9a-f]{16}\n4\n[A-Za-z0-9+/]{43}=\ncheckpoint 2026-03-01T12:03:00.000000Z\nafter [A-Za-z0-9+/]{43}=\n$`)
	if !want.MatchString(n.Text) { // the first link is the note that checkpoints began
		t.Errorf("%q", n.Text)
	}
	if c := o.check.Newest(); c.Seq != 4 || c.Hash != o.chain.Hash || c.Origin != v.Name() || !c.Time.Equal(o.now) {
		t.Error(c)
	}
	o.want(o.verify(), ledger.VerdictOK)
}

func TestACheckpointIsMadeOnlyOfWhatIsNewAndOnDisk(t *testing.T) {
	o := newOffice(t)
	o.must(o.check.Close())
	synced := 0
	opt := o.options()
	opt.Sync = func(context.Context) error { synced++; return nil }
	var err error
	if o.check, err = ledger.OpenCheckpoints(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	before := synced
	o.must(o.check.Add(t.Context()))
	if synced != before {
		t.Error("nothing is new, but it was brought to disk")
	}
	o.fill(2)
	if synced != before+2 {
		t.Error(synced)
	}
	opt.Sync = func(context.Context) error { return errors.New("no disk") }
	o.must(o.check.Close())
	if o.check, err = ledger.OpenCheckpoints(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	size := len(read(t, o.path()))
	i, _ := o.call()
	o.must(o.append(i))
	if err := o.check.Add(t.Context()); durward.KindOf(err) != durward.Unavailable || len(read(t, o.path())) != size {
		t.Error("signed what is not on disk:", err)
	}
}

func TestOneProcessHasTheCheckpoints(t *testing.T) {
	o := newOffice(t)
	synctest.Test(t, func(t *testing.T) {
		if _, err := ledger.OpenCheckpoints(t.Context(), o.options()); durward.KindOf(err) != durward.Conflict {
			t.Error(err)
		}
	})
	o.must(o.check.Close())
	o.must(o.check.Close())
	i, _ := o.call()
	o.must(o.append(i))
	if err := o.check.Add(t.Context()); durward.KindOf(err) != durward.Unavailable {
		t.Error("written after Close:", err)
	}
	o.open()
}

func TestWhatACrashLeftIsRepaired(t *testing.T) {
	o := newOffice(t)
	o.fill(3)
	for _, left := range []func(last int) int{
		func(int) int { return 1 }, func(int) int { return 30 }, func(last int) int { return last - 80 }, func(last int) int { return last - 2 }, func(last int) int { return last - 1 },
	} {
		o.must(o.check.Close())
		whole := read(t, o.path())
		all := ledger.ParseSheet(whole).Raw
		last := len(all[len(all)-1])
		write(t, o.path(), whole[:len(whole)-last+left(last)])
		r := o.verify()
		o.want(r, ledger.VerdictOK)
		if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, "unfinished") {
			t.Error(r.Findings)
		}
		o.open()
		if s := ledger.ParseSheet(read(t, o.path())); len(s.Torn) > 0 || !strings.Contains(o.store.notes(), "unfinished entry") {
			t.Errorf("%q; %s", s.Torn, o.store.notes())
		}
		o.must(o.check.Add(t.Context()))
		r = o.verify()
		o.want(r, ledger.VerdictOK)
		if len(r.Findings) > 0 {
			t.Error(r.Findings)
		}
	}
}

// A file that is removed or cut while the service runs is whole again with the
// next checkpoint.
func TestAFileThatIsChangedUnderTheServiceIsWrittenAnew(t *testing.T) {
	o := newOffice(t)
	o.fill(3)
	want := ledger.ParseSheet(read(t, o.path())).Raw
	for name, spoil := range map[string]func() error{
		"removed": func() error { return os.Remove(o.path()) },
		"cut":     func() error { return os.Truncate(o.path(), 10) },
		"longer":  func() error { return os.WriteFile(o.path(), append(read(t, o.path()), 'x'), 0o600) },
		"link": func() error {
			return errors.Join(os.Rename(o.path(), o.path()+".x"), os.Symlink(o.path()+".x", o.path()))
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		o.fill(1)
		got := ledger.ParseSheet(read(t, o.path())).Raw
		if len(got) != len(want)+1 || !bytes.Equal(bytes.Join(got[:len(want)], nil), bytes.Join(want, nil)) {
			t.Errorf("%s: %d entries", name, len(got))
		}
		want = got
		o.want(o.verify(), ledger.VerdictOK)
	}
}

func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	o := newOffice(t)
	o.fill(2)
	dir := filepath.Dir(o.path())
	o.must(os.Rename(dir, dir+".gone"))
	o.must(os.WriteFile(dir, nil, 0o600)) // no directory any more
	i, _ := o.call()
	o.must(o.append(i))
	if err := o.check.Add(t.Context()); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), o.path()) {
		t.Error(err)
	}
	o.must(os.Remove(dir))
	o.must(os.Rename(dir+".gone", dir))
	o.must(o.check.Add(t.Context()))
	r := o.verify()
	o.want(r, ledger.VerdictOK)
	if r.Unanchored != nil || r.Anchored == nil || r.Anchored.Seq != o.chain.Seq {
		t.Error(r.Unanchored, r.Anchored)
	}
}

func TestCheckpointsAreThinnedOut(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := newOffice(t)
	begin := o.now
	for o.now.Sub(begin) < 70*24*time.Hour {
		i, out := o.call()
		o.must(o.append(i, out))
		o.must(o.check.Add(t.Context()))
		step := 47 * time.Minute
		if o.now.Sub(begin) > 70*24*time.Hour-25*time.Hour {
			step = time.Minute
		}
		o.now = o.now.Add(step)
		if n := o.chain.Seq; n == 1000 || n == 2000 {
			_, err := o.check.RotateKey(t.Context())
			o.must(err)
		}
	}
	kept := map[string]int{}
	kinds := map[string]int{}
	for _, raw := range ledger.ParseSheet(read(t, o.path())).Raw {
		lines := strings.Split(string(raw), "\n")
		kind, at, _ := strings.Cut(lines[3], " ")
		kinds[kind]++
		when, err := time.Parse(time.RFC3339Nano, at)
		o.must(err)
		switch age := o.now.Sub(when); {
		case age < 24*time.Hour:
			kept["minutes"]++
		case age > 31*24*time.Hour:
			kept["days"]++
		case age < 30*24*time.Hour && age > 32*time.Hour:
			kept["hours"]++
		}
	}
	if kinds["began"] != 1 || kinds["rotated"] != 2 {
		t.Error(kinds)
	}
	if n := kept["minutes"]; n < 24*60-2 || n > 24*60 {
		t.Error("of the last day:", n)
	}
	if n := kept["hours"]; n < 28*24 || n > 29*24 {
		t.Error("hourly:", n)
	}
	if n := kept["days"]; n < 39 || n > 45 {
		t.Error("daily:", n)
	}
	o.restart()
	r := o.verify()
	o.want(r, ledger.VerdictOK)
	if r.Anchored.Seq != o.chain.Seq || len(r.Findings) != 0 {
		t.Error(r.Anchored, r.Findings)
	}
}

func TestTheCheckpointerWorksEveryMinuteAndAtTheEnd(t *testing.T) {
	o := newOffice(t)
	o.must(o.check.Close())
	synctest.Test(t, func(t *testing.T) {
		opt := o.options()
		var fail atomic.Bool
		var head atomic.Pointer[ledger.Link]
		link := o.chain
		head.Store(&link)
		opt.Head = func() ledger.Link { return *head.Load() }
		opt.Sync = func(context.Context) error {
			if fail.Load() {
				return errors.New("no disk")
			}
			return nil
		}
		check, err := ledger.OpenCheckpoints(t.Context(), opt)
		o.must(err)
		defer check.Close()
		ctx, cancel := context.WithCancel(t.Context())
		c, err := ledger.NewCheckpointer(ledger.CheckpointerOptions{Checkpoints: check})
		o.must(err)
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		step := func(wait time.Duration, signed bool) {
			t.Helper()
			i, _ := o.call()
			o.must(o.append(i))
			link := o.chain
			head.Store(&link)
			time.Sleep(wait)
			synctest.Wait()
			if (check.Newest().Seq == o.chain.Seq) != signed {
				t.Error(check.Newest().Seq, o.chain.Seq)
			}
		}
		step(30*time.Second, false)
		step(31*time.Second, true)
		fail.Store(true)
		step(time.Minute, false)
		fail.Store(false)
		step(time.Minute, true)
		step(time.Second, false)
		cancel()
		if err := <-ended; err != nil || check.Newest().Seq != o.chain.Seq {
			t.Error("there is no last checkpoint:", err)
		}
	})
	if _, err := ledger.NewCheckpointer(ledger.CheckpointerOptions{}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	if _, err := ledger.OpenCheckpoints(t.Context(), ledger.CheckpointsOptions{}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}

func FuzzCheckpointFile(f *testing.F) {
	o := newOffice(f)
	o.fill(3)
	_, err := o.check.RotateKey(f.Context())
	o.must(err)
	o.fill(1)
	whole := read(f, o.path())
	f.Add(whole)
	f.Add(whole[:len(whole)-7])
	f.Add(bytes.ReplaceAll(whole, []byte("\n\n"), []byte("\n")))
	f.Add([]byte("\n\n\n— a b\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := ledger.ParseSheet(data)
		if got := append(bytes.Join(s.Raw, nil), s.Torn...); !bytes.Equal(got, data) {
			t.Errorf("%q was read as %q", data, got)
		}
		bad := 0
		for i, raw := range s.Raw {
			again := ledger.ParseSheet(raw)
			alone := len(again.Raw) == 1 && again.Good[0] == s.Good[i] && len(again.Torn) == 0
			if !alone && (s.Good[i] || !bytes.Equal(again.Torn, raw)) { // a paragraph without signatures looks unfinished
				t.Errorf("%q is not one entry of its own", raw)
			}
			if !s.Good[i] {
				bad++
			}
		}
		entries, findings, err := ledger.Judge(data)
		if err != nil || entries != 0 && !bytes.Contains(data, []byte("rotated")) || findings < bad {
			t.Errorf("%d entries without a key, %d findings for %d, %v", entries, findings, bad, err)
		}
	})
}
