package sqlite

import (
	"context"
	"errors"
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
	rows, err := v.calls([]int64{seq})
	if err != nil {
		return nil, err
	}
	row := rows[seq]
	if row == nil {
		return nil, durward.Errorf(durward.NotFound, "ledger", "the call is not there any more; it was pruned (ledger.keep)")
	}
	s := &ledger.Story{Row: *row}
	id := idValue(string(row.ID))
	err = errors.Join(
		v.each(decisionsSQL, func(columns []value) error {
			c := cells{row: columns}
			d := ledger.Decision{Call: row.ID, At: c.time(), Stage: c.text(), Layer: c.text(), Rule: c.text()}
			d.Action, d.Effective, d.Detection, d.Detail = c.text(), c.text(), c.text(), c.text()
			s.Decisions = append(s.Decisions, d)
			return c.err("a decision of call", seq)
		}, id, int64(storyMost)),
		v.each(approvalsSQL, func(columns []value) error {
			c := cells{row: columns}
			a := ledger.Approval{ID: c.text(), Call: row.ID, At: c.time(), Status: c.text(), By: c.text(), Reason: c.text(), Scope: c.text()}
			s.Approvals = append(s.Approvals, a)
			return c.err("an approval of call", seq)
		}, id, int64(storyMost)),
		v.each(flowsSQL, func(columns []value) error {
			c := cells{row: columns}
			f := ledger.Flow{Call: row.ID, At: c.time(), Server: c.text(), Method: c.text(), Host: c.text(), IP: c.text(), Port: int(c.number())}
			f.Path, f.Status, f.BytesOut, f.BytesIn, f.Decision = c.text(), int(c.number()), c.number(), c.number(), c.text()
			s.Flows = append(s.Flows, f)
			return c.err("a connection of call", seq)
		}, id, int64(storyMost)),
		v.each("SELECT seq, at, records, digest, hash, first FROM chain WHERE seq = ?", func(columns []value) (err error) {
			s.Link, _, err = scanLink(columns)
			return err
		}, v.linkOf(seq)),
	)
	return s, err
}

// What belongs to a call, in the order in which it was recorded:
//
//	SEARCH decisions USING INDEX decisions_call (call=?)
//	SEARCH approvals USING INDEX approvals_call (call=?)
//	SEARCH http_requests USING INDEX http_requests_call (call=?)
const (
	decisionsSQL = "SELECT at, stage, layer, rule, action, effective, detection, detail FROM decisions WHERE call = ? ORDER BY seq LIMIT ?"
	approvalsSQL = "SELECT id, at, status, by, reason, scope FROM approvals WHERE call = ? ORDER BY seq LIMIT ?"
	flowsSQL     = "SELECT at, server, method, host, ip, port, path, status, bytes_out, bytes_in, decision FROM http_requests WHERE call = ? ORDER BY seq LIMIT ?"
)

// linkOf returns the seq of the link that a record is in. Links lie one after the other,
// so it is found by halving: two dozen looks among millions.
//
//	SEARCH chain USING INTEGER PRIMARY KEY (rowid<?)
func (v *view) linkOf(record int64) int64 {
	low, err := v.number("SELECT min(seq) FROM chain")
	high, err2 := v.number("SELECT max(seq) FROM chain")
	for low < high && err == nil && err2 == nil {
		middle := low + (high-low+1)/2
		err = v.each("SELECT seq, first FROM chain WHERE seq <= ? ORDER BY seq DESC LIMIT 1", func(row []value) error {
			link, _ := row[0].(int64)
			if first, _ := row[1].(int64); first <= record {
				low = middle
			} else {
				high = link - 1
			}
			return nil
		}, middle)
	}
	return low
}
