//go:build linux

package launch_test

import (
	"testing"

	"durward/internal/launch"
)

// BenchmarkLaunch is the whole life of /bin/true: start, end, reaped.
func BenchmarkLaunch(b *testing.B) {
	for name, opts := range kinds() {
		b.Run(name, func(b *testing.B) {
			l := launch.New(opts)
			defer l.Close()
			for b.Loop() {
				p, err := l.Launch(b.Context(), launch.Spec{Server: "x", Command: "true"})
				if err != nil {
					b.Fatal(err)
				}
				<-p.Done()
				p.Stdout().Close()
			}
		})
	}
}
