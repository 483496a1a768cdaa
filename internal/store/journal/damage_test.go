package journal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/internal/store/journal"
	"durward/ledger"
)

// slow are options with which nothing is taken before somebody waits for it.
func slow() journal.Options {
	sizes := journal.SmallSizes()
	sizes.Never()
	sizes.TurnAt(1 << 20)
	return journal.WithSizes(journal.Options{}, sizes)
}

// killed returns a keeper whose journal was killed with so many batches that nothing has
// taken, of which the store would take all.
func killed(t *testing.T, opt journal.Options, batches int) *keeper {
	t.Helper()
	k := newKeeper(t, smallDir(t), opt)
	k.fill(batches)
	k.j.Kill()
	if len(k.store.all()) > 0 {
		t.Fatal("something was taken")
	}
	return k
}

// ends returns where the frames of a file end.
func ends(t *testing.T, data []byte, links int) []int {
	t.Helper()
	all := []int{0}
	for range links {
		at := all[len(all)-1]
		length := int(data[at]) | int(data[at+1])<<8 | int(data[at+2])<<16 | int(data[at+3])<<24
		all = append(all, at+8+length)
	}
	return all
}

// takes opens a journal on a file with other content, and checks that the store is given
// so many batches.
func (k *keeper) takes(data []byte, want int, aside bool, says string) {
	k.t.Helper()
	name := journal.Names(k.opt.Path)[0]
	must(k.t, os.WriteFile(name, data, 0o600))
	k.store = newFake()
	k.log.Reset()
	k.reopen()
	got := k.store.all()
	if len(got) != want {
		k.t.Fatalf("%d batches were taken, want %d", len(got), want)
	}
	for i, b := range got {
		if b.Link != k.accepted[i] {
			k.t.Fatalf("batch %d is another", i)
		}
	}
	if n := len(k.j.Aside()); n > 0 != aside {
		k.t.Fatalf("%d files were kept aside: %s", n, k.log.String())
	}
	for _, file := range k.j.Aside() {
		kept, err := os.ReadFile(file)
		must(k.t, err)
		if !bytes.Equal(kept, data) {
			k.t.Fatal("what was kept aside is not what was there")
		}
		must(k.t, os.Remove(file))
	}
	if !strings.Contains(k.log.String(), says) || says == "" && strings.Contains(k.log.String(), "cannot be read") {
		k.t.Fatalf("the log does not say %q: %s", says, k.log.String())
	}
	must(k.t, k.j.Close())
}

// A file that ends anywhere has what is whole in it taken.
func TestCutAnywhere(t *testing.T) {
	const batches = 5
	k := killed(t, slow(), batches)
	data, err := os.ReadFile(journal.Names(k.opt.Path)[0])
	must(t, err)
	frames := ends(t, data, batches)
	if frames[batches] != len(data) {
		t.Fatal("there is more in the file than was written")
	}
	for n := range len(data) + 1 {
		whole, found := slices.BinarySearch(frames, n)
		says := ""
		if !found {
			whole--
			if rest := data[frames[whole]:n]; len(bytes.TrimRight(rest, "\x00")) > 0 {
				says = "cannot be read"
			}
		}
		k.takes(data[:n], whole, false, says)
		// The same with room behind it, as files have that were used before.
		if more := wholeWithZeros(data, frames, n); more > whole {
			whole, says = more, ""
		}
		k.takes(append(slices.Clone(data[:n]), make([]byte, 100)...), whole, false, says)
	}
}

// wholeWithZeros is how many frames are whole when zeros take the place of what was cut off.
func wholeWithZeros(data []byte, frames []int, n int) int {
	whole := 0
	for _, end := range frames[1:] {
		if end <= n || end-n <= 100 && len(bytes.TrimRight(data[min(n, end):end], "\x00")) == 0 {
			whole++
		}
	}
	return whole
}

// A file in which any bit is wrong has taken what is before it; what is behind it is
// kept aside, unless there is nothing.
func TestAnyBitFlipped(t *testing.T) {
	const batches = 3
	k := killed(t, slow(), batches)
	data, err := os.ReadFile(journal.Names(k.opt.Path)[0])
	must(t, err)
	frames := ends(t, data, batches)
	for bit := range len(data) * 8 {
		bad := slices.Clone(data)
		bad[bit/8] ^= 1 << (bit % 8)
		whole, found := slices.BinarySearch(frames, bit/8)
		if !found {
			whole--
		}
		k.takes(bad, whole, whole < batches-1, "cannot be read")
	}
}

