package pin

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/reveal"
)

// Options configure a Book.
type Options struct {
	Store Store // where pins are kept; required. See [Memory]
	// Own are Durward's own servers: what they offer is always accepted, and not recorded.
	Own []string
	// HoldFirst holds what is seen first, too, until somebody accepts it (policy.pins.first_use).
	HoldFirst bool
	// Held is told what is held from now on, at most once for each definition while
	// the server lists it. It must not block. Default: nobody is.
	Held func(server string, things []Thing)
	// MaxItems bounds what is kept of one server and kind; default 10,000 (limits.items).
	MaxItems int
	Log      *slog.Logger     // default: discard
	Now      func() time.Time // default: time.Now
}

// Book knows what servers offered and what of it was accepted. It is safe for
// concurrent use.
type Book struct {
	opt       Options
	own       map[string]bool
	holdFirst atomic.Bool
	servers   atomic.Pointer[map[string]*server] // never changes; replaced with mu held

	disk sync.Mutex // serialises use of the store; taken before mu
	mu   sync.Mutex // guards due, and serialises changes of servers
	due  batch

	wake chan struct{} // something is to be written
}

// Thing is one definition of a server, and what is known of it.
type Thing struct {
	Server  string
	Kind    string
	Name    string // the server's own; empty for instructions
	Hash    string
	State   State
	Seen    time.Time // when this definition was seen first
	Decided time.Time // when somebody accepted or rejected it; zero: nobody did
	By      string    // who did
	Listed  bool      // the server lists it now
	Legacy  bool      // it does so to legacy clients only
	Old     string    // hash of what it is compared with; empty: there is nothing
}

// Open reads what is kept. What is recorded later is written by [Book.Run].
func Open(ctx context.Context, opt Options) (*Book, error) {
	if opt.Store == nil {
		return nil, durward.Errorf(durward.Invalid, "pins", "there is no store to keep them in")
	}
	if opt.MaxItems <= 0 {
		opt.MaxItems = 10_000
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Held == nil {
		opt.Held = func(string, []Thing) {}
	}
	b := &Book{
		opt: opt, own: map[string]bool{}, due: newBatch(), wake: make(chan struct{}, 1),
	}
	for _, name := range opt.Own {
		b.own[name] = true
	}
	b.holdFirst.Store(opt.HoldFirst)
	servers := map[string]*server{}
	if err := opt.Store.LoadPins(ctx, func(r Row) error { load(servers, r); return nil }); err != nil {
		return nil, durward.Errorf(durward.Unavailable, "pins", "what servers offered before cannot be read: %w", err)
	}
	for _, s := range servers {
		for _, t := range s.things {
			slices.SortStableFunc(t.forms, func(a, b form) int { return a.seen.Compare(b.seen) })
		}
	}
	b.servers.Store(&servers)
	return b, nil
}

// load takes a row that was kept.
func load(servers map[string]*server, r Row) {
	s := servers[r.Server]
	if s == nil {
		s = &server{things: map[thingKey]*thing{}, sights: map[sight]seen{}}
		servers[r.Server] = s
	}
	if r.Kind == kindServer {
		at := primary
		if r.Name == "legacy" {
			at = legacy
		}
		s.sights[at] = seen{since: r.Seen, over: r.State == Accepted, judged: r.Decided}
		return
	}
	key := thingKey{r.Kind, r.Name}
	t := s.things[key]
	if t == nil {
		t = &thing{}
		s.things[key] = t
	}
	state := r.State
	if state != Accepted && state != First && state != Rejected {
		state = Held // doubt means no
	}
	t.forms = append(t.forms, form{hash: r.Hash, state: state, seen: r.Seen, decided: r.Decided, by: r.By})
}

// HoldFirst says whether what is seen first is held until somebody accepts it. It
// holds for what was seen before, too, as long as nobody accepted it.
func (b *Book) HoldFirst(hold bool) { b.holdFirst.Store(hold) }

// Pin says what is known of a definition. Kinds are tool, prompt, template and
// instructions; name is the server's own; hash is that of the definition as it is
// offered now, or empty for the one that is listed. Resources, which are not
// pinned, and what Durward itself offers are accepted. It takes no lock and does
// not allocate.
func (b *Book) Pin(server, kind, name, hash string) State {
	if kind == "resource" || b.own[server] {
		return Accepted
	}
	s := (*b.servers.Load())[server]
	if s == nil {
		return Unknown
	}
	t := s.things[thingKey{kind, name}]
	if t == nil {
		return Held
	}
	var f *form
	if hash == "" {
		f = t.current()
	} else {
		f = t.find(hash)
	}
	if f == nil {
		return Changed
	}
	return t.state(f, b.holdFirst.Load())
}

// Held says why a definition must not reach clients until somebody accepts it, ""
// if it may.
func (b *Book) Held(server, kind, name, hash string) string {
	switch b.Pin(server, kind, name, hash) {
	case Accepted, First:
		return ""
	case Rejected:
		return "it was rejected"
	case Changed:
		return "it is not what it was, and nobody accepted the change"
	case Held:
		if b.holdFirst.Load() {
			return "nobody accepted it yet"
		}
		return "it came after its server was seen first, and nobody accepted it"
	default:
		return "nothing is recorded of its server"
	}
}

// Observe takes what a server offers now, before anybody is offered it.
func (b *Book) Observe(s durward.Surface) {
	if b.own[s.Server] {
		return
	}
	b.mu.Lock()
	e := newEdition(s.Server, (*b.servers.Load())[s.Server], b.opt.Now(), b.opt.MaxItems)
	e.observe(&s)
	b.publish(e)
	b.due.merge(e.due)
	if !b.due.empty() {
		select {
		case b.wake <- struct{}{}:
		default: // it is awake
		}
	}
	b.mu.Unlock()
	if len(e.holds) > 0 {
		b.opt.Log.Warn("a server changed what it offers; the change is held until somebody accepts it",
			"server", s.Server, "held", len(e.holds), "first", reveal.Line(e.holds[0].Kind+" "+clip(e.holds[0].Name, shownName)), "see", "durward pins diff "+s.Server)
		b.opt.Held(s.Server, e.holds)
	}
}

// publish puts a changed server in place. mu is held.
func (b *Book) publish(e *edition) {
	next := maps.Clone(*b.servers.Load())
	next[e.name] = e.server
	b.servers.Store(&next)
}

// Bounds of writing.
const (
	writeLimit = 10 * time.Second // one transaction
	retryAfter = 5 * time.Second
)

// Run writes what was observed, until ctx ends, and then what is left. What cannot
// be written is tried again and told in the log; it is in force meanwhile.
func (b *Book) Run(ctx context.Context) error {
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return b.flush(context.WithoutCancel(ctx))
		case <-b.wake:
		case <-retry.C:
		}
		if err := b.flush(ctx); err != nil && ctx.Err() == nil {
			b.opt.Log.Error("what servers offer cannot be written down; it is tried again", "error", err)
			retry.Reset(retryAfter)
		}
	}
}

