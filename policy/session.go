package policy

import (
	"container/list"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"durward"
)

const (
	maxLabels     = 32 // of one session
	maxLabel      = 64 // characters
	sessionShards = 16

	// labelledFor is for how long a session keeps its labels without any call.
	labelledFor = 24 * time.Hour
	// tellEvery is how often the labels of a session that is in use are recorded at
	// least, so that who starts need not read more than labelledFor and this.
	tellEvery = 12 * time.Hour
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
	told    atomic.Int64 // unix nanoseconds: when its labels were recorded last; 0: never
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

// SessionID is the id by which the session of a caller is known to [Engine.Marked]: that of
// its session, or PRINCIPAL/ENTRANCE, where it has none.
func SessionID(c *durward.Caller) string { return sessionKey(c) }

// sessionKey is whose marks a caller shares.
func sessionKey(c *durward.Caller) string {
	if c.Session != "" {
		return string(c.Session)
	}
	return c.Principal + "/" + string(c.Entrance) // no id of a session has a slash
}

func (s *sessions) shard(key string) *shard {
	return &s.shards[maphash.String(s.seed, key)%sessionShards]
}

// find returns the conversation of a key; nil if there is none, or nothing was heard
// of it for longer than marks are kept.
func (s *sessions) find(key string, now time.Time) *conversation {
	sh := s.shard(key)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if at, ok := sh.byKey[key]; ok {
		if c := at.Value.(*conversation); !c.over(now) {
			return c
		}
	}
	return nil
}

// over reports whether nothing was heard of it for longer than marks are kept.
func (c *conversation) over(now time.Time) bool {
	return now.Sub(time.Unix(0, c.used.Load())) > labelledFor
}

// get returns the conversation of a key, and makes it if need be; nil when there is
// no room, because all that there are were marked not long ago.
func (s *sessions) get(key string, now time.Time) *conversation {
	if c := s.find(key, now); c != nil {
		return c
	}
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if at, ok := sh.byKey[key]; ok {
		if c := at.Value.(*conversation); !c.over(now) {
			return c
		}
		sh.drop(at)
	}
	if len(sh.byKey) >= sh.most && !sh.evict(now) {
		return nil
	}
	return sh.add(key, now)
}

// recall makes the conversation of a key anew after a restart, if need be. What is
// recalled takes at most half of the room, the latest of it.
func (s *sessions) recall(key string, now time.Time) *conversation {
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if at, ok := sh.byKey[key]; ok {
		sh.order.MoveToBack(at)
		return at.Value.(*conversation)
	}
	if oldest := sh.order.Front(); oldest != nil && len(sh.byKey) >= max(sh.most/2, 1) {
		sh.drop(oldest)
	}
	return sh.add(key, now)
}

func (sh *shard) add(key string, now time.Time) *conversation {
	c := &conversation{key: key, started: now}
	c.used.Store(now.UnixNano())
	sh.byKey[key] = sh.order.PushBack(c)
	return c
}

// evict forgets the oldest conversation without marks, or one whose marks are older
// than labelledFor.
func (sh *shard) evict(now time.Time) bool {
	for at := sh.order.Front(); at != nil; at = at.Next() {
		if c := at.Value.(*conversation); c.labels.Load() == nil || c.over(now) {
			sh.drop(at)
			return true
		}
	}
	return false
}

func (sh *shard) drop(at *list.Element) {
	delete(sh.byKey, at.Value.(*conversation).key)
	sh.order.Remove(at)
}

// labelled lists those with labels.
func (s *sessions) labelled(now time.Time) (all []Labelled) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for key, at := range sh.byKey {
			if c := at.Value.(*conversation); c.labels.Load() != nil && !c.over(now) {
				all = append(all, Labelled{ID: key, Labels: c.marked(), Calls: c.calls.Load(), Used: time.Unix(0, c.used.Load())})
			}
		}
		sh.mu.RUnlock()
	}
	slices.SortFunc(all, func(a, b Labelled) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// forget drops a conversation.
func (s *sessions) forget(key string) {
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if at, ok := sh.byKey[key]; ok {
		sh.drop(at)
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

// tell returns the labels, for the record, if some were added now, or it has said
// nothing of them for long.
func (c *conversation) tell(added bool, now time.Time) string {
	labels := c.marked()
	if labels == nil || !added && now.Sub(time.Unix(0, c.told.Load())) < tellEvery {
		return ""
	}
	c.told.Store(now.UnixNano())
	return strings.Join(labels, labelsJoint)
}

// labelsJoint is what stands between the labels of a session in the record.
const labelsJoint = ", "

// mark adds labels, and reports whether any is new. An error says that there are too
// many, or which is none.
func (c *conversation) mark(labels []string) (added bool, err error) {
	for {
		before := c.labels.Load()
		var now []string
		if before != nil {
			now = slices.Clone(*before)
		}
		for _, label := range labels {
			if !isLabel(label) {
				return false, durward.Errorf(durward.Invalid, "policy", "%q is no label of a session; it must have 1 to %d characters of a-z, 0-9, dot, hyphen and underscore", clip(label), maxLabel)
			}
			if !slices.Contains(now, label) {
				now = append(now, label)
			}
		}
		if len(now) > maxLabels {
			return false, durward.Errorf(durward.Conflict, "policy", "the session would have %d labels, more than %d", len(now), maxLabels)
		}
		if before != nil && len(now) == len(*before) {
			return false, nil
		}
		if c.labels.CompareAndSwap(before, &now) {
			return true, nil
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
