package egress

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Counts counts connections. The zero value is ready; it may be read and counted
// by many goroutines.
type Counts struct{ dials, failed, open atomic.Int64 }

// Read returns how many connections were tried, how many of them failed, and how
// many are open.
func (c *Counts) Read() (dials, failed, open int64) {
	return c.dials.Load(), c.failed.Load(), c.open.Load()
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// counted is dial, counted. Without a Counts it is dial itself.
func (c *Counts) counted(dial dialFunc) dialFunc {
	if c == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c.dials.Add(1)
		conn, err := dial(ctx, network, address)
		if err != nil {
			c.failed.Add(1)
			return nil, err
		}
		c.open.Add(1)
		return &countedConn{Conn: conn, counts: c}, nil
	}
}

// countedConn is taken off the count when it is closed, once. It hides that the
// connection is one of TCP: nothing above an HTTP transport asks for that.
type countedConn struct {
	net.Conn
	counts *Counts
	once   sync.Once
}

// Close closes the connection.
func (c *countedConn) Close() error {
	c.once.Do(func() { c.counts.open.Add(-1) })
	return c.Conn.Close()
}