// flush writes what is to be written.
func (b *Book) flush(ctx context.Context) error {
	b.disk.Lock()
	defer b.disk.Unlock()
	return b.write(ctx)
}

// write writes what is to be written. disk is held.
func (b *Book) write(ctx context.Context) error {
	b.mu.Lock()
	due := b.due
	b.due = newBatch()
	b.mu.Unlock()
	err := due.save(ctx, b.opt.Store)
	if err == nil {
		return nil
	}
	b.mu.Lock()
	due.merge(b.due) // what came meanwhile counts more
	b.due = due
	b.mu.Unlock()
	return durward.Errorf(durward.Unavailable, "pins", "they cannot be written: %w", err)
}

// batch is what is to be written.
type batch struct {
	put  map[Key]Row
	drop map[Key]struct{}
}

func newBatch() batch { return batch{put: map[Key]Row{}, drop: map[Key]struct{}{}} }

func (d *batch) empty() bool { return len(d.put)+len(d.drop) == 0 }

// merge adds what came later.
func (d *batch) merge(later batch) {
	for key := range later.drop {
		d.remove(key)
	}
	for _, row := range later.put {
		d.add(row)
	}
}

func (d *batch) add(row Row) {
	if row.Raw == nil {
		row.Raw = d.put[row.Key].Raw
	}
	delete(d.drop, row.Key)
	d.put[row.Key] = row
}

func (d *batch) remove(key Key) {
	delete(d.put, key)
	d.drop[key] = struct{}{}
}

// save writes the batch.
func (d *batch) save(ctx context.Context, to Store) error {
	if d.empty() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return to.SavePins(ctx, slices.Collect(maps.Values(d.put)), slices.Collect(maps.Keys(d.drop)))
}
