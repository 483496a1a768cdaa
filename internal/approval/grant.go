package approval

import (
	"context"
	"slices"
	"time"

	"durward"
)

// Grant is an answer that holds again. One of scope session is in memory only.
type Grant struct {
	ID string // that of the approval which made it
	Binding
	Patterns []Pattern         // what the approver widened; sorted by pointer
	Scope    durward.Scope     // session or grant
	Session  durward.SessionID // of scope session
	Created  time.Time
	Expires  time.Time // zero with scope session: it ends with the session
	By       string    // who answered
	Reason   string
	Preview  string // the beginning of the arguments that were approved, redacted
}

// Store keeps grants of scope grant.
type Store interface {
	AddGrant(ctx context.Context, g *Grant) error
	Grants(ctx context.Context) ([]Grant, error)
	// RemoveGrant removes a grant; that there is none is no error.
	RemoveGrant(ctx context.Context, id string) error
}

// Bounds of grants.
const (
	GrantFor    = 30 * 24 * time.Hour  // how long a grant holds when nothing is said
	GrantLeast  = time.Minute          // the shortest
	GrantMost   = 366 * 24 * time.Hour // the longest
	reasonMost  = 1 << 10              // bytes of a reason
	previewMost = 256                  // bytes of the arguments shown in lists
)

// key finds the grants that may cover a call.
type key struct{ principal, method, server, tool string }

func (g *Grant) key() key { return key{g.Principal, g.Method, g.Server, g.Tool} }

// covers reports whether the grant answers a question about a call now.
func (g *Grant) covers(call *durward.Call, q *durward.Question, arguments []byte, sum func() string, now time.Time) bool {
	switch {
	case g.Scope == durward.ScopeSession:
		if q.Remember != durward.ScopeSession && q.Remember != durward.ScopeGrant || call.Caller.Session != g.Session || g.Session == "" {
			return false
		}
	case q.Remember != durward.ScopeGrant || !now.Before(g.Expires):
		return false
	}
	if pin := pinOf(call); pin != g.Pin || !rulesWithin(q.Rules, g.Rules) {
		return false
	}
	if len(g.Patterns) > 0 {
		rest, ok := without(arguments, g.Patterns)
		return ok && digest(rest) == g.Arguments
	}
	return sum() == g.Arguments
}

func pinOf(call *durward.Call) string {
	if call.Tool == nil {
		return ""
	}
	return call.Tool.Hash
}

// rulesWithin reports whether a grant that was given for some rules answers others.
func rulesWithin(asked, granted []string) bool {
	if len(asked) == 0 {
		return len(granted) == 0
	}
	for _, rule := range asked {
		if !slices.Contains(granted, rule) {
			return false
		}
	}
	return true
}

// grants are the grants in force. What it returns must not be changed.
type grants struct{ byKey map[key][]*Grant }

func (s *grants) add(g *Grant) {
	if s.byKey == nil {
		s.byKey = map[key][]*Grant{}
	}
	s.byKey[g.key()] = append(s.byKey[g.key()], g)
}

// remove forgets the grants that a condition holds for, and returns them.
func (s *grants) remove(gone func(*Grant) bool) []*Grant {
	var out []*Grant
	for k, all := range s.byKey {
		var left []*Grant
		for _, g := range all {
			if gone(g) {
				out = append(out, g)
			} else {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			delete(s.byKey, k)
		} else if len(left) < len(all) {
			s.byKey[k] = left
		}
	}
	return out
}

// all returns the grants, oldest first.
func (s *grants) all() []*Grant {
	var out []*Grant
	for _, some := range s.byKey {
		out = append(out, some...)
	}
	slices.SortFunc(out, func(a, b *Grant) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return compareIDs(a.ID, b.ID)
	})
	return out
}

// count counts the grants for which a condition holds.
func (s *grants) count(is func(*Grant) bool) int {
	n := 0
	for _, some := range s.byKey {
		for _, g := range some {
			if is(g) {
				n++
			}
		}
	}
	return n
}
