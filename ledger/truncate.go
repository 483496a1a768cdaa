package ledger

import (
	"context"
	"fmt"

	"durward"
)

// Truncated returns up to which link links, and bodies that no later link names,
// are removed on record; 0: nothing was.
func (c *Checkpoints) Truncated() (links, bodies uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone.links().Seq, c.gone.bodies.Seq
}

// Signed returns what a checkpoint file has on record, as far as known keys signed it:
// the last checkpoint, the zero one if there is none, and what [Checkpoints.Truncated]
// returns. It changes nothing, and does not look whether the ledger agrees, as [Verify]
// does. A file that is not there has nothing on record.
func Signed(path string, verifiers []string) (newest Checkpoint, links, bodies uint64, err error) {
	s, err := readCheckpoints(path)
	if err != nil {
		return newest, 0, 0, err
	}
	j, err := judge(s, path, verifiers)
	if err != nil {
		return newest, 0, 0, err
	}
	for _, t := range j.entries {
		if t.anchors() {
			newest = t.Checkpoint
		}
	}
	return newest, j.gone.links().Seq, j.gone.bodies.Seq, nil
}

// removed is what entries say to be removed.
type removed struct {
	cuts   []*entry   // each truncation of the chain that there is now
	body   *entry     // the last removal of bodies; nil: there was none
	bodies Checkpoint // up to where bodies are removed; zero: nowhere
}

// links returns up to where links are removed; zero: nowhere.
func (r *removed) links() Checkpoint {
	if len(r.cuts) == 0 {
		return Checkpoint{}
	}
	return r.cuts[len(r.cuts)-1].Checkpoint
}

// take takes over what an entry says. A store that was found to end before a
// truncation is another one, empty or an older copy: what is written to it from then
// on has the numbers of links that were removed, and must not be taken for those.
func (r *removed) take(e *entry) {
	switch e.kind {
	case entryTruncated:
		r.cuts = append(r.cuts, e)
	case entryBodies:
		r.body, r.bodies = e, e.Checkpoint
	case entryBroken:
		for len(r.cuts) > 0 && r.links().Seq > e.Seq {
			r.cuts = r.cuts[:len(r.cuts)-1]
		}
		if r.bodies.Seq > e.Seq {
			r.bodies = e.Checkpoint
		}
	default:
	}
}

// removal is something that is to be removed, on record.
type removal struct {
	kind entryKind // truncated or bodies
	upTo Link
	why  string
}

// remove writes on record that something is about to be removed: a note in the
// ledger, and a signed entry in the checkpoint file. Only then it may be removed:
// whatever happens in between, the ledger can be verified.
func (c *Checkpoints) remove(ctx context.Context, r removal) error {
	if err := c.mayRemove(r); err != nil {
		return err
	}
	what, things := "truncated", "links"
	if r.kind == entryBodies {
		what, things = "bodies removed", "bodies of links"
	}
	n := &Note{At: micro(c.opt.Now()), What: what, Detail: fmt.Sprintf("%s up to %d, whose hash is %x: %s", things, r.upTo.Seq, r.upTo.Hash, oneLine(r.why))}
	if err := c.opt.Note(ctx, n); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.kind == entryTruncated {
		// The note may be the only link that stays. Were it lost with the power when the
		// others are gone, the chain would begin anew at 1; were it not signed, nobody
		// could tell that the whole store was taken away.
		if err := c.add(ctx); err != nil {
			return err
		}
	}
	return c.put(ctx, &entry{Checkpoint: c.here(r.upTo), kind: r.kind, why: r.why})
}

func (c *Checkpoints) mayRemove(r removal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := c.gone.links().Seq
	if r.kind == entryBodies {
		done = max(done, c.gone.bodies.Seq)
	}
	if r.upTo.Seq <= done || r.upTo.Seq > c.anchor.Seq {
		return durward.Errorf(durward.Conflict, keepOp, "link %d cannot be the last that is removed: links up to %d are, and %d was signed last", r.upTo.Seq, done, c.anchor.Seq)
	}
	return nil
}

// unfinished returns up to where links may be left that should be gone.
func (c *Checkpoints) unfinished() Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone.links()
}
