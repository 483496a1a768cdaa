package ledger

import (
	"context"
	"log/slog"
	"time"

	"durward"
)

const (
	keepEvery = time.Hour
	keepFirst = time.Minute
)

// HousekeeperOptions configure a [Housekeeper].
type HousekeeperOptions struct {
	Keep  KeepOptions
	First time.Duration // after which it looks for the first time; default a minute
	Every time.Duration // default an hour
}

// Housekeeper keeps a ledger within its bounds while the service runs.
type Housekeeper struct {
	opt HousekeeperOptions
	log *slog.Logger
}

// NewHousekeeper returns a Housekeeper; Run makes it work.
func NewHousekeeper(opt HousekeeperOptions) (*Housekeeper, error) {
	if err := opt.Keep.check(); err != nil {
		return nil, err
	}
	if opt.First <= 0 {
		opt.First = keepFirst
	}
	if opt.Every <= 0 {
		opt.Every = keepEvery
	}
	return &Housekeeper{opt: opt, log: opt.Keep.Log}, nil
}

// Run removes what need not be kept until ctx ends, which interrupts a removal
// safely. What goes wrong is logged and tried again an hour later; Run returns nil.
func (h *Housekeeper) Run(ctx context.Context) error {
	if h.opt.Keep.Retention == (Retention{}) {
		<-ctx.Done()
		return nil
	}
	for wait := h.opt.First; sleep(ctx, wait); wait = h.opt.Every {
		_, err := Keep(ctx, h.opt.Keep)
		switch {
		case err == nil || ctx.Err() != nil:
		case durward.KindOf(err) == durward.Conflict:
			h.log.Error("old records of the ledger are not removed", "error", err)
		default:
			h.log.Warn("old records of the ledger could not be removed; this is tried again", "error", err, "after", h.opt.Every)
		}
	}
	return nil
}
