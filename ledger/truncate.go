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
	return c.cut.Seq, c.bodies.Seq
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
	at := c.here(r.upTo)
	return c.put(ctx, &entry{Checkpoint: at, kind: r.kind, why: r.why})
}

func (c *Checkpoints) mayRemove(r removal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := c.cut.Seq
	if r.kind == entryBodies {
		done = max(done, c.bodies.Seq)
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
	return c.cut
}
