package telemetry_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"durward/internal/launch"
	"durward/internal/testkit/hostile"
)

// The test binary is also the hostile server, and the init of its process tree.
func TestMain(m *testing.M) {
	launch.MaybeInit()
	if hostile.Asked() {
		hostile.Main()
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
