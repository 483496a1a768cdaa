package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"durward"
)

const (
	keepOp = "ledger retention"

	// pruneYoung protects what is younger from being pruned for its size: records
	// that are on their way may name its bodies, see knownFor.
	pruneYoung = 5 * time.Minute
	// openYoung protects calls without an outcome: they may be under way.
	openYoung = 24 * time.Hour
	// grains says how exact ages are: one part of so many. Each step leaves an entry
	// in the checkpoint file for good.
	grains = 100
	// sizeSpare is which part of the size is freed beyond what must be.
	sizeSpare = 10
)

// Retention says how long what is kept (ledger.keep). Zero keeps for ever.
type Retention struct {
	Rows    time.Duration // records, with everything that belongs to them; at least an hour
	Bodies  time.Duration // requests and responses that are longer than a preview; at least an hour
	MaxSize int64         // bytes that the store takes on disk; the oldest records go first; at least 1 MiB
}

// KeepStore is what [Keep] needs of a store.
type KeepStore interface {
	Auditor
	Keeper
	Open(ctx context.Context, limit int) ([]durward.CallID, error)
}

// KeepOptions configure [Keep].
type KeepOptions struct {
	Retention
	Store       KeepStore    // required
	Checkpoints *Checkpoints // required

	// Damaged prunes what does not verify, too. Without it damaged records are kept,
	// with everything after them, until somebody has looked at them: what is pruned
	// cannot be investigated.
	Damaged bool

	Progress Progress         // of each look for what may be removed, and of each removal; default: nobody
	Now      func() time.Time // default: time.Now
	Log      *slog.Logger     // default: discard
}

func (o *KeepOptions) check() error {
	if o.Store == nil || o.Checkpoints == nil {
		return durward.Errorf(durward.Invalid, keepOp, "Store and Checkpoints are required")
	}
	if o.Rows < 0 || o.Bodies < 0 || o.MaxSize < 0 || o.Rows > 0 && o.Rows < time.Hour || o.Bodies > 0 && o.Bodies < time.Hour || o.MaxSize > 0 && o.MaxSize < 1<<20 {
		return durward.Errorf(durward.Invalid, keepOp, "records and bodies must be kept for an hour at least, and max_size must be 1 MiB at least (ledger.keep)")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Kept is what [Keep] did.
type Kept struct {
	Resumed uint64 // up to which link an interrupted removal was finished; 0: none was
	Rows    uint64 // up to which link records were removed; 0: none were
	Bodies  uint64 // up to which link bodies were removed; 0: none were
	Size    int64  // bytes on disk afterwards; 0 without MaxSize
	Over    bool   // Size is above MaxSize, and nothing more may be removed now
}

// Keep removes what is older than it shall be kept, and the oldest records while
// the store is too big: whole links only, only what a checkpoint covers, and never
// the record of a call that may be under way. Each removal is on record before it
// begins, so that [Verify] holds at any moment; one that was interrupted is
// finished by the next Keep. Ages are exact to a hundredth. An error of kind
// Conflict says that the oldest records are damaged and were kept for that, one of kind
// Unavailable that another Keep is under way, or that the store failed.
func Keep(ctx context.Context, opt KeepOptions) (*Kept, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if !opt.Checkpoints.removing.TryLock() {
		return nil, durward.Errorf(durward.Unavailable, keepOp, "another removal is under way; try again when it is done")
	}
	defer opt.Checkpoints.removing.Unlock()
	k := &keeping{opt: opt, now: opt.Now(), done: &Kept{}}
	for _, step := range []func(context.Context) error{k.resume, k.rows, k.bodies, k.size} {
		if err := step(ctx); err != nil {
			return k.done, keepError(ctx, err)
		}
	}
	return k.done, nil
}

func keepError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return durward.Errorf(durward.Unavailable, keepOp, "interrupted, and goes on where it was the next time: %w", context.Cause(ctx))
	}
	return durward.Errorf(durward.KindOf(err), keepOp, "%w", err)
}

// keeping is the state of one Keep.
type keeping struct {
	opt  KeepOptions
	now  time.Time
	done *Kept
}

