package pin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/internal/reveal"
)

// Choice names one definition that somebody looked at.
type Choice struct {
	Kind string // tool, prompt, template or instructions
	Name string // the server's own; empty for instructions
	Hash string // of the definition that was looked at
}

// Verdict is what somebody decided about definitions of one server.
type Verdict struct {
	Server  string
	Accept  bool // false: reject
	By      string
	Choices []Choice
}

// Effect is what a verdict changes, for the record.
type Effect struct {
	Old, New string // hashes: of the definition before and after, or of all that was accepted of the server
	Names    []string
}

// Decide accepts or rejects definitions. One that is not known, or was dropped
// because the server lists another one by now, is a Conflict and nothing is changed:
// what was not looked at cannot be accepted. Record, if set, is called before
// anything is changed; its error ends it. It returns when the verdict is written down.
func (b *Book) Decide(ctx context.Context, v Verdict, record func(Effect) error) error {
	if len(v.Choices) == 0 {
		return durward.Errorf(durward.Invalid, "pins", "nothing was chosen")
	}
	b.disk.Lock()
	defer b.disk.Unlock()
	if err := b.write(ctx); err != nil { // the definitions, so that they are there before the verdict
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := newEdition(v.Server, (*b.servers.Load())[v.Server], b.opt.Now(), b.opt.MaxItems)
	before := e.server
	for _, c := range v.Choices {
		if err := e.decide(c, &v); err != nil {
			return err
		}
	}
	if record != nil {
		if err := record(effect(before, e.server, &v)); err != nil {
			return err
		}
	}
	due := newBatch()
	due.merge(b.due) // what Observe noted meanwhile goes along, so that it cannot undo the verdict later
	due.merge(e.due)
	if err := due.save(ctx, b.opt.Store); err != nil {
		return durward.Errorf(durward.Unavailable, "pins", "the verdict cannot be written, so it does not hold: %w", err)
	}
	b.due = newBatch()
	b.publish(e)
	return nil
}

// decide notes a verdict about one definition.
func (e *edition) decide(c Choice, v *Verdict) error {
	key := thingKey{c.Kind, c.Name}
	old := e.server.things[key]
	op := "pins of " + v.Server
	if old == nil {
		return durward.Errorf(durward.NotFound, op, "the server never offered a %s %s; see: durward pins list %s", c.Kind, reveal.Line(clip(c.Name, shownName)), v.Server)
	}
	next := &thing{forms: append([]form(nil), old.forms...)}
	f := next.find(c.Hash)
	if f == nil {
		return durward.Errorf(durward.Conflict, op, "the %s %s is another one than the one that was looked at; look again: durward pins diff %s", c.Kind, reveal.Line(clip(c.Name, shownName)), v.Server)
	}
	f.state, f.decided, f.by = Rejected, e.now, v.By
	if v.Accept {
		f.state = Accepted
		next.supersede(f, e, key)
	}
	e.putForm(key, f, f.raw)
	e.set(key, next)
	e.look()
	return nil
}

// supersede has forms that were merely seen first wait for a verdict of their own,
// now that somebody decided what the thing should look like.
func (t *thing) supersede(accepted *form, e *edition, key thingKey) {
	for i := range t.forms {
		f := &t.forms[i]
		if f != accepted && f.state == First {
			f.state = Held
			e.putForm(key, f, f.raw)
		}
	}
}

// effect says what a verdict changes.
func effect(before, after *server, v *Verdict) Effect {
	out := Effect{}
	for _, c := range v.Choices {
		out.Names = append(out.Names, strings.TrimSpace(c.Kind+" "+c.Name))
	}
	if len(v.Choices) > 1 {
		out.Old, out.New = before.digest(), after.digest()
		return out
	}
	c := v.Choices[0]
	if base := before.things[thingKey{c.Kind, c.Name}].base(c.Hash); base != nil {
		out.Old = base.hash
	}
	out.New = c.Hash
	return out
}

// digest identifies all that is accepted of a server.
func (s *server) digest() string {
	var lines []string
	for key, t := range s.things {
		for _, f := range t.forms {
			if f.state == Accepted {
				lines = append(lines, key.kind+"\x00"+key.name+"\x00"+f.hash+"\n")
			}
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// List returns what is known of a server, or of all with an empty name: each
// definition that is listed, and of things that are not the last one that counts.
// It is sorted by server, kind and name.
func (b *Book) List(name string) []Thing {
	all := *b.servers.Load()
	names := slices.Sorted(maps.Keys(all))
	if name != "" {
		names = []string{name}
	}
	var out []Thing
	for _, n := range names {
		if s := all[n]; s != nil {
			out = append(out, s.list(n, b.holdFirst.Load())...)
		}
	}
	return out
}

func (s *server) list(name string, holdFirst bool) []Thing {
	var out []Thing
	for key, t := range s.things {
		listed := t.listed()
		for i := range t.forms {
			f := &t.forms[i]
			if listed && f.listed == 0 || !listed && i < len(t.forms)-1 {
				continue
			}
			out = append(out, t.describe(name, key, f, holdFirst))
		}
	}
	slices.SortFunc(out, func(a, b Thing) int {
		return strings.Compare(a.Kind+"\x00"+a.Name+"\x00"+a.Seen.UTC().Format(time.RFC3339Nano), b.Kind+"\x00"+b.Name+"\x00"+b.Seen.UTC().Format(time.RFC3339Nano))
	})
	return out
}

func (t *thing) describe(server string, key thingKey, f *form, holdFirst bool) Thing {
	out := Thing{
		Server: server, Kind: key.kind, Name: key.name, Hash: f.hash, State: t.state(f, holdFirst), Seen: f.seen, Decided: f.decided, By: f.by,
		Listed: f.listed != 0, Legacy: f.listed == legacy,
	}
	if base := t.base(f.hash); base != nil {
		out.Old = base.hash
	}
	return out
}

// Definitions returns a definition as its server sent it, and the one that it is
// compared with, nil if there is none. An error is of kind NotFound if the
// definition is not known.
func (b *Book) Definitions(ctx context.Context, th Thing) (old, now []byte, err error) {
	b.disk.Lock()
	defer b.disk.Unlock()
	if err := b.write(ctx); err != nil {
		return nil, nil, err
	}
	kept, err := b.opt.Store.PinDefinitions(ctx, th.Server, th.Kind, th.Name)
	if err != nil {
		return nil, nil, durward.Errorf(durward.Unavailable, "pins", "%w", err)
	}
	for _, r := range kept {
		switch r.Hash {
		case th.Hash:
			now = r.Raw
		case th.Old:
			old = r.Raw
		}
	}
	if now == nil {
		return nil, nil, durward.Errorf(durward.NotFound, "pins of "+th.Server, "the server does not list that %s any more", th.Kind)
	}
	return old, now, nil
}
