package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"durward"
	"durward/internal/private"
)

const (
	checkpointOp = "ledger checkpoints"
	verifyOp     = "ledger verify"

	// checkpointFileMost bounds the file, in bytes: thinned out as it is, and with a
	// truncation and a removal of bodies every eight hours, that is a century.
	checkpointFileMost = 64 << 20
	checkpointLockWait = 5 * time.Second
)

// CheckpointsOptions configure [OpenCheckpoints].
type CheckpointsOptions struct {
	Path string // of the checkpoint file, in a directory outside of the store's; required
	Key  string // path of the instance key; made (0600) if there is none; required

	// Head returns the last committed link: [Ledger.Head]. Required.
	Head func() Link
	// Links is the store; when the file is opened, what it holds is compared with
	// what was signed last. Required.
	Links Auditor
	// Note records what happens to key and file: [Ledger.Append]. Required.
	Note func(context.Context, Record) error
	// Sync makes everything up to a link that Head returned outlast a loss of power;
	// it is called before that link is signed. Default: the store does so with each
	// commit.
	Sync func(context.Context) error

	Log *slog.Logger     // default: discard
	Now func() time.Time // default: time.Now
}

func (o *CheckpointsOptions) check() error {
	if o.Path == "" || o.Key == "" || o.Head == nil || o.Links == nil || o.Note == nil {
		return durward.Errorf(durward.Invalid, checkpointOp, "Path, Key, Head, Links and Note are required")
	}
	if o.Sync == nil {
		o.Sync = func(context.Context) error { return nil }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Checkpoints is the checkpoint file of an instance, open for writing. It is safe
// for concurrent use; only one process can have it open. Whoever opens it calls
// Close. The file holds signed notes (golang.org/x/mod/sumdb/note), one after the
// other: plain checkpoints are kept for a day, then one an hour for 30 days, then
// one a day; the newest, truncations and changes of keys are kept always.
type Checkpoints struct {
	opt    CheckpointsOptions
	unlock func() error

	removing sync.Mutex // makes removals take turns, and guards whole; never taken while mu is held
	whole    bool       // what is on record as removed is: no removal is unfinished

	mu        sync.Mutex // guards all below
	key       *instanceKey
	installed bool // it has its place
	items     []item
	size      int64      // of the file as it was left; -1: it must be written anew
	anchor    Checkpoint // the last entry that tells where the chain was
	pinned    [32]byte   // hash of the last entry that is never thinned out
	gone      removed
	thinned   int // items after the file was thinned out last
	closed    bool
}

// OpenCheckpoints opens the checkpoint file, and makes key and file if there are
// none. That must be before anything is recorded by a new instance: what is
// recorded before is not vouched for. It writes on record whatever is not as it
// was left: a key that is gone, a file that is gone or was changed, a store that
// is not what was signed. None of that is an error: the operator learns it from
// the log and from [Verify]. An error of kind Conflict says that another process
// has the file open, or that the key was rotated away.
func OpenCheckpoints(ctx context.Context, opt CheckpointsOptions) (_ *Checkpoints, err error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	unlock, err := private.Lock(opt.Path+".lock", checkpointLockWait)
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), checkpointOp, "%w", err)
	}
	c := &Checkpoints{opt: opt, unlock: unlock, installed: true}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	s, err := readSheet(opt.Path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	var fresh bool
	if c.key, fresh, err = settleKey(opt.Key, s); err != nil {
		return nil, err
	}
	if err := c.load(s); err != nil {
		return nil, err
	}
	if err := c.resume(ctx, s, missing, fresh); err != nil {
		return nil, err
	}
	return c, nil
}

// readSheet reads the file; the error is fs.ErrNotExist if there is none, and the
// sheet empty then.
func readSheet(path string) (*sheet, error) {
	data, err := private.Read(path, checkpointFileMost)
	if err != nil {
		return &sheet{}, durward.Errorf(durward.KindOf(err), checkpointOp, "%w", err)
	}
	return parseSheet(data), nil
}

