package sqlite

import (
	"context"
	"strings"

	"durward"
	"durward/ledger"
)

// Bounds of what a question about one call reads.
const (
	prefixLeast = 4    // characters of an identifier that say anything
	matchesMost = 1000 // calls that are counted for a beginning that many have
	storyMost   = 1000 // decisions, approvals and flows of one call, each
)

// Call returns everything about one call. id may be the beginning of its identifier,
// if no other call has it. Errors: NotFound, Invalid for less than 4 characters,
// Conflict when several calls begin so.
func (r *Reader) Call(ctx context.Context, id string) (*ledger.Story, error) {
	var story *ledger.Story
	err := r.view(ctx, func(v *view) error {
		seq, err := v.find(id)
		if err != nil {
			return err
		}
		story, err = v.story(seq)
		return err
	})
	return story, err
}

// find returns the seq of the intent of a call.
func (v *view) find(id string) (int64, error) {
	if seq, err := v.number("SELECT seq FROM intents WHERE id = ?", idValue(id)); err != nil || seq != 0 {
		return seq, err
	}
	if len(id) < prefixLeast {
		return 0, durward.Errorf(durward.Invalid, "ledger", "%.64q is too short for the beginning of a call's id; give at least %d characters", id, prefixLeast)
	}
	seq, n := int64(0), 0
	for _, b := range prefixBounds(id) {
		err := v.each("SELECT seq FROM intents WHERE id >= ? AND id < ? LIMIT ?", func(row []value) error {
			seq, _ = row[0].(int64)
			n++
			return nil
		}, b.from, b.to, int64(matchesMost+1))
		if err != nil {
			return 0, err
		}
	}
	switch {
	case n == 0:
		return 0, durward.Errorf(durward.NotFound, "ledger", "no call has an id that begins with %.64q; it may have been pruned (ledger.keep)", id)
	case n > matchesMost:
		return 0, durward.Errorf(durward.Conflict, "ledger", "more than %d calls have an id that begins with %.64q; give more of it", matchesMost, id)
	case n > 1:
		return 0, durward.Errorf(durward.Conflict, "ledger", "%d calls have an id that begins with %.64q; give more of it", n, id)
	}
	return seq, nil
}

type bounds struct{ from, to value }

// prefixBounds returns between which stored identifiers those lie that begin with a
// text: UUIDs, which are blobs, and others, which are text.
func prefixBounds(text string) []bounds {
	all := []bounds{{text, text + "\U0010ffff"}}
	text = strings.ToLower(text)
	low, high := []byte("00000000-0000-0000-0000-000000000000"), []byte("ffffffff-ffff-ffff-ffff-ffffffffffff")
	if len(text) > len(low) {
		return all
	}
	copy(low, text)
	copy(high, text)
	from, ok := parseUUID(string(low))
	to, ok2 := parseUUID(string(high))
	if !ok || !ok2 {
		return all
	}
	return append(all, bounds{from[:], append(to[:], 0)}) // a longer blob is greater
}

// story reads everything about the call whose intent is the record seq.
func (v *view) story(seq int64) (*ledger.Story, error) {
	at := []point{{seq: seq}}
	links, err := v.linksOf(at)
	if err != nil {
		return nil, err
	}
	stories, err := v.stories(at, links)
	if err != nil {
		return nil, err
	}
	if len(stories) == 0 {
		return nil, durward.Errorf(durward.NotFound, "ledger", "the call is not there any more; it was pruned (ledger.keep)")
	}
	return stories[0], nil
}
