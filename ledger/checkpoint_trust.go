package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"durward"
)

// trusted is an entry that a known key signed.
type trusted struct {
	*entry
	line int
	by   string // verifier; of a rotation the one that takes over
}

// judged is what is to be believed of a checkpoint file.
type judged struct {
	file     string
	entries  []trusted // in the order of the file
	gone     removed
	findings []Finding
	foreign  int    // entries before the first of a known key that an unknown key signed
	stranger string // name and hash of such a key
	keys     []string
}

// judge checks the signatures of a checkpoint file, and that nothing was taken
// out, put in or moved, as far as the entries themselves tell. A key is known if
// it is one of the verifiers, or a rotation connects it with one that is.
func judge(s *sheet, file string, verifiers []string) (*judged, error) {
	j := &judging{judged: judged{file: file}, known: map[string]note.Verifier{}, retired: map[string]bool{}}
	for _, text := range verifiers {
		v, err := note.NewVerifier(text)
		if err != nil {
			return nil, durward.Errorf(durward.Invalid, verifyOp, "%q is no verifier key (NAME+HASH+DATA): %w", text, err)
		}
		j.known[text] = v
	}
	j.connect(s)
	for i := range s.items {
		j.item(&s.items[i])
	}
	j.finish(s)
	j.keys = slices.Sorted(maps.Keys(j.known))
	return &j.judged, nil
}

// judging is the state of judging one file.
type judging struct {
	judged
	known   map[string]note.Verifier
	retired map[string]bool // verifiers whose key was rotated away before this place

	current string   // verifier of the key in use at this place; empty before the first
	pinned  [32]byte // hash of the last entry that is never thinned out
	began   bool     // a new key began in the run of unknown entries
	run     int      // entries of unknown keys since the last known one
	runLine int      // where those begin
	anchor  *entry   // the last one
}

func (j *judging) find(v Verdict, line int, format string, args ...any) {
	j.findings = append(j.findings, Finding{Verdict: v, Where: fmt.Sprintf("%s line %d", j.file, line), Message: fmt.Sprintf(format, args...)})
}

// connect adds the keys that rotations connect with known ones. A key that was
// rotated away twice connects nothing: one of the two is a forgery.
func (j *judging) connect(s *sheet) {
	next := map[string]string{}
	forked := map[string]bool{}
	for i := range s.items {
		it := &s.items[i]
		if it.entry == nil || it.entry.kind != entryRotated || !signedByBoth(it) {
			continue
		}
		if other, ok := next[it.entry.old]; ok && other != it.entry.new {
			forked[it.entry.old] = true
			j.find(VerdictDamaged, it.line, "the key %s was rotated away twice; one of the rotations is forged", keyName(it.entry.old))
		}
		next[it.entry.old] = it.entry.new
	}
	for grown := true; grown; {
		grown = false
		for before, after := range next {
			if forked[before] {
				continue
			}
			grown = j.learn(before, after) || j.learn(after, before) || grown
		}
	}
}

// learn adds a key because another one is known.
func (j *judging) learn(known, other string) bool {
	if j.known[known] == nil || j.known[other] != nil {
		return false
	}
	v, err := note.NewVerifier(other)
	if err != nil {
		return false
	}
	j.known[other] = v
	return true
}

// signedByBoth reports whether both keys that a rotation names have signed it.
func signedByBoth(it *item) bool {
	if it.entry.old == it.entry.new {
		return false
	}
	for _, text := range []string{it.entry.old, it.entry.new} {
		v, err := note.NewVerifier(text)
		if err != nil || v.Name() != it.entry.Origin {
			return false
		}
		if _, err := note.Open(it.message(), note.VerifierList(v)); err != nil {
			return false
		}
	}
	return true
}

// keyName is the part of a verifier that is short enough to be read.
func keyName(verifier string) string {
	parts := strings.SplitN(verifier, "+", 3)
	if len(parts) < 3 {
		return verifier
	}
	return parts[0] + "+" + parts[1]
}

// signer returns the verifier whose key signed an item: empty and the name of the
// key when it is unknown.
func (j *judging) signer(it *item) (verifier, stranger string, err error) {
	n, err := note.Open(it.message(), j)
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		sig := unverified.Note.UnverifiedSigs[0]
		return "", fmt.Sprintf("%s+%08x", sig.Name, sig.Hash), nil
	}
	if err != nil {
		return "", "", err
	}
	if it.entry.kind == entryRotated {
		if !signedByBoth(it) {
			return "", "", errEntry("a rotation must be signed by both keys")
		}
		return it.entry.new, "", nil
	}
	for text, v := range j.known {
		if v.Name() == n.Sigs[0].Name && v.KeyHash() == n.Sigs[0].Hash {
			return text, "", nil
		}
	}
	return "", "", errEntry("the key cannot be told")
}

