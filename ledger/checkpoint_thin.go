package ledger

import "time"

const (
	// thinEvery is how many entries are appended before the file is thinned out: it
	// is written anew then.
	thinEvery  = 360
	thinHourly = 24 * time.Hour      // checkpoints older than this: one an hour
	thinDaily  = 30 * 24 * time.Hour // older than this: one a day
)

// thin leaves out checkpoints that later ones make superfluous: each covers all
// that came before it, so older ones only narrow down where a change is. What is
// no plain checkpoint stays, readable or not, and so does the last one.
func thin(items []item, now time.Time) []item {
	kept := make([]item, 0, len(items))
	for i, it := range items {
		if i+1 < len(items) && superseded(&it, &items[i+1], now) {
			continue
		}
		kept = append(kept, it)
	}
	return kept
}

// superseded says whether the next entry stands in the same hour or day, so that
// this one may go: the last of a span stays, and the last before an entry of
// another kind, which may have been the reason for it.
func superseded(it, next *item, now time.Time) bool {
	if it.entry == nil || !it.entry.thinned() || next.entry == nil || !next.entry.thinned() {
		return false
	}
	switch age := now.Sub(it.entry.Time); {
	case age > thinDaily:
		return sameSpan(it, next, 24*time.Hour)
	case age > thinHourly:
		return sameSpan(it, next, time.Hour)
	default:
		return false
	}
}

func sameSpan(it, next *item, span time.Duration) bool {
	return it.entry.Time.Truncate(span).Equal(next.entry.Time.Truncate(span))
}
