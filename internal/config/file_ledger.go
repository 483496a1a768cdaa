package config

import (
	"time"

	"durward"
	"durward/internal/yamlx"
)

// ledgerFile says where every call is written down, and for how long.
type ledgerFile struct {
	// Enabled records every call before it acts. false keeps no record of what was
	// called; durward status says so. Default true.
	Enabled bool `yaml:"enabled"`
	// Path is the database file, relative to this file; its directory is made if it
	// is missing. What belongs to it (journal, write-ahead log, checkpoints) is beside it.
	// Default: ledger/ledger.db in the state directory.
	Path string `yaml:"path"`
	// Sync is what a committed record outlives: normal, the end of the service however
	// it comes; full, also the loss of power, at the price of a disk write per batch
	// of calls. Default normal.
	Sync string `yaml:"sync" enum:"normal|full"`
	// Bodies keeps requests and results that are longer than the preview in their
	// record, up to limits.ledger_body. Default true.
	Bodies bool `yaml:"bodies"`
	// Keep says for how long. What is older, or too much, is removed while the
	// service runs, and the removal is recorded.
	Keep keepFile `yaml:"keep"`
}

// keepFile bounds what the ledger keeps.
type keepFile struct {
	// Rows is how long records are kept: a duration of at least 1h, or forever. Default
	// 90d.
	Rows keepTime `yaml:"rows"`
	// Bodies is how long the bodies of requests and results are kept, at most as long
	// as their records: a duration of at least 1h, or forever. Default 30d.
	Bodies keepTime `yaml:"bodies"`
	// MaxSize bounds the files of the ledger together; the oldest records are removed
	// first. A size of at least 16MiB, or none. Default 5GiB.
	MaxSize keepSize `yaml:"max_size"`
}

func defaultLedger() ledgerFile {
	return ledgerFile{
		Enabled: true, Sync: string(SyncNormal), Bodies: true,
		Keep: keepFile{Rows: keepTime(90 * day), Bodies: keepTime(30 * day), MaxSize: 5 << 30},
	}
}

const day = 24 * time.Hour

// keepTime is a duration; negative is "forever".
type keepTime time.Duration

// String returns a duration, or forever.
func (k keepTime) String() string {
	if k < 0 {
		return "forever"
	}
	return writtenDuration(time.Duration(k))
}

// UnmarshalText reads a duration or forever.
func (k *keepTime) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*k = -1
		return nil
	}
	d, ok := yamlx.ParseDuration(string(text))
	if !ok || d < time.Hour {
		return durward.Errorf(durward.Invalid, "", "must be forever or a duration of at least 1h (90d, 12h), is %q", text)
	}
	*k = keepTime(d)
	return nil
}

// keepSize is a number of bytes; negative is "none".
type keepSize int64

// leastKept is the smallest keepSize: below it little more than the schema fits.
const leastKept = 16 << 20

// String returns a size, or none.
func (k keepSize) String() string {
	if k < 0 {
		return "none"
	}
	return yamlx.Size(k).String()
}

// UnmarshalText reads a size or none.
func (k *keepSize) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*k = -1
		return nil
	}
	size, ok := yamlx.ParseSize(string(text))
	if !ok || size < leastKept {
		return durward.Errorf(durward.Invalid, "", "must be none or a size of at least 16MiB (500MiB, 5G), is %q", text)
	}
	*k = keepSize(size)
	return nil
}
