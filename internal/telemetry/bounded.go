package telemetry

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"durward/internal/wire"
)

// Bounds of what labels can be told apart. Names come from servers, which may
// invent as many as they like.
const (
	maxServers = 256
	maxNames   = 1000 // of tools and prompts, of all servers together
	maxLabel   = 128  // bytes of a value
	other      = "other"
)

// series names what requests have in common: one line in the histograms.
type series struct{ method, server, name string }

// handles finds the handle of a series without a lock and without allocating: it
// reads a map that is replaced when a new one is added.
type handles[K comparable, V any] struct {
	made atomic.Pointer[map[K]V]
	mu   sync.Mutex // serialises changes
}

// get returns what was made for k.
func (h *handles[K, V]) get(k K) (v V, ok bool) {
	if m := h.made.Load(); m != nil {
		v, ok = (*m)[k]
	}
	return v, ok
}

// add makes the value of k, unless it is there.
func (h *handles[K, V]) add(k K, build func() V) V {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v, ok := h.get(k); ok {
		return v
	}
	next := map[K]V{}
	if m := h.made.Load(); m != nil {
		next = maps.Clone(*m)
	}
	v := build()
	next[k] = v
	h.made.Store(&next)
	return v
}

// bounded admits a fixed number of different values, for good.
type bounded[K comparable] struct {
	most int
	full atomic.Bool

	mu   sync.Mutex // guards seen
	seen map[K]struct{}
}

// admit reports whether k is one of those that can be told apart.
func (b *bounded[K]) admit(k K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.seen[k]; ok {
		return true
	}
	if len(b.seen) >= b.most {
		b.full.Store(true)
		return false
	}
	if b.seen == nil {
		b.seen = map[K]struct{}{}
	}
	b.seen[k] = struct{}{}
	return true
}

// looked is how much of a text that is too long is searched for secrets before it is
// cut, in bytes.
const looked = 4 << 10

// brief returns the beginning of a text, at most so many bytes, and keeps nothing of what
// is cut off. Secrets are taken out before: half of one would not be known.
func brief(text string, most int, redact func([]byte) []byte) string {
	if len(text) <= most {
		return text
	}
	kept := redact([]byte(text[:min(len(text), looked)]))
	return string(kept[:min(len(kept), most)])
}

// labelText makes text of a server fit to be the value of a label.
func labelText(text string, redact func([]byte) []byte) string {
	text = string(redact([]byte(text[:min(len(text), looked)])))
	if len(text) > maxLabel {
		text = text[:maxLabel]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// methodOf is the method as a label: those that we know, and one for all others.
func methodOf(method string) string {
	switch method {
	case wire.MethodToolsCall, wire.MethodToolsList, wire.MethodPromptsGet, wire.MethodPromptsList,
		wire.MethodResourcesRead, wire.MethodResourcesList, wire.MethodTemplatesList, wire.MethodSubscribe, wire.MethodUnsubscribe,
		wire.MethodComplete, wire.MethodInitialize, wire.MethodDiscover, wire.MethodListen, wire.MethodSetLevel, wire.MethodPing,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksUpdate, wire.MethodTasksCancel, wire.MethodTasksList:
		return method
	default:
		return other
	}
}
