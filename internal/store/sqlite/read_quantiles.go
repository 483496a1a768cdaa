package sqlite

import (
	"math/bits"
	"time"

	"durward/ledger"
)

// histogram counts durations in steps: one a microsecond wide below 32 µs, above that
// 32 in each doubling, so that what it says of one is at most 1.6 % off.
type histogram struct {
	pages [histogramPages]*[histogramStep]uint32 // made when they are needed
	n     int64
}

const (
	histogramStep  = 32
	histogramPages = 40 // up to 2^44 µs, half a year; what is longer counts as that
)

func (h *histogram) add(micros int64) {
	page, step := place(micros)
	if h.pages[page] == nil {
		h.pages[page] = new([histogramStep]uint32)
	}
	h.pages[page][step]++
	h.n++
}

// place returns where a duration is counted.
func place(micros int64) (page, step int) {
	v := uint64(max(0, micros))
	if v < histogramStep {
		return 0, int(v)
	}
	e := bits.Len64(v) - 6
	if e+1 >= histogramPages {
		return histogramPages - 1, histogramStep - 1
	}
	return e + 1, int(v>>e) - histogramStep
}

// middle returns the duration in the middle of a step.
func middle(page, step int) int64 {
	if page == 0 {
		return int64(step)
	}
	e := page - 1
	low := int64(histogramStep+step) << e
	return low + (int64(1)<<e-1)/2
}

// quantiles returns the durations that so many calls do not exceed.
func (h *histogram) quantiles() ledger.Quantiles {
	var q ledger.Quantiles
	want := []struct {
		rank int64
		to   *time.Duration
	}{{rankOf(h.n, 50), &q.P50}, {rankOf(h.n, 95), &q.P95}, {rankOf(h.n, 99), &q.P99}}
	seen := int64(0)
	for page, steps := range h.pages {
		if steps == nil {
			continue
		}
		for step, n := range steps {
			seen += int64(n)
			for n > 0 && len(want) > 0 && seen >= want[0].rank {
				*want[0].to = time.Duration(middle(page, step)) * time.Microsecond
				want = want[1:]
			}
		}
	}
	return q
}

// rankOf is which of n ordered values a percentile is, from 1.
func rankOf(n, percent int64) int64 { return max(1, (n*percent+99)/100) }
