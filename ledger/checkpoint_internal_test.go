package ledger

import "crypto/sha256"

// Sheet is what the tests see of a checkpoint file.
type Sheet struct {
	Raw  [][]byte
	Good []bool
	Torn []byte
}

// ParseSheet reads a checkpoint file for tests.
func ParseSheet(data []byte) Sheet {
	s := parseSheet(data)
	out := Sheet{Torn: s.torn}
	for i := range s.items {
		out.Raw = append(out.Raw, s.items[i].raw)
		out.Good = append(out.Good, s.items[i].entry != nil)
	}
	return out
}

// Judge reads and judges a file without keys, for the fuzzer.
func Judge(data []byte) (entries, findings int, err error) {
	j, err := judge(parseSheet(data), "file", nil)
	if err != nil {
		return 0, 0, err
	}
	return len(j.entries), len(j.findings), nil
}

// CutBody cuts a body as the ledger does.
func CutBody(content []byte, most int) ([]byte, Digest) {
	kept := cutBody(content, most)
	return kept, sha256.Sum256(kept)
}
