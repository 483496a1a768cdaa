package journal_test

import (
	"context"
	"slices"
	"sync"

	"durward"
	"durward/ledger"
)

// mood is what a store does when it is given something.
type mood int

const (
	works    mood = iota
	refuses       // nothing is written
	fails         // it is written, and the error says that it was not
	isSilent      // like fails, and it does not say either what the last link is
)

var errMood = durward.Errorf(durward.Unavailable, "ledger", "/x/ledger.db is in a mood")

// fake is a store in memory. It outlasts being closed.
type fake struct {
	mu      sync.Mutex // guards all below
	mood    mood
	blocked chan struct{} // not nil: writing waits until it is closed
	reached chan struct{} // with it: closed when something waits for that
	batches []*ledger.Batch
	open    map[durward.CallID]bool
	synced  int // batches that outlast a loss of power
	syncErr error
	syncing func()      // called when a sync begins; nil: nobody is
	gone    error       // what Present says
	poison  ledger.Link // that is refused for good
}

func newFake() *fake { return &fake{open: map[durward.CallID]bool{}} }

func (s *fake) set(m mood) { s.change(func() { s.mood = m }) }

// change calls what changes fields of the store, while a journal may be using it.
func (s *fake) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// block makes writing wait until the function that is returned is called. reached is
// closed when it does.
func (s *fake) block() (reached <-chan struct{}, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	s.blocked, s.reached = c, make(chan struct{})
	return s.reached, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.blocked = nil
		close(c)
	}
}

func (s *fake) all() []*ledger.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.batches)
}

// outlasting is how many batches outlast a loss of power.
func (s *fake) outlasting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// last is the link of the last batch.
func (s *fake) last() ledger.Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lastOf(s.batches)
}

func lastOf(batches []*ledger.Batch) ledger.Link {
	if len(batches) == 0 {
		return ledger.Link{}
	}
	return batches[len(batches)-1].Link
}

func (s *fake) Head(context.Context) (ledger.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mood == isSilent {
		return ledger.Link{}, errMood
	}
	return lastOf(s.batches), nil
}

func (s *fake) Write(ctx context.Context, b *ledger.Batch) error {
	return s.WriteAll(ctx, []*ledger.Batch{b})
}

func (s *fake) WriteAll(_ context.Context, batches []*ledger.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.blocked != nil {
		c := s.blocked
		close(s.reached) // one writes at a time, and waits but once
		s.mu.Unlock()
		<-c
		s.mu.Lock()
	}
	switch s.mood {
	case refuses:
		return errMood
	default:
	}
	before := lastOf(s.batches)
	for _, b := range batches {
		if !b.Link.Follows(&before) {
			return durward.Errorf(durward.Conflict, "ledger", "link %d does not follow link %d", b.Link.Seq, before.Seq)
		}
		if before = b.Link; before == s.poison {
			return durward.Errorf(durward.Conflict, "ledger", "already has one of the records")
		}
	}
	for _, b := range batches {
		for _, r := range b.Records {
			switch r := r.(type) {
			case *ledger.Intent:
				s.open[r.ID] = true
			case *ledger.Outcome:
				delete(s.open, r.Call)
			}
		}
	}
	s.batches = append(s.batches, batches...)
	if s.mood != works {
		return errMood
	}
	return nil
}

func (s *fake) Open(_ context.Context, limit int) ([]durward.CallID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []durward.CallID
	for id := range s.open {
		if len(all) < limit {
			all = append(all, id)
		}
	}
	return all, nil
}

func (s *fake) Unanswered(context.Context, int) ([]*ledger.Approval, error) { return nil, nil }

func (s *fake) Links(_ context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	for _, b := range s.all() {
		if b.Link.Seq >= from {
			if err := f(b.Link, b.Records); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *fake) Sync(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.syncing; f != nil {
		s.mu.Unlock()
		f()
		s.mu.Lock()
	}
	if s.syncErr == nil {
		s.synced = len(s.batches)
	}
	return s.syncErr
}

func (s *fake) Present() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

func (s *fake) Close() error { return nil }

// lose takes away what does not outlast a loss of power, as who removes the log of a
// database does.
func (s *fake) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches[s.synced:] {
		for _, r := range b.Records {
			switch r := r.(type) {
			case *ledger.Intent:
				delete(s.open, r.ID)
			case *ledger.Outcome:
				s.open[r.Call] = true
			}
		}
	}
	s.batches = s.batches[:s.synced]
}

// older is a copy of the store as it was n batches ago.
func (s *fake) older(n int) *fake {
	o := newFake()
	all := s.all()
	if err := o.WriteAll(context.Background(), all[:max(0, len(all)-n)]); err != nil {
		panic(err) // they follow each other
	}
	return o
}
