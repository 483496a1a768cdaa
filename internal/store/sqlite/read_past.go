package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"durward"
	"durward/ledger"
)

// pastSQL finds what matched in the decisions from a record on, each with its call. It
// reads all decisions from there on, and is for who starts, not for who serves.
const pastSQL = `SELECT d.at, d.stage, d.layer, d.rule, d.action, d.effective, d.detection, d.detail,
	i.id, i.at, i.bytes_in, c.session, c.principal, c.entrance, t.server, t.tool, v.action, o.status, o.attempts, o.bytes_out
FROM decisions d CROSS JOIN intents i ON i.id = d.call CROSS JOIN callers c ON c.id = i.caller
	CROSS JOIN targets t ON t.id = i.target CROSS JOIN verdicts v ON v.id = i.verdict LEFT JOIN outcomes o ON o.call = i.seq
WHERE d.seq >= ? AND d.rule IN (SELECT value FROM json_each(?)) ORDER BY d.seq`

// Past calls f for each time that one of the rules matched since then, in the order in
// which that was recorded. Rules are named by their ids, without layer. What cannot be read, because
// somebody changed it, is left out and counted. An error of f ends the walk and is returned.
func (r *Reader) Past(ctx context.Context, since time.Time, rules []string, f func(*ledger.Past) error) (damaged int, err error) {
	names, err := json.Marshal(rules)
	if err != nil {
		return 0, durward.Errorf(durward.Invalid, "ledger", "%w", err)
	}
	err = r.view(ctx, func(v *view) error {
		from, err := v.decisionSince(since)
		if err != nil {
			return err
		}
		return v.eachOf(ctx, pastSQL, func(row []value) error {
			c := cells{row: row}
			var p ledger.Past
			p.At, p.Stage, p.Layer, p.Rule, p.Decision.Action, p.Effective = c.time(), c.text(), c.text(), c.text(), c.text(), c.text()
			p.Detection, p.Detail, p.Call = c.text(), c.text(), durward.CallID(c.id())
			p.Received, p.BytesIn, p.Session, p.Principal = c.time(), int(c.number()), durward.SessionID(c.id()), c.text()
			p.Entrance, p.Server, p.Tool, p.Action = durward.Entrance(c.text()), c.text(), c.text(), durward.Action(c.number())
			p.Status, p.Attempts, p.BytesOut = durward.Status(c.text()), int(c.number()), int(c.number())
			if c.bad {
				damaged++
				return nil
			}
			if p.At.Before(since) {
				return nil
			}
			return f(&p)
		}, from, string(names))
	})
	return damaged, err
}

// decisionSince returns a seq from which on all decisions stand that were taken since
// then. That clocks go back does not matter: what is known of a segment is the latest time
// in it and all before it.
func (v *view) decisionSince(since time.Time) (from int64, err error) {
	spans, err := v.spans(streamDecisions)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, spans.close()) }()
	for newest := true; ; newest = false {
		if err := spans.next(); err != nil || spans.done {
			return from, err
		}
		sp, err := readSpan(spans.first, spans.data)
		if err != nil {
			return 0, nil // all of them are read: the records are not damaged
		}
		if newest {
			from = sp.last + 1 // what is in no segment is read
		}
		if sp.upto < since.UnixMicro() {
			return from, nil
		}
		from = sp.first
	}
}

// Changes calls f for each change of a kind since then, in the order in which they were
// recorded. It reads all changes, of which there are few.
func (r *Reader) Changes(ctx context.Context, since time.Time, what string, f func(at time.Time, target string)) error {
	return r.view(ctx, func(v *view) error {
		return v.eachOf(ctx, "SELECT at, target FROM changes WHERE what = ? AND at >= ? ORDER BY seq", func(row []value) error {
			c := cells{row: row}
			if at, target := c.time(), c.text(); !c.bad {
				f(at, target)
			}
			return nil
		}, what, since.UnixMicro())
	})
}
