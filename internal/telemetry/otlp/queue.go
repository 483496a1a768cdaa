package otlp

import (
	"context"
	"sync/atomic"
	"time"
)

// Sizes of a queue.
const (
	queued     = 4096            // what waits to be sent
	together   = 512             // what is sent in one request at most
	sendEvery  = 2 * time.Second // how long something waits for company
	metricTime = 60 * time.Second
)

// Counts says what became of what was to be sent.
type Counts struct {
	Sent    int64 // taken by the collector
	Dropped int64 // lost: the queue was full, or the collector did not take it
	Failed  int64 // requests that failed, after all attempts
}

type counts struct{ sent, dropped, failed atomic.Int64 }

func (c *counts) read() Counts {
	return Counts{Sent: c.sent.Load(), Dropped: c.dropped.Load(), Failed: c.failed.Load()}
}

// queue collects things and sends them together. One goroutine does: run.
type queue[T any] struct {
	counts *counts
	send   func(ctx context.Context, batch []T) error
	failed func(err error)

	items chan T
	quit  chan struct{} // closed when nothing more is put
	limit context.Context
}

// put hands something over, or drops it. It never blocks.
func (q *queue[T]) put(item T) {
	select {
	case q.items <- item:
	default:
		q.counts.dropped.Add(1)
	}
}

// run sends until quit is closed, and then what is left, within limit.
func (q *queue[T]) run() {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	batch := make([]T, 0, together)
	for {
		select {
		case item := <-q.items:
			if batch = append(batch, item); len(batch) < together {
				continue
			}
		case <-tick.C:
		case <-q.quit:
			q.drain(batch)
			return
		}
		batch = q.flush(q.limit, batch)
	}
}

// drain sends what is left.
func (q *queue[T]) drain(batch []T) {
	for {
		select {
		case item := <-q.items:
			if batch = append(batch, item); len(batch) == together {
				batch = q.flush(q.limit, batch)
			}
		default:
			q.flush(q.limit, batch)
			return
		}
	}
}

func (q *queue[T]) flush(ctx context.Context, batch []T) []T {
	if len(batch) == 0 {
		return batch
	}
	n := int64(len(batch))
	err := q.send(ctx, batch)
	lost := refusedOf(err, n)
	q.counts.sent.Add(n - lost)
	if err != nil {
		q.counts.failed.Add(1)
		q.counts.dropped.Add(lost)
		q.failed(err)
	}
	clear(batch) // so that what was sent can be collected
	return batch[:0]
}