// What is in the other file is taken if the store has all before it, and kept aside if
// it does not.
func TestDamageBeforeTheOtherFile(t *testing.T) {
	sizes := journal.SmallSizes()
	sizes.Never()
	opt := journal.WithSizes(journal.Options{}, sizes)
	k := killed(t, opt, 30)
	names := journal.Names(k.opt.Path)
	first, err := os.ReadFile(names[0])
	must(t, err)
	second, err := os.ReadFile(names[1])
	must(t, err)
	if len(first) == 0 || len(second) == 0 {
		t.Fatal("not both files were used")
	}
	inFirst := 0
	for at := 0; at < len(first); inFirst++ {
		at = ends(t, first[at:], 1)[1] + at
	}
	bad := slices.Clone(first)
	bad[ends(t, first, 3)[2]+20] ^= 4 // in the third
	whole := k.store
	k.reopen()
	k.holds()
	must(t, k.j.Close())
	for _, test := range []struct {
		has, want, aside int // batches, and files
	}{{0, 2, 2}, {1, 2, 2}, {2, 2, 2}, {3, 3, 2}, {inFirst - 1, inFirst - 1, 2}, {inFirst, 30, 0}, {inFirst + 1, 30, 0}, {30, 30, 0}} {
		must(t, os.WriteFile(names[0], bad, 0o600))
		must(t, os.WriteFile(names[1], second, 0o600))
		k.store = whole.older(30 - test.has)
		k.reopen()
		if n := len(k.store.all()); n != test.want || len(k.j.Aside()) != test.aside {
			t.Errorf("of %d batches the store had %d: it has %d now, want %d; kept aside: %v, want %d", 30, test.has, n, test.want, k.j.Aside(), test.aside)
		}
		k.head = k.store.last()
		k.open = nil
		must(t, k.write("it goes on"))
		must(t, k.j.Close())
		for _, f := range files(t, k.opt.Path) {
			must(t, os.Remove(f))
		}
	}
}

// What follows another store than the one that is there is kept aside, under a name of
// its own each time; nothing of it gets into the store.
func TestOtherStores(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	k.fill(10)
	must(t, k.j.Flush(t.Context()))
	k.fill(5)
	k.j.Kill()
	name := journal.Names(k.opt.Path)[0]
	data, err := os.ReadFile(name)
	must(t, err)
	data = data[ends(t, data, 10)[10]:] // as if the first ten had been emptied from it
	own := k.store
	other := newKeeper(t, smallDir(t), slow())
	other.fill(12)
	must(t, other.j.Close())
	aside := 0
	for name, store := range map[string]*fake{"empty": newFake(), "older": own.older(1), "other": other.store, "other with fewer": other.store.older(3), "of the same length": other.store.older(2)} {
		must(t, os.WriteFile(journal.Names(k.opt.Path)[0], data, 0o600))
		before := store.all()
		k.store = store
		opt := k.opt
		opt.Store, opt.Strict = store, true
		if _, err := journal.Open(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: strictly: %v", name, err)
		}
		if now, err := os.ReadFile(journal.Names(k.opt.Path)[0]); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
		k.log.Reset()
		k.reopen()
		aside++
		if got := k.j.Aside(); len(got) != 1 || !strings.Contains(k.log.String(), got[0]) {
			t.Errorf("%s: kept aside: %v; %s", name, got, k.log.String())
		} else if kept, err := os.ReadFile(got[0]); err != nil || !bytes.Equal(kept, data) {
			t.Errorf("%s: it is not what was there: %v", name, err)
		}
		if len(store.all()) != len(before) {
			t.Errorf("%s: it was given something", name)
		}
		k.head, k.open = store.last(), nil
		must(t, k.write("it goes on"))
		must(t, k.j.Close())
	}
	if n := len(files(t, k.opt.Path)); n != aside {
		t.Errorf("%d files are there, %d were kept aside", n, aside)
	}
	must(t, os.WriteFile(name, data, 0o600)) // and the right one takes it
	k.store, k.accepted = own, k.accepted[:15]
	k.reopen()
	k.holds()
	must(t, k.j.Close())
}

// A file that was emptied, and has its content again after a loss of power, is no news:
// the store has all that, and more.
func TestOldFilesOfTheSameStore(t *testing.T) {
	k := killed(t, slow(), 5)
	name := journal.Names(k.opt.Path)[0]
	old, err := os.ReadFile(name)
	must(t, err)
	k.reopen()
	k.fill(20)
	must(t, k.j.Close())
	must(t, os.WriteFile(name, old, 0o600))
	k.reopen()
	k.holds()
	if got := k.j.Aside(); len(got) > 0 {
		t.Errorf("kept aside: %v", got)
	}
	must(t, k.j.Close())
}