// resume finishes what was interrupted. Whether a removal that is on record was brought
// to its end is known of those of this process alone.
func (k *keeping) resume(ctx context.Context) error {
	c := k.opt.Checkpoints
	if c.whole {
		return nil
	}
	cut, bodies := c.unfinished(), c.bodiesGone()
	left := false
	err := k.opt.Store.Links(ctx, 0, func(l Link, _ []Record) error {
		left = l.Seq <= cut.Seq
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if left {
		k.done.Resumed = cut.Seq
	}
	if cut.Seq > 0 {
		if err := k.prune(ctx, cut.Seq); err != nil {
			return err
		}
	}
	if bodies.Seq > cut.Seq {
		if err := k.pruneBodies(ctx, bodies.Seq); err != nil {
			return err
		}
	}
	c.whole = true
	return nil
}

func (k *keeping) prune(ctx context.Context, seq uint64) error {
	return k.removal(ctx, seq, k.opt.Store.Prune)
}

func (k *keeping) pruneBodies(ctx context.Context, seq uint64) error {
	return k.removal(ctx, seq, k.opt.Store.PruneBodies)
}

// removal has the store remove something. Until the end is reached it is unfinished.
func (k *keeping) removal(ctx context.Context, seq uint64, remove func(ctx context.Context, seq uint64, progress func(done, of int64)) error) error {
	m := newMeter(k.opt.Progress, 0)
	if err := remove(ctx, seq, m.set); err != nil {
		k.opt.Checkpoints.whole = false
		return err
	}
	m.end()
	return nil
}

// rows removes records that are too old.
func (k *keeping) rows(ctx context.Context) error {
	if k.opt.Rows == 0 {
		return nil
	}
	w, err := k.walk(ctx, limits{after: k.opt.Checkpoints.unfinished(), before: k.now.Add(-k.opt.Rows), grain: k.opt.Rows / grains, calls: true})
	if err != nil || w.upTo.Seq == 0 {
		return err
	}
	return k.removeRows(ctx, w.upTo, fmt.Sprintf("older than %s", k.opt.Rows))
}

func (k *keeping) removeRows(ctx context.Context, upTo Link, why string) error {
	if err := k.opt.Checkpoints.remove(ctx, removal{kind: entryTruncated, upTo: upTo, why: why}); err != nil {
		return err
	}
	k.opt.Log.Info("removing old records of the ledger", "up_to_link", upTo.Seq, "why", why)
	if err := k.prune(ctx, upTo.Seq); err != nil {
		return err
	}
	k.done.Rows = upTo.Seq
	return nil
}

// bodies removes bodies that are too old.
func (k *keeping) bodies(ctx context.Context) error {
	if k.opt.Bodies == 0 {
		return nil
	}
	w, err := k.walk(ctx, limits{after: k.opt.Checkpoints.bodiesGone(), before: k.now.Add(-k.opt.Bodies), grain: k.opt.Bodies / grains})
	if err != nil || w.upTo.Seq == 0 {
		return err
	}
	why := fmt.Sprintf("older than %s", k.opt.Bodies)
	if err := k.opt.Checkpoints.remove(ctx, removal{kind: entryBodies, upTo: w.upTo, why: why}); err != nil {
		return err
	}
	k.opt.Log.Info("removing old bodies of the ledger", "up_to_link", w.upTo.Seq, "why", why)
	if err := k.pruneBodies(ctx, w.upTo.Seq); err != nil {
		return err
	}
	k.done.Bodies = w.upTo.Seq
	return nil
}

// size removes the oldest records while the store is too big. Others write
// meanwhile, so it may shrink only with the second round; it is not removed in vain.
func (k *keeping) size(ctx context.Context) error {
	if k.opt.MaxSize == 0 {
		return nil
	}
	least, vain := int64(math.MaxInt64), 0
	for first := true; ; first = false {
		size, err := k.opt.Store.Size(ctx)
		if err != nil {
			return err
		}
		k.done.Size, k.done.Over = size, size > k.opt.MaxSize
		if !k.done.Over {
			return nil
		}
		if first { // what is free already is given back before anything is removed for it
			if err := k.prune(ctx, k.opt.Checkpoints.unfinished().Seq); err != nil {
				return err
			}
			continue
		}
		if vain++; size < least {
			least, vain = size, 0
		}
		if vain == 2 {
			return durward.Errorf(durward.Unavailable, "", "records were removed, but the store still takes %d bytes, and %d are allowed (ledger.keep.max_size)", size, k.opt.MaxSize)
		}
		if some, err := k.shrink(ctx, size); err != nil || !some {
			return err
		}
	}
}

// shrink removes as much as should be too much, and says whether there was any.
func (k *keeping) shrink(ctx context.Context, size int64) (some bool, err error) {
	cut := k.opt.Checkpoints.unfinished()
	all := k.opt.Checkpoints.Newest().Seq - cut.Seq
	spare := size - k.opt.MaxSize + k.opt.MaxSize/sizeSpare
	most := uint64(float64(all)*min(1, float64(spare)/float64(size))) + 1
	w, err := k.walk(ctx, limits{after: cut, before: k.now.Add(-pruneYoung), links: most, calls: true})
	if err != nil {
		return false, err
	}
	if w.upTo.Seq == 0 {
		k.opt.Log.Warn("the ledger is bigger than it shall be, and nothing of it may be removed yet", "bytes", size, "max_size", k.opt.MaxSize)
		return false, nil
	}
	return true, k.removeRows(ctx, w.upTo, fmt.Sprintf("%d bytes are more than %d", size, k.opt.MaxSize))
}

// bodiesGone returns the last link of which bodies or records are removed.
func (c *Checkpoints) bodiesGone() Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cut := c.gone.links(); cut.Seq >= c.gone.bodies.Seq {
		return cut
	}
	return c.gone.bodies
}
