package lcs_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"durward/internal/lcs"
)

// longest is the length of a longest common subsequence, found in the plainest way.
func longest(a, b []byte) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + longest(a[1:], b[1:])
	default:
		return max(longest(a[1:], b), longest(a, b[1:]))
	}
}

func TestCompareLeadsFromOneToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]byte("abc")), 0, 9)
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		all := lcs.Compare(a, b)
		follow(t, a, b, all)
		same := 0
		for _, r := range all {
			if r.Kind == lcs.Same {
				same += r.N
			}
		}
		if want := longest(a, b); same != want {
			t.Fatalf("%q %q: %d stay, %d could: %v", a, b, same, want, all)
		}
	})
}

// follow checks that runs are what they say.
func follow[T comparable](t interface{ Fatalf(string, ...any) }, a, b []T, all []lcs.Run) {
	at, bt := 0, 0
	for i, r := range all {
		if r.N < 1 || r.A != at || r.B != bt || i > 0 && (all[i-1].Kind == r.Kind) {
			t.Fatalf("run %d of %v", i, all)
		}
		switch r.Kind {
		case lcs.Same:
			if !slices.Equal(a[at:at+r.N], b[bt:bt+r.N]) {
				t.Fatalf("run %d of %v is not the same", i, all)
			}
			at, bt = at+r.N, bt+r.N
		case lcs.Gone:
			at += r.N
		case lcs.New:
			bt += r.N
		}
	}
	if at != len(a) || bt != len(b) {
		t.Fatalf("%v does not cover %d and %d", all, len(a), len(b))
	}
}

// What is too long is compared at its ends only.
func TestTheTableIsBounded(t *testing.T) {
	const n = 3000
	a, b := make([]int, n), make([]int, n)
	for i := range n {
		a[i], b[i] = i, -i
	}
	b[0], b[n-1], b[n/2] = a[0], a[n-1], a[n/2]
	all := lcs.Compare(a, b)
	follow(t, a, b, all)
	if len(all) != 4 || all[0].N != 1 || all[1].N != n-2 || all[2].N != n-2 || all[3].N != 1 {
		t.Errorf("%v", all)
	}
}