// What a store refuses for good does not keep the journal from being opened: it takes
// what it can, and the rest is kept aside.
func TestRefusedForGood(t *testing.T) {
	k := killed(t, slow(), 9)
	k.store.change(func() { k.store.poison = k.accepted[6] })
	opt := k.opt
	opt.Store, opt.Strict = k.store, true
	if _, err := journal.Open(t.Context(), opt); durward.KindOf(err) != durward.Conflict || len(files(t, k.opt.Path)) != 2 {
		t.Errorf("strictly: %v, files: %v", err, files(t, k.opt.Path))
	}
	k.reopen()
	if n := len(k.store.all()); n != 6 || len(k.j.Aside()) == 0 {
		t.Errorf("%d batches were taken, kept aside: %v", n, k.j.Aside())
	}
	k.head, k.open = k.store.last(), nil
	must(t, k.write("it goes on"))
	must(t, k.j.Close())
}

// What could be written and was refused all the same is cut off before anything else is
// written, so that nothing of it is taken for a part of the journal.
func TestWhatWasRefusedIsCutOff(t *testing.T) {
	k := newKeeper(t, smallDir(t), slow())
	k.fill(2)
	must(t, k.j.Ghost(k.next(strings.Repeat("ghost", 500))))
	must(t, k.write(""))
	if got, want := size(t, journal.Names(k.opt.Path)[0]), k.j.Ends()[0]; got != want {
		t.Errorf("%d bytes are in the file, %d were accepted", got, want)
	}
	k.j.Kill()
	k.reopen()
	k.holds()
	if strings.Contains(k.log.String(), "cannot be read") {
		t.Error(k.log.String())
	}
	must(t, k.j.Close())
}

// An emptied file keeps its memory, which other readers see as nothing.
func TestEmptiedFilesHoldNothing(t *testing.T) {
	for name, window := range map[string]int64{"not in memory": 0, "in memory": 4096} {
		t.Run(name, func(t *testing.T) {
			sizes := journal.SmallSizes()
			sizes.Window(window)
			k := newKeeper(t, smallDir(t), journal.WithSizes(journal.Options{}, sizes))
			for range 20 { // some of them behind the window
				k.fill(10)
				must(t, k.j.Flush(t.Context()))
				for end := k.j.Ends(); end[0] >= 512 || end[1] >= 512; end = k.j.Ends() {
					must(t, k.write("")) // the next take empties them
					must(t, k.j.Flush(t.Context()))
				}
			}
			all, err := journal.Read(k.opt.Path)
			must(t, err)
			if len(all) > 20 {
				t.Errorf("%d batches are in emptied files", len(all))
			}
			k.j.Kill()
			k.reopen()
			k.holds()
			if strings.Contains(k.log.String(), "cannot be read") {
				t.Error(k.log.String())
			}
			must(t, k.j.Close())
		})
	}
}

// A file of nothing but zeros has nothing that anybody could lack.
func TestZerosAreNotPending(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, test := range []struct {
		data []byte
		want bool
	}{{nil, false}, {make([]byte, 1<<17), false}, {append(make([]byte, 1<<17), 1), true}, {append([]byte{1}, make([]byte, 1<<17)...), true}} {
		must(t, os.WriteFile(journal.Names(path)[1], test.data, 0o600))
		if got, err := journal.Pending(path); err != nil || got != test.want {
			t.Errorf("%d bytes: %v, %v", len(test.data), got, err)
		}
	}
}

// Files that go while somebody looks whether anything is in them have nothing.
func TestFilesThatGoAreNotPending(t *testing.T) {
	path := filepath.Join(smallDir(t), "ledger.db")
	name := journal.Names(path)[0]
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := errors.Join(os.WriteFile(name, []byte{1}, 0o600), os.Remove(name)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 20_000 {
		if _, err := journal.Pending(path); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	all.Wait()
}

// A frame that is as it was written was accepted, also when this version cannot read
// what is in it: it is kept aside.
func TestWhatAnotherVersionWrote(t *testing.T) {
	k := killed(t, slow(), 3)
	data, err := os.ReadFile(journal.Names(k.opt.Path)[0])
	must(t, err)
	content := []byte(strings.Repeat("a batch as it will be written one day, ", 5))
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(content)))
	frame = binary.LittleEndian.AppendUint32(frame, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
	k.takes(append(slices.Clone(data), append(frame, content...)...), 3, true, "cannot be read")
	k.takes(append(frame, content...), 0, true, "cannot be read")
}

// What was being written when the process ended may be long, and look like anything: it is
// no damage.
func TestLongFrameThatWasBeingWritten(t *testing.T) {
	k := killed(t, slow(), 3)
	data, err := os.ReadFile(journal.Names(k.opt.Path)[0])
	must(t, err)
	b := k.next("")
	b.Bodies = []ledger.Body{{Digest: ledger.Digest{1}, Data: make([]byte, 6<<20)}}
	rand.NewChaCha8([32]byte{1}).Read(b.Bodies[0].Data)
	frame := journal.FrameOf(b)
	for _, n := range []int{len(frame) - 1, len(frame) / 2} {
		k.takes(append(slices.Clone(data), frame[:n]...), 3, false, "cannot be read")
	}
}
