package gateway_test

import (
	"testing"
	"time"

	"durward"
	"durward/gateway"
)

// counting is an Observer that keeps nothing.
type counting struct {
	passed, sent int
}

func (*counting) Traces() bool                               { return false }
func (*counting) Sample([16]byte) bool                       { return false }
func (c *counting) Passed(gateway.Passed)                    { c.passed++ }
func (c *counting) Sent(gateway.Sent)                        { c.sent++ }
func (*counting) SessionEnded(durward.Caller, time.Duration) {}

// An observer is told without an allocation.
func TestAllocationsOfAnObservedCall(t *testing.T) {
	c := &counting{}
	h, r, body := preparedWith(t, gateway.Options{Observer: c})
	n := allocations(func() { directly(h, r, body) })
	t.Logf("%.0f allocations", n)
	if n > maxAllocs || c.passed < 200 || c.sent < 200 {
		t.Errorf("%.0f allocations a call, at most %d are allowed; %+v", n, maxAllocs, c)
	}
}
