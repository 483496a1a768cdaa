package ledger

import (
	"context"
	"log/slog"
	"time"

	"durward"
)

const (
	checkpointEvery = time.Minute
	// lastCheckpointWait bounds the checkpoint that is made at the end.
	lastCheckpointWait = 5 * time.Second
)

// CheckpointerOptions configure a [Checkpointer].
type CheckpointerOptions struct {
	Checkpoints *Checkpoints  // required
	Every       time.Duration // default a minute
	Log         *slog.Logger  // default: discard
}

// Checkpointer makes a checkpoint every minute in which something was recorded.
type Checkpointer struct{ opt CheckpointerOptions }

// NewCheckpointer returns a Checkpointer; Run makes it work.
func NewCheckpointer(opt CheckpointerOptions) (*Checkpointer, error) {
	if opt.Checkpoints == nil {
		return nil, durward.Errorf(durward.Invalid, checkpointOp, "no Checkpoints were given")
	}
	if opt.Every <= 0 {
		opt.Every = checkpointEvery
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Checkpointer{opt: opt}, nil
}

// Run makes checkpoints until ctx ends, and then a last one: whoever stops the
// service closes the [Ledger] before. A checkpoint that cannot be made is logged
// and tried again; the error is that of the last one.
func (c *Checkpointer) Run(ctx context.Context) error {
	tick := time.NewTicker(c.opt.Every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return c.last(ctx)
		case <-tick.C:
			err := c.opt.Checkpoints.Add(ctx)
			if err != nil && !failing {
				c.opt.Log.Error("the ledger's end cannot be signed; what is recorded meanwhile is not proved", "error", err)
			} else if err == nil && failing {
				c.opt.Log.Info("the ledger's end is signed again")
			}
			failing = err != nil
		}
	}
}

// last makes the last checkpoint.
func (c *Checkpointer) last(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCheckpointWait)
	defer cancel()
	return c.opt.Checkpoints.Add(ctx)
}
