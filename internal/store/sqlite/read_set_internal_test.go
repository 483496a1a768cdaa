package sqlite

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// positions draws ascending positions below n: few, many, or nearly all.
func positions(t *rapid.T, n int) []uint16 {
	often := rapid.SampledFrom([]int{0, 1, 10, 500, 990, 1000}).Draw(t, "often")
	var out []uint16
	for p := range n {
		if rapid.IntRange(0, 999).Draw(t, "has") < often {
			out = append(out, uint16(p))
		}
	}
	return out
}

func TestSetsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 7, 8, 63, 64, 65, 200}).Draw(t, "rows")
		want := positions(t, n)
		var whole, s set
		for _, p := range want {
			whole.add(int(p))
		}
		if err := s.orFrom(appendPositions(nil, want, n), n); err != nil || s != whole {
			t.Fatalf("%v of %d was read as %v (%v)", want, n, s, err)
		}
		var again set
		if err := again.orFrom(whole.appendTo(nil, n), n); err != nil || again != whole || whole.count() != len(want) || whole.empty() != (len(want) == 0) {
			t.Fatalf("%v of %d was read as %v (%v)", want, n, again, err)
		}
		var back []uint16
		whole.each(func(p int) bool { back = append([]uint16{uint16(p)}, back...); return true })
		if !cmp.Equal(back, want) {
			t.Fatalf("%v was walked as %v", want, back)
		}
	})
}

func TestSetsTakeTheShortestForm(t *testing.T) {
	list := func(from, to int) (s set) {
		for p := from; p < to; p++ {
			s.add(p)
		}
		return s
	}
	everyOther := set{}
	for p := 0; p < segmentRows; p += 2 {
		everyOther.add(p)
	}
	for _, c := range []struct {
		name string
		set  set
		most int
	}{
		{"none", list(0, 0), 1}, {"one", list(5000, 5001), 3}, {"all", list(0, segmentRows), 1}, {"all but one", list(1, segmentRows), 2},
		{"a hundred in a row", list(100, 200), 101}, {"every other", everyOther, 1 + segmentRows/8},
	} {
		if b := c.set.appendTo(nil, segmentRows); len(b) > c.most {
			t.Errorf("%s takes %d bytes, wanted %d", c.name, len(b), c.most)
		}
	}
}

// Whatever is in the file, reading it neither panics nor names a row that is not there.
func FuzzSegmentRows(f *testing.F) {
	c := costs{statuses: []string{"dispatched", "ok"}, status: []uint16{0, 1, 1}, durations: []int64{0, 5, 1 << 40}, bytesOut: []int64{0, 1, 2}}
	sp := span{first: 7, last: 99, rows: 3, min: -5, max: 1 << 50, upto: 1 << 50, open: 1}
	f.Add(c.encode(), 3)
	f.Add(sp.append(nil), 3)
	f.Add(appendColumn(nil, []int64{1, 5, -1 << 62}), 3)
	for _, r := range c.rows(sp) {
		f.Add(r.data, 3)
	}
	s := newCallSegment()
	f.Add(s.measures(), 0)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = max(1, min(n, segmentRows))
		var s set
		if err := s.orFrom(b, n); err == nil {
			var all set
			all.fill(n)
			if s.andNot(&all); !s.empty() {
				t.Fatalf("%x names rows behind the first %d", b, n)
			}
		}
		_ = eachTerm(b, func(_, content []byte) error { return new(set).orFrom(content, n) })
		if v, err := readColumn(nil, b, n); err == nil && len(v) != n {
			t.Fatalf("%d numbers, wanted %d", len(v), n)
		}
		if sp, err := readSpan(1, b); err == nil && (sp.rows < 1 || sp.rows > segmentRows) {
			t.Fatalf("%+v", sp)
		}
		var k costs
		if err := k.decode(b, n); err == nil {
			for p := range n {
				_ = k.statuses[k.status[p]]
			}
		}
		var m measures
		if err := m.decode(b, n); err == nil {
			for p := range n {
				_, _ = m.targets[m.target[p]], m.actions[m.action[p]]
			}
		}
	})
}

func TestMagnitudesAndKeys(t *testing.T) {
	for micros, want := range map[int64]int{-1: 0, 0: 0, 1: 1, 2: 1, 3: 2, 6: 2, 7: 3, 1<<20 - 1: 20, 1<<20 - 2: 19} {
		if got := magnitude(micros); got != want {
			t.Errorf("magnitude(%d) = %d, wanted %d", micros, got, want)
		}
	}
	if long := string(bytes.Repeat([]byte("x"), 49)); term(long) == term(long+"y") || len(term(long)) != 33 || term("a") == term("#a") {
		t.Error("terms are not told apart")
	}
	seen := map[int64]bool{}
	for st := streamCalls; st <= streamNotes; st++ {
		for f := field(1); f < 1<<keyFieldBits; f++ {
			for b := range bucketsOf(f) {
				key := keyOf(st, f, b, 5)
				if key <= 0 || seen[key] || firstOf(key) != 5 || keyOf(st, f, b, 1<<keySeqBits-1) < key {
					t.Fatalf("key %x of stream %d, field %d, bucket %d", key, st, f, b)
				}
				seen[key] = true
			}
		}
	}
}

func TestVarintsAreReadLikeTheLibraryDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Int64()).Draw(t, "numbers")
		small := rapid.SliceOf(rapid.Int64Range(-1<<30, 1<<30)).Draw(t, "small")
		want = append(want, small...)
		got, err := readColumn(nil, appendColumn(nil, want), len(want))
		if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
			t.Fatalf("%v was read as %v (%v)", want, got, err)
		}
	})
}

func TestQuantilesAreCloseToThoseOfTheValues(t *testing.T) {
	for _, v := range []int64{0, 1, 31, 32, 33, 63, 64, 65, 1000, 123_456, 60_000_000, 1 << 43} {
		var h histogram
		h.add(v)
		if got := h.quantiles().P50.Microseconds(); got < v-v/60 || got > v+v/60 {
			t.Errorf("%d is counted as %d", v, got)
		}
	}
	var h histogram
	for v := range int64(100) {
		h.add(v)
	}
	h.add(1 << 60) // longer than anything
	if q := h.quantiles(); q.P50.Microseconds() != 50 || q.P95.Microseconds() < 93 || q.P95.Microseconds() > 97 {
		t.Errorf("%+v", q)
	}
}
