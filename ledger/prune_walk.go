package ledger

import (
	"context"
	"errors"
	"time"

	"durward"
)

// limits say which links may be removed.
type limits struct {
	after  Checkpoint    // the last that is removed already
	before time.Time     // what was written later stays
	grain  time.Duration // by how much the first must be older, for it to be worth while
	links  uint64        // how many at most; 0: all
	calls  bool          // calls that may be under way stay
}

// pruneWalk looks for the last link that may be removed, and checks the links up
// to there.
type pruneWalk struct {
	limits
	now     time.Time
	most    uint64 // the last link that a checkpoint covers
	damaged bool   // go on behind damage
	open    map[durward.CallID]struct{}
	anchors map[uint64][]Checkpoint

	chain chain
	seen  uint64
	upTo  Link // the last that may be removed; zero: none may
	begin time.Time
	meter *meter
}

func (k *keeping) walk(ctx context.Context, l limits) (*pruneWalk, error) {
	w := &pruneWalk{limits: l, now: k.now, most: k.opt.Checkpoints.Newest().Seq, damaged: k.opt.Damaged, chain: chain{last: l.after.link()}, meter: newMeter(k.opt.Progress, 0)}
	if l.calls {
		open, err := k.opt.Store.Open(ctx, openedAtOnce)
		if err != nil {
			return nil, err
		}
		w.open = make(map[durward.CallID]struct{}, len(open))
		for _, id := range open {
			w.open[id] = struct{}{}
		}
	}
	var err error
	if w.anchors, err = k.opt.Checkpoints.anchors(); err != nil {
		return nil, err
	}
	err = k.opt.Store.Links(ctx, l.after.Seq+1, func(l Link, records []Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.link(l, records)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return w, nil
}

// anchors returns what known keys have signed, by link.
func (c *Checkpoints) anchors() (map[uint64][]Checkpoint, error) {
	known, err := Verifiers(c.opt.Key)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	items := c.items[:len(c.items):len(c.items)]
	c.mu.Unlock()
	j, err := judge(&sheet{items: items}, c.opt.Path, known)
	if err != nil {
		return nil, err
	}
	all := map[uint64][]Checkpoint{}
	for _, t := range j.entries {
		if t.anchors() {
			all[t.Seq] = append(all[t.Seq], t.Checkpoint)
		}
	}
	return all, nil
}

// link looks at one link. What comes first decides: nothing is removed behind
// something that stays.
func (w *pruneWalk) link(l Link, records []Record) error {
	switch {
	case l.Seq > w.most, w.links > 0 && w.seen >= w.links:
		return errEnough
	case l.At.After(w.now): // the clock was wrong then: what comes after it decides
	case !l.At.Before(w.before):
		return errEnough
	case w.seen == 0 && w.now.Sub(l.At) < w.now.Sub(w.before)+w.grain:
		return errEnough
	}
	if w.underway(l, records) {
		return errEnough
	}
	if err := w.check(l, records); err != nil {
		return err
	}
	w.seen++
	w.tell(l.At)
	if l.At.Before(w.before) && l.Hash != [32]byte{} { // of a link that is not there only the number is known
		w.upTo = l
	}
	return nil
}

// tell tells how far it is: of the links, or else of the time, since nobody knows how
// many were written in it.
func (w *pruneWalk) tell(at time.Time) {
	if w.seen == 1 {
		w.begin = at
	}
	if w.links > 0 {
		w.meter.set(int64(w.seen), int64(w.links)) //nolint:gosec // counts of rows fit
		return
	}
	of := w.before.Sub(w.begin).Milliseconds()
	w.meter.set(min(at.Sub(w.begin).Milliseconds(), of), of)
}

// check refuses to remove what is not as it was written.
func (w *pruneWalk) check(l Link, records []Record) error {
	missing, wrong := w.chain.check(l, records)
	if missing > 0 {
		wrong = plural(int(missing), "link is", "links are") + " missing before it" //nolint:gosec // for people
	}
	for _, a := range w.anchors[l.Seq] {
		if a.Hash != l.Hash && wrong == "" {
			wrong = "it is not the one that was signed at " + stamp(a.Time)
		}
	}
	if wrong == "" || w.damaged {
		return nil
	}
	return durward.Errorf(durward.Conflict, "", "link %d is damaged, so it and what comes after it are kept: %s; see durward ledger verify, and prune with --damaged when nobody needs it any more", l.Seq, wrong)
}

// underway says whether a link has a call that may still be going on.
func (w *pruneWalk) underway(l Link, records []Record) bool {
	if len(w.open) == 0 || w.now.Sub(l.At) >= openYoung {
		return false
	}
	for _, r := range records {
		if i, ok := r.(*Intent); ok {
			if _, open := w.open[i.ID]; open {
				return true
			}
		}
	}
	return false
}
