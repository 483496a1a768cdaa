package pin_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/pin"
)

// model is the rule in its plainest form, for one server whose things have two
// definitions each.
type model struct {
	seen   bool
	looked bool
	states map[[2]int]pin.State // by thing and variant
	listed map[int]int          // thing -> variant
}

func (m *model) observe(listed map[int]int) {
	m.listed = listed
	for thing, variant := range listed {
		d := [2]int{thing, variant}
		if _, known := m.states[d]; known {
			continue
		}
		m.states[d] = pin.First
		if _, other := m.states[[2]int{thing, 1 - variant}]; other || m.seen && m.judged() {
			m.states[d] = pin.Held
		}
	}
	m.seen = true
	m.forget()
}

// judged says whether anybody looked at the server.
func (m *model) judged() bool {
	return m.looked
}

// forget drops what is held and not listed: it would be held again.
func (m *model) forget() {
	for d, s := range m.states {
		if at, ok := m.listed[d[0]]; s == pin.Held && (!ok || at != d[1]) {
			delete(m.states, d)
		}
	}
}

func (m *model) decide(thing int, accept bool) {
	d, other := [2]int{thing, m.listed[thing]}, [2]int{thing, 1 - m.listed[thing]}
	m.looked = true
	m.states[d] = pin.Rejected
	if accept {
		m.states[d] = pin.Accepted
		if m.states[other] == pin.First {
			m.states[other] = pin.Held
		}
	}
	m.forget()
}

func (m *model) want(thing int) pin.State {
	s := m.states[[2]int{thing, m.listed[thing]}]
	if _, other := m.states[[2]int{thing, 1 - m.listed[thing]}]; s == pin.Held && other {
		return pin.Changed
	}
	return s
}

func variant(thing, v int) durward.Definition {
	name := string(rune('a' + thing))
	raw := `{"name":"` + name + `"}`
	if v == 1 {
		raw = `{"name":"` + name + `","title":"other"}`
	}
	return define(name, raw)
}

func TestStatesAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := &pin.Memory{}
		reopen := func() *pin.Book {
			b, err := pin.Open(context.Background(), pin.Options{Store: store})
			if err != nil {
				rt.Fatal(err)
			}
			return b
		}
		b := reopen()
		m := &model{states: map[[2]int]pin.State{}}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1, 2:
				listed := map[int]int{}
				s := surface()
				for thing := range 3 {
					if v := rapid.IntRange(-1, 1).Draw(rt, "variant"); v >= 0 {
						listed[thing] = v
						s.Definitions = append(s.Definitions, variant(thing, v))
					}
				}
				m.observe(listed)
				b.Observe(s)
			case 3, 4:
				thing := rapid.IntRange(0, 2).Draw(rt, "thing")
				v, ok := m.listed[thing]
				if !ok {
					continue
				}
				accept := rapid.Bool().Draw(rt, "accept")
				m.decide(thing, accept)
				d := variant(thing, v)
				err := b.Decide(context.Background(), pin.Verdict{Server: "files", Accept: accept, Choices: []pin.Choice{{Kind: d.Kind, Name: d.Name, Hash: d.Hash}}}, nil)
				if err != nil {
					rt.Fatal(err)
				}
			case 5: // a restart, after which the server is read again
				if err := b.Run(ended); err != nil {
					rt.Fatal(err)
				}
				b = reopen()
				if !m.seen {
					continue
				}
				s := surface()
				for thing, v := range m.listed {
					s.Definitions = append(s.Definitions, variant(thing, v))
				}
				b.Observe(s)
			}
			for thing, v := range m.listed {
				d := variant(thing, v)
				if got, wanted := b.Pin("files", d.Kind, d.Name, d.Hash), m.want(thing); got != wanted {
					rt.Fatalf("%s is %s, the model says %s", d.Raw, got, wanted)
				}
				if got := b.Pin("files", d.Kind, d.Name, ""); got != m.want(thing) {
					rt.Fatalf("what is listed is %s, the model says %s", got, m.want(thing))
				}
			}
		}
	})
}