// load takes over what the file holds.
func (c *Checkpoints) load(s *sheet) error {
	for i := range s.items {
		it := &s.items[i]
		c.size += int64(len(it.raw))
		if it.entry != nil && it.entry.kind == entryRotated && it.entry.old == c.key.verifier && signedByBoth(it) {
			return durward.Errorf(durward.Conflict, keyOp, "%s holds a key that was rotated away at %s; put the newer one back, or remove the file to have one made, which will be on record",
				c.opt.Key, it.entry.Time.Format(time.RFC3339))
		}
		if it.entry != nil && !it.entry.thinned() {
			c.pinned = it.entry.hash()
		}
	}
	c.items, c.thinned = s.items, len(s.items)
	if len(s.torn) == 0 {
		return nil
	}
	if err := c.rewrite(c.items); err != nil {
		return durward.Errorf(durward.Unavailable, checkpointOp, "%s cannot be repaired: %w", c.opt.Path, err)
	}
	return nil
}

// What an entry says that a key begins with.
const (
	beganFirst   = "the first start"
	beganNoFile  = "there was a key, but no checkpoint file"
	beganOld     = "there was a ledger, but no checkpoint file"
	beganLostKey = "the key that signed before is gone"
)

// resume writes on record what happened since the file was closed.
func (c *Checkpoints) resume(ctx context.Context, s *sheet, missing, fresh bool) error {
	known, err := Verifiers(c.opt.Key)
	if err != nil {
		return err
	}
	j, err := judge(s, c.opt.Path, known)
	if err != nil {
		return err
	}
	mine := c.recall(j)
	head, was := c.opt.Head(), c.anchor
	var notes []string
	if missing || !mine {
		why := beganLostKey
		switch {
		case missing && head.Seq > 0:
			why = beganOld
		case missing && fresh:
			why = beganFirst
		case missing:
			why = beganNoFile
		}
		notes = append(notes, why+"; a new record of checkpoints begins at link "+strconv.FormatUint(head.Seq, 10))
		if err := c.put(ctx, &entry{Checkpoint: c.here(head), kind: entryBegan, why: why}); err != nil {
			return err
		}
	}
	what, err := c.compare(ctx, was, head)
	if err != nil {
		return err
	}
	if what != "" {
		notes = append(notes, what)
	}
	if len(s.torn) > 0 {
		notes = append(notes, fmt.Sprintf("an unfinished entry of %d bytes is cut off", len(s.torn)))
	}
	for _, f := range j.findings {
		if f.Verdict != VerdictOK {
			notes = append(notes, f.Where+": "+f.Message)
		}
	}
	return c.tell(ctx, notes)
}

// recall finds out where the file ended, and whether our key has written there.
func (c *Checkpoints) recall(j *judged) (mine bool) {
	c.gone = j.gone
	for _, t := range j.entries {
		if t.anchors() {
			c.anchor, mine = t.Checkpoint, t.by == c.key.verifier
		}
	}
	return mine
}

// compare looks whether the store holds what was signed last, says how not, and
// signs where the chain is now.
func (c *Checkpoints) compare(ctx context.Context, was Checkpoint, head Link) (what string, err error) {
	if what, err = c.differs(ctx, was, head); err != nil {
		return "", err
	}
	if what == "" {
		return "", c.add(ctx)
	}
	return what, c.put(ctx, &entry{Checkpoint: c.here(head), kind: entryBroken, was: was, why: what})
}

// errEnough ends a walk.
var errEnough = errors.New("enough was seen")

