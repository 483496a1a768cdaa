package ledger_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"durward"
	"durward/ledger"
)

func TestTheKeyIsRotated(t *testing.T) {
	o := newOffice(t)
	first := o.check.Verifier()
	old := read(t, o.key())
	o.fill(3)
	second, err := o.check.RotateKey(t.Context())
	if err != nil || second == first || second != o.check.Verifier() {
		t.Fatal(second, err)
	}
	if bytes.Equal(old, read(t, o.key())) {
		t.Error("the old key is still there")
	}
	if keys := o.verifiers(); len(keys) != 2 || keys[1] != second {
		t.Error(keys)
	}
	o.fill(2)
	o.restart()
	third, err := o.check.RotateKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.fill(2)
	if s := o.store.notes(); !strings.Contains(s, "key rotated: old "+first+", new "+second) || !strings.Contains(s, "key rotated: old "+second+", new "+third) {
		t.Error(s)
	}
	for _, keys := range [][]string{{first}, {second}, {third}, o.verifiers()} {
		r, err := ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{Checkpoints: o.path(), Verifiers: keys})
		if err != nil || len(r.Keys) != 3 || r.Anchored.Seq != o.chain.Seq {
			t.Fatal(r, err)
		}
		o.want(r, ledger.VerdictOK)
	}
	// Somebody has a key that was rotated away.
	o.must(o.check.Close())
	good := read(t, o.key())
	write(t, o.key(), old)
	if _, err := ledger.OpenCheckpoints(t.Context(), o.options()); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "rotated away") {
		t.Error(err)
	}
	write(t, o.key(), good)
	o.open()
}

// Who rotates the key every day for years can start the service all the same.
func TestTheKeyWasRotatedOften(t *testing.T) {
	o := newOffice(t)
	o.must(o.check.Close())
	var old []byte
	for range 1000 {
		_, verifier, err := note.GenerateKey(rand.Reader, "durward-0123456789abcdef")
		o.must(err)
		old = append(append(old, verifier...), '\n')
	}
	write(t, ledger.VerifiersPath(o.key()), append(old, read(t, ledger.VerifiersPath(o.key()))...))
	o.open()
	o.fill(1)
	if _, err := o.check.RotateKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.restart()
	if n := len(o.verifiers()); n != 1002 {
		t.Error(n, "verifiers")
	}
	o.want(o.verify(), ledger.VerdictOK)
}

// A rotation that could not be brought to its end is, before the next begins: nobody is
// left with a key that was rotated away.
func TestARotationThatFailsIsFinishedByTheNext(t *testing.T) {
	o := newOffice(t)
	o.fill(1)
	pub := read(t, ledger.VerifiersPath(o.key()))
	o.must(os.Remove(ledger.VerifiersPath(o.key())))
	o.must(os.Mkdir(ledger.VerifiersPath(o.key()), 0o700))
	if _, err := o.check.RotateKey(t.Context()); err == nil {
		t.Fatal("it was rotated, and nobody can verify it")
	}
	inUse := o.check.Verifier()
	o.must(os.Remove(ledger.VerifiersPath(o.key())))
	write(t, ledger.VerifiersPath(o.key()), pub)
	file := read(t, o.path())
	o.must(os.Remove(o.path()))
	o.must(os.Mkdir(o.path(), 0o700))
	if _, err := o.check.RotateKey(t.Context()); err == nil {
		t.Fatal("it was rotated, and that is not on record")
	}
	o.must(os.Remove(o.path()))
	write(t, o.path(), file)
	o.restart()
	if o.check.Verifier() != inUse {
		t.Error("another key is in use")
	}
	o.fill(1)
	o.want(o.verify(), ledger.VerdictOK)
}

// Whenever a crash interrupts a rotation, there is one key afterwards, and the
// ledger can be verified.
func TestARotationIsInterrupted(t *testing.T) {
	for name, when := range map[string]string{"before it is on record": "before", "before the key is in place": "after"} {
		o := newOffice(t)
		o.fill(2)
		oldKey, oldFile, oldPub := read(t, o.key()), read(t, o.path()), read(t, ledger.VerifiersPath(o.key()))
		_, err := o.check.RotateKey(t.Context())
		o.must(err)
		newKey := read(t, o.key())
		o.must(o.check.Close())
		write(t, o.key()+".next", newKey)
		write(t, o.key(), oldKey)
		write(t, ledger.VerifiersPath(o.key()), oldPub)
		if when == "before" {
			write(t, o.path(), oldFile)
		}
		o.open()
		if got := read(t, o.key()); bytes.Equal(got, newKey) != (when == "after") {
			t.Errorf("%s: the wrong key", name)
		}
		if _, err := os.Stat(o.key() + ".next"); !errors.Is(err, os.ErrNotExist) {
			t.Error(name, err)
		}
		o.fill(2)
		r := o.verify()
		o.want(r, ledger.VerdictOK)
		if len(r.Findings) > 0 {
			t.Error(name, r.Findings)
		}
	}
}

