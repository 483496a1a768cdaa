package policy

import (
	"container/list"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"durward"
)

const (
	maxLabels     = 32 // of one session
	maxLabel      = 64 // characters
	labelledFor   = 24 * time.Hour
	sessionShards = 16
)

// sessions knows what sessions were marked with and how much they did. Callers
// without a session are marked together: by principal and entrance.
type sessions struct {
	seed   maphash.Seed
	shards [sessionShards]shard
}

// shard is a part of the sessions, so that calls do not wait for each other.
type shard struct {
	most int

	mu    sync.RWMutex             // guards all below, but not what conversations count themselves
	byKey map[string]*list.Element // of *conversation
	order list.List                // the one that was made longest ago first
}

// conversation is one session.
type conversation struct {
	key     string
	started time.Time
	calls   atomic.Int64
	used    atomic.Int64 // unix nanoseconds
	labels  atomic.Pointer[[]string]
}

func newSessions(most int) *sessions {
	s := &sessions{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].most = max(most/sessionShards, 1)
		s.shards[i].byKey = make(map[string]*list.Element)
	}
	return s
}

// sessionKey is whose marks a caller shares.
func sessionKey(c *durward.Caller) string {
	if c.Session != "" {
		return string(c.Session)
	}
	return "principal " + c.Principal + " by " + string(c.Entrance)
}

func (s *sessions) shard(key string) *shard {
	return &s.shards[maphash.String(s.seed, key)%sessionShards]
}

// find returns the conversation of a key, nil if there is none.
func (s *sessions) find(key string) *conversation {
	sh := s.shard(key)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if at, ok := sh.byKey[key]; ok {
		return at.Value.(*conversation)
	}
	return nil
}

// get returns the conversation of a key, and makes it if need be; nil when there is
// no room, because all that there are were marked not long ago.
func (s *sessions) get(key string, now time.Time) *conversation {
	if c := s.find(key); c != nil {
		return c
	}
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if at, ok := sh.byKey[key]; ok {
		return at.Value.(*conversation)
	}
	if len(sh.byKey) >= sh.most && !sh.evict(now) {
		return nil
	}
	c := &conversation{key: key, started: now}
	c.used.Store(now.UnixNano())
	sh.byKey[key] = sh.order.PushBack(c)
	return c
}

// evict forgets the oldest conversation without marks, or one whose marks are older
// than labelledFor.
func (sh *shard) evict(now time.Time) bool {
	for at := sh.order.Front(); at != nil; at = at.Next() {
		c := at.Value.(*conversation)
		if c.labels.Load() == nil || now.Sub(time.Unix(0, c.used.Load())) > labelledFor {
			delete(sh.byKey, c.key)
			sh.order.Remove(at)
			return true
		}
	}
	return false
}

// forget drops a conversation.
func (s *sessions) forget(key string) {
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if at, ok := sh.byKey[key]; ok {
		delete(sh.byKey, key)
		sh.order.Remove(at)
	}
}

// called counts a call that was allowed.
func (c *conversation) called(now time.Time) {
	c.calls.Add(1)
	c.used.Store(now.UnixNano())
}

// marked returns the labels; they must not be changed.
func (c *conversation) marked() []string {
	if labels := c.labels.Load(); labels != nil {
		return *labels
	}
	return nil
}

// mark adds labels. An error says that there are too many, or which is none.
func (c *conversation) mark(labels []string) error {
	for {
		before := c.labels.Load()
		var now []string
		if before != nil {
			now = slices.Clone(*before)
		}
		for _, label := range labels {
			if !isLabel(label) {
				return durward.Errorf(durward.Invalid, "policy", "%q is no label of a session; it must have 1 to %d characters of a-z, 0-9, dot, hyphen and underscore", clip(label), maxLabel)
			}
			if !slices.Contains(now, label) {
				now = append(now, label)
			}
		}
		if len(now) > maxLabels {
			return durward.Errorf(durward.Conflict, "policy", "the session would have %d labels, more than %d", len(now), maxLabels)
		}
		if before != nil && len(now) == len(*before) || c.labels.CompareAndSwap(before, &now) {
			return nil
		}
	}
}

func isLabel(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= maxLabel
}
