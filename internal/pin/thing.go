package pin

import (
	"slices"
	"time"
)

// thingKey names what has definitions: one tool, say.
type thingKey struct{ kind, name string }

// thing is all that is known of one tool, prompt, template or of the instructions.
// It never changes.
type thing struct {
	forms []form // in the order in which they were seen; at most maxForms
}

// form is one definition of a thing.
type form struct {
	hash    string
	state   State // first, accepted, held or rejected
	seen    time.Time
	decided time.Time
	by      string

	listed sight  // on which surfaces it stands now
	raw    []byte // while it is listed: the bytes that the catalog has anyway
}

// sight is a set of the surfaces that a server has.
type sight uint8

const (
	primary sight = 1 << iota
	legacy
)

// Bounds of what is kept of one thing. Two accepted definitions are kept, so that
// a server of which two versions run side by side is not held at every turn.
const (
	maxForms    = 8
	keptDecided = 2 // of each: accepted, rejected
	keptFirst   = 2
)

// find returns the form with a hash; nil if there is none.
func (t *thing) find(hash string) *form {
	for i := range t.forms {
		if t.forms[i].hash == hash {
			return &t.forms[i]
		}
	}
	return nil
}

// current returns the form that is listed now, the one of the primary surface
// before others; nil if none is.
func (t *thing) current() *form {
	var found *form
	for i := range t.forms {
		f := &t.forms[i]
		if f.listed&primary != 0 {
			return f
		}
		if f.listed != 0 {
			found = f
		}
	}
	return found
}

// base returns what a form is compared with: what was accepted last, else what was
// seen first, else what was rejected last; nil if it is the only one.
func (t *thing) base(hash string) *form {
	var accepted, first, rejected *form
	for i := range t.forms {
		f := &t.forms[i]
		if f.hash == hash {
			continue
		}
		switch f.state {
		case Accepted:
			accepted = later(accepted, f)
		case First:
			if first == nil {
				first = f
			}
		case Rejected:
			rejected = later(rejected, f)
		}
	}
	for _, f := range []*form{accepted, first, rejected} {
		if f != nil {
			return f
		}
	}
	return nil
}

func later(a, b *form) *form {
	if a == nil || b.decided.After(a.decided) {
		return b
	}
	return a
}

// decided reports whether anybody accepted or rejected a form of it.
func (t *thing) decided() bool {
	return slices.ContainsFunc(t.forms, func(f form) bool { return f.state == Accepted || f.state == Rejected })
}

// listed reports whether any of its forms is listed now.
func (t *thing) listed() bool { return t.current() != nil }

// state says what is known of a form of the thing.
func (t *thing) state(f *form, holdFirst bool) State {
	switch {
	case f.state == First && holdFirst:
		return Held
	case f.state == Held && t.base(f.hash) != nil:
		return Changed
	default:
		return f.state
	}
}

// trimmed returns the thing without the forms that nobody needs any more, and their
// hashes. What is listed stays; of the rest what was held is gone, since it would
// be held again.
func (t *thing) trimmed() (*thing, []string) {
	room := map[State]int{Accepted: keptDecided, Rejected: keptDecided, First: keptFirst}
	keep := make([]bool, len(t.forms))
	left := maxForms
	order := t.byNeed()
	for _, i := range order {
		f := &t.forms[i]
		if f.listed == 0 {
			if room[f.state] == 0 {
				continue
			}
		}
		if left == 0 {
			continue
		}
		room[f.state] = max(room[f.state]-1, 0)
		keep[i], left = true, left-1
	}
	if !slices.Contains(keep, false) {
		return t, nil
	}
	next := &thing{forms: make([]form, 0, len(t.forms))}
	var gone []string
	for i, f := range t.forms {
		if keep[i] {
			next.forms = append(next.forms, f)
		} else {
			gone = append(gone, f.hash)
		}
	}
	return next, gone
}

// byNeed returns the indexes of the forms, those that are needed most first: what
// is listed, then what was decided last.
func (t *thing) byNeed() []int {
	order := make([]int, len(t.forms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &t.forms[a], &t.forms[b]
		if (x.listed != 0) != (y.listed != 0) {
			if x.listed != 0 {
				return -1
			}
			return 1
		}
		return y.decided.Compare(x.decided)
	})
	return order
}
