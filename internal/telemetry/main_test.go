package telemetry_test

import (
	"testing"

	"go.uber.org/goleak"

	"durward/internal/launch"
	"durward/internal/testkit/hostile"
	"durward/internal/testkit/leftover"
)

// The test binary is also the hostile server, and the init of its process tree.
func TestMain(m *testing.M) {
	launch.MaybeInit()
	if hostile.Asked() {
		hostile.Main()
	}
	goleak.VerifyTestMain(leftover.Awaited(m))
}
