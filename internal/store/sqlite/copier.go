package sqlite

import (
	"strconv"
	"sync"
	"time"
)

// When the write-ahead log is copied into the file, in pages. The copier begins after
// copyPages, so that a page that is written often is copied less often. As long as it
// has not come to the end of a log that is being written, that grows; at logPages who
// writes copies what is left, which is little, and the log begins again.
const (
	copyPages = 2000
	logPages  = 16000 // 64 MiB; less where there is little room
)

// logLimit is how many pages the log may have with so much room on its disk: an eighth
// of it.
func logLimit(room int64) int {
	return int(min(max(room/8/pageSize, copyPages), logPages))
}

// copier copies the write-ahead log into the file through a connection of its own,
// beside who writes: the disk's syncs took a tenth of the time when calls waited for
// them. It is started with the connection that writes, and stopped before that closes.
type copier struct {
	c    *conn
	kick chan struct{} // closed when it is to stop
	done chan struct{}

	mu sync.Mutex // held while one copies: another one would be turned away
}

// startCopier starts a copier. Without one, who writes copies everything.
func startCopier(path string, busy time.Duration) (*copier, error) {
	c, err := openNative(path, []string{"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")", "synchronous(normal)", "cell_size_check(1)", "trusted_schema(0)"})
	if err != nil {
		return nil, err
	}
	// It opens the log, while that is the one that is written.
	if _, _, err := c.number("SELECT count(*) FROM chain WHERE seq = 0"); err != nil {
		_ = c.close() // it did nothing
		return nil, err
	}
	k := &copier{c: c, kick: make(chan struct{}, 1), done: make(chan struct{})}
	go k.run()
	return k, nil
}

func (k *copier) run() {
	defer close(k.done)
	for range k.kick {
		k.mu.Lock()
		// What fails is tried again by who writes, who says what is wrong.
		_, _, _ = k.c.number("PRAGMA wal_checkpoint(PASSIVE)")
		k.mu.Unlock()
	}
}

// copy has it begin.
func (k *copier) copy() {
	if k == nil {
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// stop waits until it has stopped.
func (k *copier) stop() error {
	if k == nil {
		return nil
	}
	close(k.kick)
	<-k.done
	return k.c.close()
}

// empty copies all of the log and cuts it off. done is false if somebody who reads, or
// locks the file, kept it from that.
func (d *DB) empty() (done bool, err error) {
	if d.copier != nil {
		d.copier.mu.Lock()
		defer d.copier.mu.Unlock()
	}
	busy, _, err := d.conn.number("PRAGMA wal_checkpoint(TRUNCATE)")
	return busy == 0, err
}