func TestTheKeyIsLost(t *testing.T) {
	o := newOffice(t)
	o.fill(4)
	lost := o.check.Verifier()
	signed := o.chain.Seq
	o.must(o.check.Close())
	o.must(os.Remove(o.key()))
	o.open()
	o.fill(3)
	if s := o.store.notes(); !strings.Contains(s, "the key that signed before is gone") {
		t.Error(s)
	}
	// The verifier of the lost key is still there.
	r := o.verify()
	o.want(r, ledger.VerdictOK)
	if len(r.Keys) != 2 || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, "gone") {
		t.Error(r.Keys, r.Findings)
	}
	// With the new key alone nobody can say what the old one signed.
	r, err := ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{Checkpoints: o.path(), Verifiers: []string{o.check.Verifier()}})
	o.must(err)
	o.want(r, ledger.VerdictUnclear)
	name := strings.Join(strings.SplitN(lost, "+", 3)[:2], "+")
	if f := r.Findings[len(r.Findings)-1]; f.From != 1 || f.To != signed || !strings.Contains(f.Message, "signed with the key "+name) || !strings.Contains(f.Message, "5 older checkpoints") {
		t.Error(r.Findings)
	}
	// With the old key alone what came later is not proved.
	r, err = ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{Checkpoints: o.path(), Verifiers: []string{lost}})
	o.must(err)
	o.want(r, ledger.VerdictUnclear)
	if r.Anchored.Seq != signed || r.Unanchored == nil || r.Unanchored.Links != 4 {
		t.Error(r.Anchored, r.Unanchored)
	}
	// With none at all nothing is.
	r, err = ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{Checkpoints: o.path()})
	o.must(err)
	o.want(r, ledger.VerdictUnclear)
	if r.Anchored != nil || !strings.Contains(r.Findings[0].Message, "no checkpoint can be verified") {
		t.Error(r.Findings)
	}
}

// Who has a key that was rotated away because it leaked can forge neither what
// comes after, nor a rotation to a key of his own.
func TestALeakedKeyForgesNothing(t *testing.T) {
	o := newOffice(t)
	leaked := read(t, o.key())
	o.fill(3)
	before := read(t, o.path())
	_, err := o.check.RotateKey(t.Context())
	o.must(err)
	o.fill(3)
	o.must(o.check.Close())
	whole := read(t, o.path())
	current := o.check.Verifier()

	forge := filepath.Join(t.TempDir(), "ledger.key")
	thief := newOffice(t)
	thief.must(thief.check.Close())
	thief.store = o.store.copied()
	write(t, forge, leaked)
	thief.now = o.now
	head := o.chain
	thief.chain = head
	i, _ := thief.call()
	thief.must(thief.append(i))
	opt := thief.options()
	opt.Path, opt.Key = filepath.Join(t.TempDir(), "checkpoints"), forge
	write(t, opt.Path, before)
	c, err := ledger.OpenCheckpoints(t.Context(), opt)
	thief.must(err)
	thief.must(c.Add(t.Context()))
	_, err = c.RotateKey(t.Context())
	thief.must(err)
	thief.must(c.Close())
	forged := read(t, opt.Path)[len(before):]

	for name, file := range map[string][]byte{
		"behind the real ones": append(bytes.Clone(whole), forged...),
		"instead of them":      append(bytes.Clone(before), forged...),
	} {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, file)
		r, err := ledger.Verify(t.Context(), thief.store, ledger.VerifyOptions{Checkpoints: path, Verifiers: []string{current}})
		if err != nil || r.Verdict == ledger.VerdictOK {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

func TestAKeyFileThatHoldsNone(t *testing.T) {
	o := newOffice(t)
	o.must(o.check.Close())
	secret := strings.TrimSpace(string(read(t, o.key())))
	for _, text := range []string{"", "hunter2", secret[:len(secret)-4], secret + "x", strings.Replace(secret, "durward-", "wayward-", 1), "PRIVATE+KEY+a+00000000+"} {
		write(t, o.key(), []byte(text))
		_, err := ledger.OpenCheckpoints(t.Context(), o.options())
		if durward.KindOf(err) != durward.Invalid || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	write(t, o.key(), []byte(secret+"\n"))
	write(t, ledger.VerifiersPath(o.key()), []byte("nonsense\n"))
	if _, err := ledger.OpenCheckpoints(t.Context(), o.options()); durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), ".pub") {
		t.Error(err)
	}
	o.must(os.Remove(ledger.VerifiersPath(o.key())))
	o.must(os.Chmod(o.key(), 0o644))
	if _, err := ledger.OpenCheckpoints(t.Context(), o.options()); durward.KindOf(err) != durward.Denied {
		t.Error(err)
	}
	o.must(os.Chmod(o.key(), 0o600))
	o.open()
	o.want(o.verify(), ledger.VerdictOK)
}
