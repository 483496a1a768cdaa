package transport

import (
	"bytes"
	"sync/atomic"

	"durward"
)

// clients remembers the description of the client that spoke last, since
// modern clients repeat it on every request.
type clients struct {
	last atomic.Pointer[described]
}

type described struct {
	raw  []byte
	info durward.ClientInfo
}

// longest is the size of a description worth remembering.
const longest = 2 << 10

func (c *clients) describe(raw []byte) durward.ClientInfo {
	if raw == nil {
		return durward.ClientInfo{}
	}
	if last := c.last.Load(); last != nil && bytes.Equal(last.raw, raw) {
		return last.info
	}
	info := describe(raw)
	if len(raw) <= longest {
		c.last.Store(&described{bytes.Clone(raw), info})
	}
	return info
}
