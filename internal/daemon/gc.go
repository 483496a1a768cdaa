package daemon

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A gateway keeps little and allocates much: with Go's default a small heap is
// collected dozens of times a second under load. So the heap may grow by at
// least gcHeadroom between two collections; a heap larger than that is collected
// when it has doubled, as usual.
const (
	gcHeadroom = 12 << 20
	gcDefault  = 100
	gcMost     = 800 // percent
)

// paceGC keeps to that from now on, unless the environment says otherwise. It
// acts after each collection, for the life of the process.
func paceGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent(heapLive()))
	afterGC()
}

// collected is garbage at once, so that its finalizer runs after the next collection.
type collected struct{ _ *byte }

func afterGC() {
	runtime.SetFinalizer(&collected{}, func(*collected) {
		debug.SetGCPercent(gcPercent(heapLive()))
		afterGC()
	})
}

// gcPercent is the growth that gives a heap of live bytes its headroom.
func gcPercent(live uint64) int {
	return int(min(gcMost, max(gcDefault, gcHeadroom*100/max(live, 1))))
}

// heapLive returns the bytes that the last collection found in use.
func heapLive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
