package ledger_test

import (
	"bytes"
	"slices"
	"testing"

	"durward/ledger"
)

// A rotation that only one of its keys has signed connects nothing: else whoever can
// write the file could have any key take over, or vouch for what any key signed before.
func TestARotationThatOneKeySignedIsForged(t *testing.T) {
	o := newOffice(t)
	first := o.check.Verifier()
	o.fill(2)
	second, err := o.check.RotateKey(t.Context())
	o.must(err)
	o.fill(2)
	o.must(o.check.Close())
	entries := ledger.ParseSheet(read(t, o.path())).Raw
	n := slices.IndexFunc(entries, func(e []byte) bool { return bytes.Count(e, []byte("\n— ")) == 2 })
	if n < 0 {
		t.Fatalf("no entry has two signatures:\n%s", bytes.Join(entries, nil))
	}
	lines := bytes.SplitAfter(entries[n], []byte("\n"))
	for i, line := range lines {
		if !bytes.HasPrefix(line, []byte("— ")) {
			continue
		}
		wrong := bytes.Clone(line)
		at := len(wrong) - 10 // within the signature: its key stands at the beginning
		wrong[at] = map[bool]byte{true: 'B', false: 'A'}[wrong[at] == 'A']
		for name, lines := range map[string][][]byte{
			"without": slices.Delete(slices.Clone(lines), i, i+1), "with another signature for": slices.Replace(slices.Clone(lines), i, i+1, wrong),
		} {
			forged := slices.Clone(entries)
			forged[n] = bytes.Join(lines, nil)
			write(t, o.path(), bytes.Join(forged, nil))
			for _, key := range []string{first, second} {
				r, err := ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{Checkpoints: o.path(), Verifiers: []string{key}})
				o.must(err)
				if len(r.Keys) != 1 || r.Verdict == ledger.VerdictOK {
					t.Errorf("%s %q, and with %s known: %s, keys %q", name, line, key, r.Verdict, r.Keys)
				}
			}
		}
	}
}
