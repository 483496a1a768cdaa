package sqlite

import (
	"context"
	"fmt"
	"slices"

	"durward"
	"durward/ledger"
)

// storiesMost is how much belongs to the calls of a page before it ends early: what is
// in memory is no more than that and what belongs to callsAtOnce calls.
const storiesMost = 10 * storyMost

// Stories returns a page of the calls that a filter chooses as Calls does, each with
// everything about it. What belongs to several calls is read together, which takes a
// fraction of what asking for each does. A page is shorter than the limit where much
// belongs to its calls. Errors are those of Calls.
func (r *Reader) Stories(ctx context.Context, f ledger.Filter) (ledger.StoryPage, error) {
	var page ledger.StoryPage
	err := r.choosing(ctx, &f, func(v *view, w *want, limit int) (err error) {
		page, err = v.storyPage(w, limit)
		return err
	})
	return page, err
}

func (v *view) storyPage(w *want, limit int) (ledger.StoryPage, error) {
	page := ledger.StoryPage{Stories: make([]*ledger.Story, 0, min(limit, 64))}
	found, next, err := v.choose(w, limit)
	if err != nil {
		return page, err
	}
	links, err := v.linksOf(found)
	if err != nil {
		return page, err
	}
	items := 0
	for len(found) > 0 && items < storiesMost {
		some := found[:min(callsAtOnce, len(found))]
		found = found[len(some):]
		if page.Next = next; len(found) > 0 {
			page.Next = cursorOf(some[len(some)-1])
		}
		stories, err := v.stories(some, links)
		if err != nil {
			return page, err
		}
		for _, s := range stories {
			items += len(s.Decisions) + len(s.Approvals) + len(s.Flows)
		}
		page.Stories = append(page.Stories, stories...)
	}
	return page, nil
}

// stories reads everything about at most callsAtOnce calls, whose intents are the
// records at some points, in that order. Those that are not there are left out.
func (v *view) stories(some []point, links map[int64]ledger.Link) ([]*ledger.Story, error) {
	rows, err := v.calls(seqsOf(some))
	if err != nil {
		return nil, err
	}
	stories := make([]*ledger.Story, 0, len(some))
	for _, p := range some {
		if row := rows[p.seq]; row != nil {
			stories = append(stories, &ledger.Story{Row: *row, Link: links[p.seq]})
		}
	}
	if len(stories) == 0 {
		return nil, nil
	}
	for _, b := range belongings() {
		if err := v.belong(b, stories); err != nil {
			return nil, err
		}
	}
	return stories, nil
}

// belonging is one kind of what belongs to calls.
type belonging struct {
	sql  string // its columns, the first is the call; of at most callsAtOnce calls, so many rows
	what string
	add  func(s *ledger.Story, c *cells)
}

// What belongs to calls, in the order in which it was recorded:
//
//	SEARCH decisions USING INDEX decisions_call (call=?)
//	SEARCH approvals USING INDEX approvals_call (call=?)
//	SEARCH http_requests USING INDEX http_requests_call (call=?)
const (
	ofCalls      = " WHERE call IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ORDER BY call, seq LIMIT ?"
	decisionsSQL = "SELECT call, at, stage, layer, rule, action, effective, detection, detail FROM decisions" + ofCalls
	approvalsSQL = "SELECT call, id, at, status, by, reason, scope FROM approvals" + ofCalls
	flowsSQL     = "SELECT call, at, server, method, host, ip, port, path, status, bytes_out, bytes_in, decision FROM http_requests" + ofCalls
)

func belongings() []belonging {
	return []belonging{
		{decisionsSQL, "a decision of call", func(s *ledger.Story, c *cells) {
			d := ledger.Decision{Call: s.ID, At: c.time(), Stage: c.text(), Layer: c.text(), Rule: c.text()}
			d.Action, d.Effective, d.Detection, d.Detail = c.text(), c.text(), c.text(), c.text()
			s.Decisions = append(s.Decisions, d)
		}},
		{approvalsSQL, "an approval of call", func(s *ledger.Story, c *cells) {
			a := ledger.Approval{ID: c.text(), Call: s.ID, At: c.time(), Status: c.text(), By: c.text(), Reason: c.text(), Scope: c.text()}
			s.Approvals = append(s.Approvals, a)
		}},
		{flowsSQL, "a connection of call", func(s *ledger.Story, c *cells) {
			f := ledger.Flow{Call: s.ID, At: c.time(), Server: c.text(), Method: c.text(), Host: c.text(), IP: c.text(), Port: int(c.number())}
			f.Path, f.Status, f.BytesOut, f.BytesIn, f.Decision = c.text(), int(c.number()), c.number(), c.number(), c.text()
			s.Flows = append(s.Flows, f)
		}},
	}
}

// belong reads what of one kind belongs to a few calls: of each at most storyMost. When
// all of them together have as much, each is asked for by itself.
func (v *view) belong(b belonging, stories []*ledger.Story) error {
	args := make([]value, callsAtOnce, callsAtOnce+1)
	of := make(map[durward.CallID]*ledger.Story, len(stories))
	for i := range args {
		s := stories[min(i, len(stories)-1)]
		args[i], of[s.ID] = idValue(string(s.ID)), s
	}
	var found []cells
	err := v.each(b.sql, func(row []value) error {
		found = append(found, cells{row: slices.Clone(row)})
		return nil
	}, append(args, int64(storyMost))...)
	if err != nil {
		return err
	}
	if len(found) == storyMost && len(stories) > 1 {
		for i := range stories {
			if err := v.belong(b, stories[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range found {
		c := &found[i]
		s := of[durward.CallID(c.id())]
		if s == nil { // it was asked for
			return fmt.Errorf("%s cannot be read: %w", b.what, errDamaged)
		}
		if b.add(s, c); c.bad {
			return fmt.Errorf("%s %.64q cannot be read: %w", b.what, string(s.ID), errDamaged)
		}
	}
	return nil
}
