package daemon

import "testing"

func TestGCPercentGivesHeadroomToSmallHeapsOnly(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, gcMost}, {1 << 20, gcMost}, {3 << 20, 400}, {12 << 20, gcDefault}, {1 << 30, gcDefault}} {
		if got := gcPercent(tt.live); got != tt.want {
			t.Errorf("%d bytes live: %d %%, wanted %d", tt.live, got, tt.want)
		}
	}
}
