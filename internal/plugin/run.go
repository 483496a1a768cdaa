package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"durward"
	"durward/internal/wire"
)

// run is one run of plugins over one value: the params or the result of a call.
type run struct {
	set   *Set
	ctx   context.Context
	call  *durward.Call
	stage string
	list  []*one

	now    []byte // what goes on
	record []byte // what is written down
	edited bool   // now is not what came
	kept   bool   // record is not what came

	action   durward.Action
	reason   string
	cause    string
	matches  []durward.Match
	labels   []string
	features feature
	scored   bool // injection ran
	personal bool // secrets or pii found something
}

func (r *run) decision() durward.Decision {
	d := durward.Decision{Action: r.action, Reason: r.reason, Cause: r.cause, Matches: r.matches}
	if r.edited {
		d.Changed = r.now
	}
	if r.kept && !bytes.Equal(r.record, r.now) {
		d.Recorded = r.record
	}
	return d
}

func (r *run) score() float64 {
	if !r.scored {
		return -1
	}
	return scoreOf(r.features)
}

// all runs the built-in plugins that look at texts together, then those of others,
// then size, so that they see the whole, and last taint, which builds on all.
func (r *run) all() error {
	if err := r.inspect(); err != nil {
		return err
	}
	for _, o := range r.list {
		if o.wasm != nil {
			if err := r.foreign(o); err != nil {
				return err
			}
		}
	}
	for _, o := range r.list {
		switch o.name {
		case nameSize:
			r.bound(o)
		case nameTaint:
			r.taint(o)
		}
	}
	return nil
}

// stricter takes an action if it is stricter than what there is.
func (r *run) stricter(action durward.Action, cause, reason string) {
	if action > r.action {
		r.action, r.cause, r.reason = action, cause, reason
	}
}

func (r *run) label(labels ...string) {
	for _, l := range labels {
		if !slices.Contains(r.labels, l) {
			r.labels = append(r.labels, l)
		}
	}
}

func (r *run) match(o *one, level Level, effective, detail string) {
	r.matches = append(r.matches, durward.Match{
		Stage: r.stage, Rule: "plugin:" + o.name, Action: o.mode.String(), Effective: effective, Detection: level.String(), Detail: detail,
	})
}

// inspect looks for credentials, personal data, what is not seen, and injection.
func (r *run) inspect() error {
	var want what
	by := map[what]*one{}
	for _, o := range r.list {
		want |= o.by
		if before := by[o.by]; o.by != 0 && (before == nil || o.mode > before.mode) { // secrets and redact-secrets, say
			by[o.by] = o
		}
	}
	if r.stage == stagePre {
		want &^= wantInjection
	}
	if want == 0 {
		return nil
	}
	n := r.set.inspection()
	defer r.set.release(n)
	n.want, n.ctx, n.ip = want, r.ctx, by[wantPII] != nil && by[wantPII].kinds["ip"]
	if err := n.run(r.now, r.stage == stagePre); errors.Is(err, errTooMany) {
		r.stricter(durward.Block, "evaluation", fmt.Sprintf("plugins cannot look at the whole of it: %v (at most %d)", err, maxFindings))
	} else if err != nil {
		return err
	}
	n.places = slices.DeleteFunc(n.places, func(p place) bool { return !by[p.by].kinds[p.Kind] })
	for _, w := range [...]what{wantSecrets, wantPII, wantInvisible} {
		if o := by[w]; o != nil {
			r.found(o, n.places)
		}
	}
	r.replace(by, n.places)
	if want&wantInjection != 0 {
		r.scored, r.features = true, n.score
		r.noteScore(by[wantInjection])
	}
	return nil
}

// found notes what one plugin found, and blocks where it is to.
func (r *run) found(o *one, places []place) {
	counts, level := map[string]int{}, LevelNone
	stuck := false
	for i := range places {
		p := &places[i]
		if p.by != o.by {
			continue
		}
		kind := p.Kind
		if p.Detail != "" {
			kind += " " + p.Detail
		}
		counts[kind]++
		level = max(level, p.Detection)
		stuck = stuck || p.fixed
	}
	if len(counts) == 0 {
		return
	}
	r.personal = r.personal || o.by != wantInvisible
	effective := o.mode.String()
	switch {
	case o.mode == block:
		r.stricter(durward.Block, "plugin", o.name+" found "+counted(counts))
	case o.mode == redact && stuck:
		effective = "block: it stands where it cannot be replaced"
		r.stricter(durward.Block, "plugin", o.name+" found "+counted(counts)+" in what says where the request goes")
	}
	r.match(o, level, effective, counted(counts))
}

// replace changes what goes on, and what is written down: there, credentials and
// personal data are replaced in every mode.
func (r *run) replace(by map[what]*one, places []place) {
	before := r.now
	if next := replaced(before, places, func(p *place) bool { return by[p.by].mode == redact && !p.fixed }); next != nil {
		if !wire.Valid(next) && wire.Valid(before) {
			r.stricter(durward.Block, "plugin", "what plugins would replace makes two members of one name")
		} else {
			r.now, r.edited = next, true
		}
	}
	if next := replaced(before, places, func(p *place) bool { return by[p.by].mode == redact || p.by != wantInvisible }); next != nil {
		r.record, r.kept = next, true
	} else {
		r.record = r.now
	}
}

func (r *run) noteScore(o *one) {
	score := scoreOf(r.features)
	if score < o.threshold {
		return
	}
	level := LevelMedium
	if score >= 0.8 {
		level = LevelHigh
	}
	var names []string
	for _, info := range features() {
		if r.features&info.feature != 0 {
			names = append(names, info.name)
		}
	}
	r.match(o, level, observe.String(), fmt.Sprintf("score %.2f: %s", score, strings.Join(names, ", ")))
}

func (s *Set) inspection() *inspection {
	if n, ok := s.scratch.Get().(*inspection); ok {
		return n
	}
	return &inspection{t: s.tables}
}

// release keeps the space of an inspection for the next one, unless it is large.
// Nothing of what was looked at stays reachable but its bytes in text.
func (s *Set) release(n *inspection) {
	if cap(n.text) > 1<<20 || cap(n.places) > 1<<10 {
		return
	}
	clear(n.text[:cap(n.text)])
	*n = inspection{t: n.t, text: n.text[:0], hits: n.hits[:0], places: n.places[:0], found: n.found[:0]}
	s.scratch.Put(n)
}
