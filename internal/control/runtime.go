package control

import (
	"net/http"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"durward"
	"durward/client"
)

// runtimeStats answers with the figures of the Go runtime that benchmarks and
// support need.
func (*api) runtimeStats(w http.ResponseWriter, _ *request) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return writeJSON(w, http.StatusOK, client.Runtime{
		Mallocs: m.Mallocs, AllocBytes: m.TotalAlloc, HeapBytes: m.HeapAlloc, SysBytes: m.Sys,
		GC: uint64(m.NumGC), Goroutines: uint64(runtime.NumGoroutine()),
	})
}

// maxProfile bounds a CPU profile, in seconds.
const maxProfile = 300

// cpuProfile records a CPU profile for ?seconds=N (default 10) and sends it.
func (*api) cpuProfile(w http.ResponseWriter, r *request) error {
	seconds := 10
	if s := r.URL.Query().Get("seconds"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxProfile {
			return durward.Errorf(durward.Invalid, "", "seconds must be a number from 1 to %d", maxProfile)
		}
		seconds = n
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := pprof.StartCPUProfile(w); err != nil {
		return durward.Errorf(durward.Conflict, "", "another profile is being recorded")
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-r.Context().Done():
	}
	return nil
}
