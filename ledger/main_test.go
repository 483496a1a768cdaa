package ledger_test

import (
	"testing"

	"go.uber.org/goleak"

	"durward/internal/testkit/leftover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }
