package ledger

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// Who keeps a batch can write it again, whatever its records' forms were made in is used
// for by then.
func TestABatchDoesNotKeepTheMemoryOfOthers(t *testing.T) {
	b := &Batch{Records: []Record{&Note{At: time.Now(), What: "a note", Detail: "of something"}}}
	var space []byte
	b.Link, space = (&Link{}).next(time.Now(), b.Records, nil)
	b.forms = space
	first := slices.Clone(b.AppendTo(nil))
	clear(space)
	if again := b.AppendTo(nil); !bytes.Equal(again, first) {
		t.Errorf("%q\n%q", first, again)
	}
	if _, err := DecodeBatch(first); err != nil {
		t.Error(err)
	}
}
