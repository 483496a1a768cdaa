package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"durward/test/chaos/fault"
)

// patience is how long a call may take before it counts as a hang: half a minute
// beyond what the faults explain, which is a few time-outs in a row.
const patience = 30*time.Second + 3*callTimeout

// load makes calls.
type load struct {
	book  *book
	cross bool // questions also between eras
	next  atomic.Int64
}

// worker has one client make one call after the other until ctx ends. A call
// that was begun is waited for.
func (l *load) worker(ctx context.Context, c client, d *dice) {
	for ctx.Err() == nil {
		o := l.do(c, l.job(c, pick(d, targets()), d, true))
		pause := d.between(time.Millisecond, 20*time.Millisecond)
		if o == refused { // what cannot serve now is not to be hammered
			pause *= 10
		}
		sleep(ctx, pause)
	}
}

// do makes one call.
func (l *load) do(c client, j *job) outcome {
	l.book.begin(j.record)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	o, detail := c.call(ctx, j)
	l.book.settle(j.id, o, detail)
	if code, _, coded := strings.Cut(detail, ":"); coded && strings.HasPrefix(code, "error ") {
		l.book.count(code)
	}
	return o
}

// job throws the dice for a call; a calm one meets no trouble.
func (l *load) job(c client, t target, d *dice, trouble bool) *job {
	j := &job{record: record{id: fmt.Sprintf("call-%06d", l.next.Add(1)), server: t.name, client: c.name(), era: eraOf(c), tool: "work"}}
	kind := ""
	if trouble {
		switch at := d.n(100); {
		case at < 5:
			kind = pick(d, fault.OfCalls(t.http, t.legacy))
		case at < 8:
			j.leave = d.between(0, 60*time.Millisecond)
		case at < 13:
			j.drop = true
		}
		switch at := d.n(100); {
		case at < 20 && l.asks(c, t):
			j.tool = "ask"
			j.forget = d.percent(4)
		case at < 32:
			j.tool = "progress"
		}
	}
	j.params = fmt.Sprintf(`"arguments":{"id":%q,"ms":%d,"owner":%q,"rounds":%d,"steps":%d,"stream":%t,"fault":%q}`,
		j.id, d.n(40), c.principal(), 1+d.n(3), 1+d.n(5), d.percent(50) || j.drop, kind)
	return j
}

func eraOf(c client) string {
	if c.modern() {
		return "modern"
	}
	return "legacy"
}

// asks reports whether a client of this era can be asked by that server.
func (l *load) asks(c client, t target) bool {
	return l.cross || c.modern() && t.modern || !c.modern() && t.legacy
}

// recovered makes calm calls until each client got an answer of each server, and
// returns who did not within the time.
func (l *load) recovered(ctx context.Context, all []client, d *dice) []string {
	ctx, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	var failed []string
	for _, t := range targets() {
		for _, c := range all {
			o, tries := pendingCall, 0
			for ; o != ok && ctx.Err() == nil; tries++ {
				if o = l.do(c, l.job(c, t, d, false)); o != ok {
					sleep(ctx, 100*time.Millisecond)
				}
			}
			if o != ok {
				failed = append(failed, fmt.Sprintf("%s does not serve %s after the faults have ended: %s, after %d tries", t.name, c.name(), o, tries))
			}
		}
	}
	return failed
}

// recovery bounds how long all servers together may take to serve again.
const recovery = 2 * time.Minute
