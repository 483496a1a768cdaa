package leftover_test

import (
	"testing"
	"time"

	"durward/internal/testkit/leftover"
)

type program func() int

// Run implements goleak.TestingM.
func (p program) Run() int { return p() }

func TestAwaited(t *testing.T) {
	ended := make(chan struct{})
	slow := program(func() int {
		go func() { // for longer than goleak waits
			defer close(ended)
			<-time.After(time.Second)
		}()
		return 0
	})
	if code := leftover.Awaited(slow).Run(); code != 0 {
		t.Error(code)
	}
	select {
	case <-ended:
	default:
		t.Error("a goroutine that was ending was not waited for")
	}
}

func TestAFailureIsNotHeldUp(t *testing.T) {
	stay := make(chan struct{})
	defer close(stay)
	failed := program(func() int {
		go func() { <-stay }()
		return 3
	})
	if code := leftover.Awaited(failed).Run(); code != 3 {
		t.Error(code)
	}
}
