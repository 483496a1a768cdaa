package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"durward/internal/testkit/leftover"
)

// otherProcess makes this program do something else than its tests: what it names,
// with the arguments behind it.
const otherProcess = "DURWARD_TEST_PROCESS"

func TestMain(m *testing.M) {
	if what := os.Getenv(otherProcess); what != "" {
		name, argument, _ := strings.Cut(what, " ")
		if err := processes()[name](argument); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		syscall.Exit(0) // with the race detector os.Exit waits for a second
	}
	goleak.VerifyTestMain(leftover.Awaited(m))
}

func processes() map[string]func(string) error {
	return map[string]func(string) error{"lock": holdLock, "write": writeAloneUntilKilled, "write-journal": writeJournalUntilKilled}
}
