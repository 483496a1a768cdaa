package policy

import (
	"strings"
	"time"

	"durward"
)

// Past is one match of a rule, as it was recorded before this engine was made.
type Past struct {
	At        time.Time
	Layer     string
	Rule      string
	Effective string
	Detail    string
	Action    durward.Action // what was decided about the call
	Made      bool           // the call went on
	Caller    durward.Caller // principal, session and entrance
	Server    string
	Tool      string // the server's own name
	Bytes     int64  // of the params, and of the result as far as it is on record
}

// Memory are rules of which an engine that was just made wants to be told.
type Memory struct {
	Since time.Time
	Rules []string // ids, without layer

	names map[string]bool // with layer
}

// Wants reports whether a match is one of those that are asked for: rules of two layers
// may have one id.
func (m *Memory) Wants(layer, rule string) bool { return m.names[layer+"/"+rule] }

// Remembers says what an engine that was just made wants to be told of the past by
// [Engine.Recall], so that nothing is read for a limit of a minute that is older.
func (e *Engine) Remembers() []Memory {
	now := e.opt.Now()
	back := make(map[time.Duration]*Memory)
	add := func(per time.Duration, layer Layer, id string) {
		m := back[per]
		if m == nil {
			m = &Memory{Since: now.Add(-per), names: make(map[string]bool)}
			back[per] = m
		}
		m.Rules = append(m.Rules, id)
		m.names[layer.String()+"/"+id] = true
	}
	add(labelledFor+tellEvery, Builtin, RuleLabels)
	for _, r := range e.state.Load().set.rules {
		if r.limit != nil {
			add(r.limit.per, r.layer, r.src.ID)
		}
	}
	var out []Memory
	for _, m := range back {
		out = append(out, *m)
	}
	return out
}

// Recall makes the engine count what was counted before it was made, and know what
// sessions were marked with: a budget for a day is one, whenever the service was
// started. It is given matches in the order in which they came, before the engine decides anything.
func (e *Engine) Recall(p *Past) {
	now := e.opt.Now()
	if p.Layer == Builtin.String() && p.Rule == RuleLabels {
		if now.Sub(p.At) <= labelledFor+tellEvery && p.Detail != "" {
			c := e.sessions.recall(sessionKey(&p.Caller), now)
			_, _ = c.mark(strings.Split(p.Detail, labelsJoint)) // what is none, nobody wrote that we know
			c.told.Store(p.At.UnixNano())
		}
		return
	}
	st := e.state.Load()
	r := st.set.find(p.Layer, p.Rule)
	if r == nil || r.limit == nil || !p.counts(r.limit.unit) || now.Sub(p.At) >= r.limit.per {
		return
	}
	by := &counted{principal: p.Caller.Principal, session: sessionKey(&p.Caller), server: p.Server, tool: p.Tool, bytes: p.Bytes}
	st.limiters[r.order].count(r.limit.key(by), r.limit.amount(by), p.At)
}

// counts reports whether a match counted towards a limit of a unit; see run.reserve
// and Engine.Count.
func (p *Past) counts(u unit) bool {
	switch {
	case u == unitApprovals:
		return p.Action == durward.Ask && p.Effective == effectBelow
	case p.Action == durward.Ask:
		return p.Made
	default:
		return p.Action == durward.Allow && p.Effective == effectBelow
	}
}
