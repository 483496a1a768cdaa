// Package leftover lets a test program wait for goroutines that are ending before
// it is judged by those that are left.
//
// goleak gives them less than half a second, which on a busy machine can pass
// while a goroutine that has nothing left to do waits for a processor.
package leftover

import (
	"time"

	"go.uber.org/goleak"
)

// patience bounds the wait; only a program with a true leak waits that long.
const patience = 30 * time.Second

// Awaited returns m, whose Run, when all tests passed, waits until no goroutine is
// left but those that options leave out, for 30 s at most. It is for
// goleak.VerifyTestMain, which then says what is left.
func Awaited(m goleak.TestingM, options ...goleak.Option) goleak.TestingM {
	return awaited{m, options}
}

type awaited struct {
	goleak.TestingM
	options []goleak.Option
}

// Run implements goleak.TestingM.
func (a awaited) Run() int {
	code := a.TestingM.Run()
	if code != 0 {
		return code
	}
	for end := time.Now().Add(patience); goleak.Find(a.options...) != nil && time.Now().Before(end); { // Find waits, too
	}
	return code
}
