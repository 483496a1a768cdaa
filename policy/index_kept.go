package policy

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// kept are the plans that were worked out: a table without locks, to which plans are
// only added, so that the first list of thousands of tools costs no more than to work out each.
type kept struct {
	seed    maphash.Seed
	n       atomic.Int64
	buckets [keptBuckets]bucket
}

const keptBuckets = 4096 // a power of two: the upper bits of a hash choose

// bucket is a list of plans whose keys have the same hash, in part.
type bucket struct{ first atomic.Pointer[keptPlan] }

// keptPlan is one plan. It does not change.
type keptPlan struct {
	key  planKey
	plan *plan
	next *keptPlan
}

func (t *kept) bucket(k *planKey) *bucket {
	h := maphash.String(t.seed, k.tool) ^ bits.RotateLeft64(maphash.String(t.seed, k.server), 21) ^ bits.RotateLeft64(maphash.String(t.seed, k.method), 42)
	if k.response {
		h = ^h
	}
	return &t.buckets[h&(keptBuckets-1)]
}

// find returns the plan of a key, nil if there is none.
func (b *bucket) find(k *planKey) *plan {
	for e := b.first.Load(); e != nil; e = e.next {
		if e.key == *k {
			return e.plan
		}
	}
	return nil
}

// put keeps a plan, unless there are too many. Two may be kept for one key, which are alike.
func (t *kept) put(b *bucket, k *planKey, p *plan) {
	if t.n.Add(1) > maxPlans {
		t.n.Add(-1)
		return
	}
	e := &keptPlan{key: *k, plan: p}
	for {
		e.next = b.first.Load()
		if b.first.CompareAndSwap(e.next, e) {
			return
		}
	}
}