// Verifier implements note.Verifiers.
func (j *judging) Verifier(name string, hash uint32) (note.Verifier, error) {
	for _, v := range j.known {
		if v.Name() == name && v.KeyHash() == hash {
			return v, nil
		}
	}
	return nil, &note.UnknownVerifierError{Name: name, KeyHash: hash}
}

// item judges one item, in the order of the file.
func (j *judging) item(it *item) {
	e := it.entry
	if e == nil {
		j.find(VerdictDamaged, it.line, "this is no entry (%s): the file was changed", it.err)
		return
	}
	by, stranger, err := j.signer(it)
	if err != nil {
		j.find(VerdictDamaged, it.line, "the %s of link %d is not as it was signed (%s): it was changed", e.kind, e.Seq, err)
		return
	}
	defer func() {
		if !e.thinned() {
			j.pinned = e.hash()
		} else if len(j.entries) <= 1 {
			j.pinned = e.after
		}
	}()
	if by == "" {
		j.strange(it, stranger)
		return
	}
	if j.run > 0 && j.current != "" {
		j.find(VerdictDamaged, j.runLine, "%s, signed by a key that is not known, between entries of keys that are: somebody put them in", plural(j.run, "entry", "entries"))
	}
	j.run, j.began = 0, false
	j.key(it, by)
	j.place(it)
	j.entries = append(j.entries, trusted{entry: e, line: it.line, by: by})
}

// strange notes an entry of an unknown key.
func (j *judging) strange(it *item, stranger string) {
	if j.run == 0 {
		j.runLine, j.began = it.line, it.entry.kind == entryBegan
	}
	j.run++
	j.stranger = stranger
	if j.current == "" {
		j.foreign++
	}
}

// key checks that the key of an entry is the one in use at its place.
func (j *judging) key(it *item, by string) {
	e := it.entry
	switch {
	case j.retired[by]:
		j.find(VerdictDamaged, it.line, "the %s of link %d is signed with the key %s, which was rotated away before", e.kind, e.Seq, keyName(by))
	case e.kind == entryRotated && j.current != "" && j.current != e.old:
		j.find(VerdictDamaged, it.line, "the key %s was rotated away, but %s was in use", keyName(e.old), keyName(j.current))
	case e.kind != entryRotated && e.kind != entryBegan && j.current != "" && j.current != by:
		j.find(VerdictDamaged, it.line, "the %s of link %d is signed with the key %s, but %s was in use", e.kind, e.Seq, keyName(by), keyName(j.current))
	}
	if e.kind == entryRotated {
		j.retired[e.old] = true
	}
	j.current = by
}

// place checks that an entry is where it was written.
func (j *judging) place(it *item) {
	e := it.entry
	// What the first one names is missing with the beginning of the file, which is
	// judged elsewhere.
	if len(j.entries) > 0 && e.after != j.pinned {
		j.find(VerdictDamaged, it.line, "an entry that this one names is not before it: entries were removed or moved")
	}
	var moved bool
	switch {
	case e.kind == entryTruncated:
		moved = e.Seq <= j.gone.links().Seq
	case e.kind == entryBodies:
		moved = e.Seq <= j.gone.bodies.Seq
	default:
		moved = j.anchor != nil && e.kind != entryBroken && (e.Seq < j.anchor.Seq || e.Seq == j.anchor.Seq && e.kind == entryCheckpoint && j.anchor.kind == entryCheckpoint)
		j.anchor = e
	}
	j.gone.take(e)
	if moved {
		j.find(VerdictDamaged, it.line, "the %s of link %d stands behind a later one: entries were moved or copied", e.kind, e.Seq)
	}
}

// finish judges what the end of the file tells.
func (j *judging) finish(s *sheet) {
	if j.run > 0 && j.current != "" {
		if j.began {
			j.find(VerdictUnclear, j.runLine, "from here on a new key signs, %s, which is not known: its verifier is needed to check the links after the last entry of a known key", j.stranger)
		} else {
			j.find(VerdictDamaged, j.runLine, "%s at the end are signed by a key that is not known, %s, and no rotation says why", plural(j.run, "entry", "entries"), j.stranger)
		}
	}
	if len(s.torn) > 0 {
		j.find(VerdictOK, 0, "the file ends with an unfinished entry of %d bytes, as a crash leaves it; the next start cuts it off", len(s.torn))
	}
}
