package config

import (
	"time"

	"durward"
	"durward/internal/yamlx"
)

// Ledger says where every call is written down, how, and for how long.
type Ledger struct {
	Enabled bool
	Path    string // of the database; empty: the default one in the state directory
	Sync    Sync
	Bodies  bool
	Keep    Keep

	Queue    int           // limits.ledger_queue: records that wait to be written
	Wait     time.Duration // limits.ledger_wait: how long a call waits until it is recorded
	BodyMost int           // limits.ledger_body: bytes kept of one body
}

// Keep bounds what the ledger keeps; zero values keep everything.
type Keep struct {
	Rows    time.Duration
	Bodies  time.Duration
	MaxSize int64 // bytes of all its files together
}

// Sync is what a committed record outlives.
type Sync string

// The choices.
const (
	SyncNormal Sync = "normal" // the end of the process
	SyncFull   Sync = "full"   // the loss of power
)

// Parse reads bounds in the words of ledger.keep; empty ones are those of k.
func (k Keep) Parse(rows, bodies, maxSize string) (Keep, error) {
	for _, part := range []struct {
		name, text string
		to         *time.Duration
	}{{"rows", rows, &k.Rows}, {"bodies", bodies, &k.Bodies}} {
		var t keepTime
		if part.text == "" {
			continue
		}
		if err := t.UnmarshalText([]byte(part.text)); err != nil {
			return k, durward.Errorf(durward.Invalid, "", "%s %s", part.name, message(err))
		}
		*part.to = time.Duration(max(0, t))
	}
	if maxSize != "" {
		var size keepSize
		if err := size.UnmarshalText([]byte(maxSize)); err != nil {
			return k, durward.Errorf(durward.Invalid, "", "max_size %s", message(err))
		}
		k.MaxSize = int64(max(0, size))
	}
	return k, nil
}

// Words are the bounds as they could stand in a configuration.
func (k Keep) Words() (rows, bodies, maxSize string) {
	words := func(d time.Duration) string {
		if d == 0 {
			d = -1
		}
		return keepTime(d).String()
	}
	size := keepSize(k.MaxSize)
	if size == 0 {
		size = -1
	}
	return words(k.Rows), words(k.Bodies), size.String()
}

func (b *builder) ledger() Ledger {
	raw, limits := b.raw.Ledger, b.raw.Limits
	at := yamlx.Path{"ledger", "path"}
	if b.layers.has(at) && raw.Path == "" {
		b.layers.report(yamlx.CodeValue, at, "is empty; name a file, or remove the key to use the state directory")
	}
	return Ledger{
		Enabled: raw.Enabled, Path: b.layers.path(at, raw.Path), Sync: Sync(raw.Sync), Bodies: raw.Bodies,
		Keep: Keep{
			Rows: time.Duration(max(0, raw.Keep.Rows)), Bodies: time.Duration(max(0, raw.Keep.Bodies)), MaxSize: int64(max(0, raw.Keep.MaxSize)),
		},
		Queue: limits.LedgerQueue, Wait: limits.LedgerWait, BodyMost: int(limits.LedgerBody),
	}
}
