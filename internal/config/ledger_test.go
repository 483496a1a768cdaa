package config_test

import (
	"testing"
	"time"

	"durward"
	"durward/internal/config"
)

// What is kept is bounded in words that people use, or by nothing at all.
func TestKeep(t *testing.T) {
	for text, want := range map[string]config.Keep{
		"{}":                                     {Rows: 90 * 24 * time.Hour, Bodies: 30 * 24 * time.Hour, MaxSize: 5 << 30},
		"{rows: 90d, bodies: 30d, max_size: 5G}": {Rows: 90 * 24 * time.Hour, Bodies: 30 * 24 * time.Hour, MaxSize: 5 << 30},
		"{rows: 1d12h, bodies: 1h, max_size: 16777216}":        {Rows: 36 * time.Hour, Bodies: time.Hour, MaxSize: 16 << 20},
		"{rows: forever, bodies: forever, max_size: none}":     {},
		"{rows: forever, bodies: 2d, max_size: \"1 TiB\"}":     {Bodies: 48 * time.Hour, MaxSize: 1 << 40},
		"{rows: 720h30m, bodies: 100000d, max_size: 8388607T}": {Rows: 720*time.Hour + 30*time.Minute, Bodies: 100_000 * 24 * time.Hour, MaxSize: 8388607 << 40},
	} {
		if got := parse(t, "version: 1\nledger: {keep: "+text+"}").Ledger.Keep; got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// The corp layer decides key by key, and what it says of the ledger cannot be
// taken back below.
func TestTheLedgerIsMergedKeyByKey(t *testing.T) {
	c := layered(t, "version: 1\nledger: {enabled: false, path: mine.db, keep: {rows: 1d, bodies: 1d}}\nlimits: {ledger_wait: 1s}",
		"version: 1\nledger: {enabled: true, keep: {rows: 365d}}\nlimits: {ledger_queue: 100}")
	want := config.Ledger{
		Enabled: true, Path: "/home/u/mine.db", Sync: config.SyncNormal, Bodies: true,
		Keep:  config.Keep{Rows: 365 * 24 * time.Hour, Bodies: 24 * time.Hour, MaxSize: 5 << 30},
		Queue: 100, Wait: time.Second, BodyMost: 10 << 20,
	}
	if c.Ledger != want {
		t.Errorf("%+v", c.Ledger)
	}
	shown := map[string]string{}
	for _, s := range c.Settings() {
		shown[s.Path] = s.Value + " " + string(s.Layer)
	}
	for path, want := range map[string]string{
		"ledger.enabled": "true corp", "ledger.keep.rows": "365d corp", "ledger.keep.bodies": "24h user", "ledger.keep.max_size": "5GiB default", "ledger.sync": "normal default",
	} {
		if shown[path] != want {
			t.Errorf("%s: %s", path, shown[path])
		}
	}
}

// Bounds are read and written in the words of the configuration.
func TestKeepInWords(t *testing.T) {
	base := config.Keep{Rows: 90 * 24 * time.Hour, MaxSize: 5 << 30}
	if rows, bodies, size := base.Words(); rows != "90d" || bodies != "forever" || size != "5GiB" {
		t.Errorf("%s %s %s", rows, bodies, size)
	}
	if k, err := base.Parse("", "", ""); err != nil || k != base {
		t.Errorf("%+v %v", k, err)
	}
	if k, err := base.Parse("forever", "12h", "none"); err != nil || k != (config.Keep{Bodies: 12 * time.Hour}) {
		t.Errorf("%+v %v", k, err)
	}
	for _, wrong := range [][3]string{{"1m", "", ""}, {"", "x", ""}, {"", "", "5GB"}, {"", "", "1"}} {
		if _, err := base.Parse(wrong[0], wrong[1], wrong[2]); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
