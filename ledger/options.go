package ledger

import (
	"log/slog"
	"time"

	"durward"
)

// Options configure a [Ledger].
type Options struct {
	Store Store // required

	// Full makes Outcome wait until the outcome is committed, as Intent does always.
	// How durable a commit is, is the store's business (ledger.sync).
	Full bool
	// Bodies keeps requests and responses that are longer than their preview.
	Bodies bool
	// Redact takes secrets out of what is recorded. It is called by many goroutines
	// and must not change its argument. Default: nothing is known.
	Redact func([]byte) []byte

	Queue    int           // limits.ledger_queue: records that wait to be written; default 8,192
	Wait     time.Duration // limits.ledger_wait: how long a call waits for room, or for the store, and at most an eighth longer; default 5 s
	BodyMost int           // limits.ledger_body: bytes kept of one body; default 10 MiB

	Log *slog.Logger // default: discard
	// Committed is told of each committed batch, in order. It must not block. Default: nobody.
	Committed func(link Link, records []Record)
}

func (o *Options) check() error {
	if o.Store == nil {
		return durward.Errorf(durward.Invalid, "ledger", "no Store was given")
	}
	if o.Redact == nil {
		o.Redact = func(text []byte) []byte { return text }
	}
	if o.Queue <= 0 {
		o.Queue = 8192
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	if o.BodyMost <= 0 {
		o.BodyMost = BodyMost
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Committed == nil {
		o.Committed = func(Link, []Record) {}
	}
	return nil
}
