package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/mod/sumdb/note"

	"durward"
)

// Checkpoint says where the chain ended at a time. It is signed with the instance
// key and kept outside of the store: who changes the store cannot change it.
type Checkpoint struct {
	Seq    uint64    // of the last link; 0: there was none
	Hash   [32]byte  // of that link
	Time   time.Time // UTC, microseconds
	Origin string    // the name of the instance, which is the name of its key
}

// link returns what the next link follows.
func (c *Checkpoint) link() Link { return Link{Seq: c.Seq, Hash: c.Hash} }

// entryKind says what an entry of the checkpoint file is. The values are written
// to disk and never change.
type entryKind string

const (
	entryCheckpoint entryKind = "checkpoint" // the chain ends here; the only kind that is thinned out
	entryBegan      entryKind = "began"      // nothing that this key can vouch for is older
	entryRotated    entryKind = "rotated"    // signed by two keys: the next one takes over
	entryBroken     entryKind = "broken"     // at a start the store was not what was signed before
	entryTruncated  entryKind = "truncated"  // links up to this one are removed
	entryBodies     entryKind = "bodies"     // bodies that only links up to this one name are removed
)

// entry is one signed note of the checkpoint file. Its text is
//
//	ORIGIN
//	SEQ
//	HASH, in base64
//	KIND TIME
//	after HASH       the entry before it that is never thinned out
//	old VERIFIER     the key that was in use (rotated)
//	new VERIFIER     the key that takes over (rotated)
//	was SEQ HASH     what was signed before (broken)
//	why TEXT         for people
//
// of which the first three lines are those of the checkpoints of transparency
// logs (https://c2sp.org/tlog-checkpoint).
type entry struct {
	Checkpoint
	kind     entryKind
	after    [32]byte
	old, new string
	was      Checkpoint // Seq and Hash only
	why      string
}

// Bounds of an entry.
const (
	whyMost   = 300 // bytes
	entryMost = 8 << 10
	// stampForm is RFC 3339 in UTC with microseconds, always of one width.
	stampForm = "2006-01-02T15:04:05.000000Z"
)

// thinned says whether entries of this kind make room for newer ones.
func (e *entry) thinned() bool { return e.kind == entryCheckpoint }

// anchors says whether the entry tells a hash of the chain at its time.
func (e *entry) anchors() bool { return e.kind != entryTruncated && e.kind != entryBodies }

// text is the note without its signatures.
func (e *entry) text() string {
	b := make([]byte, 0, 256)
	line := func(name string, words ...string) {
		b = append(b, name...)
		for _, w := range words {
			b = append(append(b, ' '), w...)
		}
		b = append(b, '\n')
	}
	line(e.Origin)
	line(strconv.FormatUint(e.Seq, 10))
	line(base64.StdEncoding.EncodeToString(e.Hash[:]))
	line(string(e.kind), e.Time.UTC().Format(stampForm))
	if e.after != [32]byte{} {
		line("after", base64.StdEncoding.EncodeToString(e.after[:]))
	}
	if e.old != "" {
		line("old", e.old)
	}
	if e.new != "" {
		line("new", e.new)
	}
	if e.kind == entryBroken {
		line("was", strconv.FormatUint(e.was.Seq, 10), base64.StdEncoding.EncodeToString(e.was.Hash[:]))
	}
	if e.why != "" {
		line("why", e.why)
	}
	return string(b)
}

// hash names an entry in those that come after it.
func (e *entry) hash() [32]byte { return sha256.Sum256([]byte(e.text())) }

// sign makes the entry as it stands in the file.
func (e *entry) sign(signers ...note.Signer) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: e.text()}, signers...)
	if err != nil {
		return nil, durward.Errorf(durward.Internal, checkpointOp, "it cannot be signed: %w", err)
	}
	return append(signed, '\n'), nil
}

// oneLine makes a text fit to be the reason of an entry.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(cut([]byte(text), whyMost)), " ")
}

// parseEntry reads what [entry.text] wrote, and nothing else: an entry has one form.
func parseEntry(text string) (*entry, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 5 || len(text) > entryMost {
		return nil, errEntry("it has too few lines, or is too long")
	}
	e := &entry{}
	var err error
	e.Origin = lines[0]
	if e.Seq, err = strconv.ParseUint(lines[1], 10, 64); err != nil {
		return nil, errEntry("its second line is no number")
	}
	if e.Hash, err = parseHash(lines[2]); err != nil {
		return nil, err
	}
	kind, at, _ := strings.Cut(lines[3], " ")
	if e.Time, err = time.Parse(stampForm, at); err != nil {
		return nil, errEntry("its fourth line has no time")
	}
	e.kind = entryKind(kind)
	switch e.kind {
	case entryCheckpoint, entryBegan, entryRotated, entryBroken, entryTruncated, entryBodies:
	default:
		return nil, errEntry("it is of an unknown kind; a newer version of Durward may have written it")
	}
	for _, line := range lines[4:] {
		if err := e.field(line); err != nil {
			return nil, err
		}
	}
	if e.text() != text {
		return nil, errEntry("it is not in its one form")
	}
	return e, nil
}