// differs says how the store differs from what was signed; "" if it does not.
func (c *Checkpoints) differs(ctx context.Context, was Checkpoint, head Link) (string, error) {
	if head.Seq < was.Seq {
		return fmt.Sprintf("the ledger ends at link %d, but link %d was signed at %s: the links between are gone", head.Seq, was.Seq, was.Time.Format(time.RFC3339)), nil
	}
	if was.Seq == 0 {
		return "", nil
	}
	same := head.Seq == was.Seq && head.Hash == was.Hash
	err := c.opt.Links.Links(ctx, was.Seq, func(l Link, _ []Record) error {
		before := was.link()
		same = l.Seq == was.Seq && l.Hash == was.Hash || l.Seq > was.Seq && l.Follows(&before)
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		if ctx.Err() != nil {
			return "", err
		}
		return oneLine("link " + fmt.Sprint(was.Seq) + " cannot be read: " + err.Error()), nil
	}
	if !same {
		return fmt.Sprintf("link %d is not the one that was signed at %s: the ledger was replaced or computed anew", was.Seq, was.Time.Format(time.RFC3339)), nil
	}
	return "", nil
}

// tell writes what happened into log and ledger.
func (c *Checkpoints) tell(ctx context.Context, notes []string) error {
	now := micro(c.opt.Now())
	for i, n := range notes {
		if i == notesMost {
			n = plural(len(notes)-i, "more finding", "more findings") + " of the checkpoint file; see: durward ledger verify"
		}
		c.opt.Log.Warn("ledger checkpoints: "+n, "file", c.opt.Path)
		if err := c.opt.Note(ctx, &Note{At: now, What: "checkpoints", Detail: n}); err != nil {
			return err
		}
		if i == notesMost {
			break
		}
	}
	return nil
}

// notesMost bounds what one start writes on record.
const notesMost = 20

// here is a checkpoint of now.
func (c *Checkpoints) here(l Link) Checkpoint {
	return Checkpoint{Seq: l.Seq, Hash: l.Hash, Time: micro(c.opt.Now()), Origin: c.key.signer.Name()}
}

// Add signs where the chain is, if it has grown since the last time, and returns
// when the disk has it.
func (c *Checkpoints) Add(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(ctx)
}

func (c *Checkpoints) add(ctx context.Context) error {
	head := c.opt.Head()
	if head.Seq <= c.anchor.Seq {
		return nil
	}
	return c.put(ctx, &entry{Checkpoint: c.here(head), kind: entryCheckpoint})
}

// Newest returns the last checkpoint.
func (c *Checkpoints) Newest() Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.anchor
}

// Verifier returns the public half of the key in use.
func (c *Checkpoints) Verifier() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key.verifier
}

// Close writes nothing more and lets other processes open the file.
func (c *Checkpoints) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.unlock()
}

// put signs an entry and appends it. It is on disk when put returns; after an
// error it may be, until the next put.
func (c *Checkpoints) put(ctx context.Context, e *entry, also ...note.Signer) error {
	if c.closed {
		return durward.Errorf(durward.Unavailable, checkpointOp, "the file is closed")
	}
	if e.anchors() {
		if err := c.opt.Sync(ctx); err != nil {
			return durward.Errorf(durward.Unavailable, checkpointOp, "what is to be signed cannot be brought to disk: %w", err)
		}
	}
	e.after = c.pinned
	e.why = oneLine(e.why)
	raw, err := e.sign(append([]note.Signer{c.key.signer}, also...)...)
	if err != nil {
		return err
	}
	items := append(c.items, item{raw: raw, entry: e})
	if len(items)-c.thinned >= thinEvery {
		items = thin(items, e.Time)
	}
	if err := c.write(items, raw); err != nil {
		c.size = -1
		return durward.Errorf(durward.Unavailable, checkpointOp, "%s cannot be written: %w", c.opt.Path, err)
	}
	c.items = items
	c.gone.take(e)
	if e.anchors() {
		c.anchor = e.Checkpoint
	}
	if !e.thinned() {
		c.pinned = e.hash()
	}
	return nil
}

// write brings items to disk: the last one behind the others if the file is as it
// was left, and else all of them anew. So a file that somebody removed or cut
// under the service is whole again with the next checkpoint.
func (c *Checkpoints) write(items []item, last []byte) error {
	info, err := os.Lstat(c.opt.Path)
	if err == nil && info.Mode().IsRegular() && info.Size() == c.size && len(items) == len(c.items)+1 {
		if err := appendSynced(c.opt.Path, last); err != nil {
			return err
		}
		c.size += int64(len(last))
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.rewrite(items)
}

// rewrite makes the file hold these items and nothing else.
func (c *Checkpoints) rewrite(items []item) error {
	var all []byte
	for i := range items {
		all = append(all, items[i].raw...)
	}
	if len(all) > checkpointFileMost {
		return fmt.Errorf("it would have more than %d bytes; keep a copy elsewhere and remove the file: that will be on record", checkpointFileMost)
	}
	if err := private.Replace(c.opt.Path, all); err != nil {
		return err
	}
	c.size, c.thinned = int64(len(all)), len(items)
	return nil
}

func appendSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