// field reads one of the lines that not every entry has.
func (e *entry) field(line string) (err error) {
	name, value, _ := strings.Cut(line, " ")
	switch name {
	case "": // the end; an empty line elsewhere is found by comparing
	case "after":
		e.after, err = parseHash(value)
	case "old":
		e.old = value
	case "new":
		e.new = value
	case "was":
		seq, hash, _ := strings.Cut(value, " ")
		if e.was.Seq, err = strconv.ParseUint(seq, 10, 64); err == nil {
			e.was.Hash, err = parseHash(hash)
		}
	case "why":
		e.why = value
	default:
		err = errEntry("it has an unknown line; a newer version of Durward may have written it")
	}
	return err
}

func parseHash(text string) (hash [32]byte, err error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != len(hash) {
		return hash, errEntry("a hash is not 32 bytes in base64")
	}
	copy(hash[:], raw)
	return hash, nil
}

func errEntry(what string) error { return durward.Errorf(durward.Invalid, "", "%s", what) }

// sheet is a checkpoint file as it was read.
type sheet struct {
	items []item
	torn  []byte // an unfinished entry at the end: what a crash leaves
}

// rotatedTo says whether the sheet has the rotation to a key.
func (s *sheet) rotatedTo(verifier string) bool {
	for i := range s.items {
		if e := s.items[i].entry; e != nil && e.kind == entryRotated && e.new == verifier && signedByBoth(&s.items[i]) {
			return true
		}
	}
	return false
}

// item is one entry of a sheet, readable or not.
type item struct {
	raw   []byte // as in the file
	line  int    // where it begins, from 1
	entry *entry // nil: it is none
	err   error  // why
}

// message is the entry as a signed note.
func (i *item) message() []byte { return i.raw[:len(i.raw)-1] }

// signature lines of notes begin so.
const signatureMark = "— "

// parseSheet reads a checkpoint file. It takes everything: what is no entry is an
// item of its own, so that the ones after it are read all the same.
func parseSheet(data []byte) *sheet {
	s := &sheet{}
	line := 1
	for len(data) > 0 {
		raw, finished := nextItem(data)
		if !finished {
			s.torn = data
			return s
		}
		it := item{raw: raw, line: line}
		it.entry, it.err = parseItem(raw)
		s.items = append(s.items, it)
		line += bytes.Count(raw, []byte{'\n'})
		data = data[len(raw):]
	}
	return s
}

// nextItem cuts the first entry from a file: a paragraph, and the one after it if
// that holds its signatures.
func nextItem(data []byte) (raw []byte, finished bool) {
	end := paragraph(data)
	if end < 0 {
		return nil, false
	}
	if bytes.Contains(data[:end], []byte(signatureMark)) { // signatures of nothing, or text and signatures in one
		return data[:end], true
	}
	rest := data[end:]
	if len(rest) == 0 || len(rest) < len(signatureMark) && bytes.HasPrefix([]byte(signatureMark), rest) {
		return nil, false // cut off before its signatures
	}
	if !bytes.HasPrefix(rest, []byte(signatureMark)) {
		return data[:end], true
	}
	next := paragraph(rest)
	if next < 0 {
		return nil, false
	}
	return data[:end+next], true
}

// paragraph returns the length of the first paragraph with the empty line behind
// it, -1 if that is not there yet.
func paragraph(data []byte) int {
	if data[0] == '\n' {
		return 1
	}
	if i := bytes.Index(data, []byte("\n\n")); i >= 0 {
		return i + 2
	}
	return -1
}

func parseItem(raw []byte) (*entry, error) {
	text, signatures, ok := bytes.Cut(raw, []byte("\n\n"+signatureMark))
	if !ok || len(raw) > entryMost {
		return nil, errEntry("it is no signed note")
	}
	e, err := parseEntry(string(text) + "\n")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(signatures), "\n\n"), "\n"+signatureMark)
	if len(lines) != e.signatures() {
		return nil, errEntry("it does not have the signatures of its kind")
	}
	for _, line := range lines {
		name, code, _ := strings.Cut(line, " ")
		if name != e.Origin {
			return nil, errEntry("its first line is not the name of the key that signed it")
		}
		if _, err := base64.StdEncoding.Strict().DecodeString(code); err != nil || strings.ContainsAny(code, "\r\n") {
			return nil, errEntry("a signature is not in base64")
		}
	}
	return e, nil
}

// signatures returns how many keys sign the entry.
func (e *entry) signatures() int {
	if e.kind == entryRotated {
		return 2
	}
	return 1
}
