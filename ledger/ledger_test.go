package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"durward"
	"durward/ledger"
)

// Calls that come while a transaction is under way share the next one.
func TestManyCallersShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{shut: make(chan struct{})}
		var committed []ledger.Link
		l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Committed: func(link ledger.Link, records []ledger.Record) {
			if link.Records != len(records) {
				t.Errorf("%d records instead of %d", len(records), link.Records)
			}
			committed = append(committed, link)
		}})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		call := func() {
			all.Go(func() {
				if err := l.Intent(t.Context(), aCall(), durward.Decision{}); err != nil {
					t.Error(err)
				}
			})
		}
		call()
		synctest.Wait()
		for range 99 {
			call()
		}
		synctest.Wait()
		if d.in.Load() != 1 || l.Head() != (ledger.Link{}) || l.Queued() != 99 {
			t.Errorf("%d writes, %d wait", d.in.Load(), l.Queued())
		}
		close(d.shut)
		all.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if d.in.Load() != 2 || len(committed) != 2 || committed[0].Records != 1 || committed[1].Records != 99 || l.Head() != committed[1] {
			t.Errorf("%d writes, of %v", d.in.Load(), committed)
		}
	})
}

// The queue is bounded: who finds it full waits for room, for so long and no longer.
func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queue, wait = 10, 3 * time.Second
		d := &door{shut: make(chan struct{})}
		l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Queue: queue, Wait: wait})
		if err != nil {
			t.Fatal(err)
		}
		first := aCall()
		results := make(chan error, 100)
		record := func(c *durward.Call) { go func() { results <- l.Intent(t.Context(), c, durward.Decision{}) }() }
		record(first)
		synctest.Wait()
		for range queue + 5 {
			record(aCall())
		}
		synctest.Wait()
		if l.Queued() != queue {
			t.Errorf("%d wait in a queue of %d", l.Queued(), queue)
		}
		for range 7 { // outcomes are taken whatever waits
			l.Outcome(t.Context(), aCall(), ended(aCall()))
		}
		if l.Later(&ledger.Note{What: "x"}) {
			t.Error("a note was taken into a full queue")
		}
		if l.Queued() != queue+7 {
			t.Errorf("%d wait after 7 outcomes", l.Queued())
		}
		begun := time.Now()
		for range queue + 6 {
			if err := <-results; durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.ledger_wait") || !strings.Contains(err.Error(), "limits.ledger_queue") {
				t.Errorf("who waited got: %v", err)
			}
		}
		if waited := time.Since(begun); waited < wait || waited > wait*9/8 {
			t.Errorf("they waited %s", waited)
		}
		record(aCall()) // there is room again, of those who left
		record(aCall())
		synctest.Wait()
		close(d.shut)
		for range 2 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Full makes outcomes wait for their commit, unless who waits leaves.
func TestFullOutcomesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, full := range []bool{false, true} {
			d := &door{}
			l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Full: full})
			if err != nil {
				t.Fatal(err)
			}
			a, b := aCall(), aCall()
			for _, c := range []*durward.Call{a, b} {
				if err := l.Intent(t.Context(), c, durward.Decision{}); err != nil {
					t.Fatal(err)
				}
			}
			shut := make(chan struct{})
			d.shut = shut
			returned := make(chan struct{})
			go func() { l.Outcome(t.Context(), a, ended(a)); close(returned) }()
			synctest.Wait()
			select {
			case <-returned:
				if full {
					t.Error("it did not wait for the commit")
				}
			default:
				if !full {
					t.Error("it waited for the commit")
				}
			}
			left, leave := context.WithCancel(t.Context())
			leave()
			l.Outcome(left, b, ended(b))
			close(shut)
			<-returned
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if n := len(of[*ledger.Outcome](d)); n != 2 {
				t.Errorf("%d outcomes", n)
			}
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &door{shut: make(chan struct{})}
		l := open(t, d)
		c := aCall()
		waiting := make(chan error, 1)
		go func() { waiting <- l.Intent(t.Context(), c, durward.Decision{}) }()
		synctest.Wait()
		l.Outcome(t.Context(), c, ended(c))
		closed := make(chan error, 2)
		go func() { closed <- l.Close() }()
		go func() { closed <- l.Close() }()
		synctest.Wait()
		if err := l.Intent(t.Context(), aCall(), durward.Decision{}); durward.KindOf(err) != durward.Unavailable {
			t.Errorf("while it closes: %v", err)
		}
		close(d.shut)
		if err := errors.Join(<-closed, <-closed, <-waiting); err != nil {
			t.Error(err)
		}
		if i, o := len(of[*ledger.Intent](d)), len(of[*ledger.Outcome](d)); i != 1 || o != 1 {
			t.Errorf("%d intents, %d outcomes", i, o)
		}
		l.Outcome(t.Context(), aCall(), ended(aCall())) // nobody writes it, and it waits for nobody
		if err := l.Append(t.Context(), &ledger.Note{}); durward.KindOf(err) != durward.Unavailable {
			t.Errorf("after it was closed: %v", err)
		}
		if l.Later(&ledger.Note{}) {
			t.Error("a note was taken after it was closed")
		}
	})
}

// What a killed process left open is closed at the start, before anything else.
func TestOpenRecovers(t *testing.T) {
	s := &shelf{}
	var head ledger.Link
	write := func(records ...ledger.Record) {
		head = head.Next(time.Now(), records)
		if err := s.Write(t.Context(), &ledger.Batch{Records: records, Link: head}); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := durward.NewCallID(), durward.NewCallID(), durward.NewCallID()
	write(&ledger.Intent{ID: a}, &ledger.Intent{ID: b})
	write(&ledger.Intent{ID: c}, &ledger.Outcome{Call: b, Status: durward.StatusOK})
	var said []ledger.Link
	l, err := ledger.Open(t.Context(), ledger.Options{Store: s, Committed: func(link ledger.Link, _ []ledger.Record) { said = append(said, link) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || said[0].Seq != 3 || l.Head() != said[0] || !said[0].Follows(&head) {
		t.Errorf("committed %v", said)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	var closed []durward.CallID
	for _, r := range s.rows {
		if o, ok := r.record.(*ledger.Outcome); ok && o.Status == durward.StatusUnknown {
			if r.link != 3 || o.Error == "" || o.Attempts != 0 {
				t.Errorf("%+v", o)
			}
			closed = append(closed, o.Call)
		}
	}
	if fmt.Sprint(closed) != fmt.Sprint([]durward.CallID{a, c}) {
		t.Errorf("closed %v, want %v", closed, []durward.CallID{a, c})
	}
	if n, ok := s.rows[len(s.rows)-1].record.(*ledger.Note); !ok || n.What != "recovered" || !strings.Contains(n.Detail, "2 calls") {
		t.Errorf("the note: %+v", n)
	}
}

// What a store is given is valid, bounded and without secrets, whatever callers say.
func TestStoresGetValidText(t *testing.T) {
	const secret = "hunter2-hunter2"
	ill := []string{"", "ok", "\xff\xfe", "a\x00b", strings.Repeat("ü", 5000), strings.Repeat("\xff", 5000), "a" + strings.Repeat("\x00", 3000), strings.Repeat("x", 1023) + "ü"}
	d := &door{}
	l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Bodies: true, Wait: time.Minute, Redact: func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(secret), []byte("«secret»"))
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range ill {
		c := aCall()
		c.Caller = durward.Caller{Principal: text, Process: text, Client: durward.ClientInfo{Name: text, Version: text}}
		c.Method, c.Name, c.FullName, c.Server, c.RequestID, c.Params = text, text, text, text, []byte(text), []byte(text+secret)
		c.Received = time.Now().In(time.FixedZone("there", 3600))
		if err := l.Intent(t.Context(), c, durward.Decision{Rule: text, Layer: text, Reason: text}); err != nil {
			t.Fatal(err)
		}
		l.Outcome(t.Context(), c, durward.Outcome{Status: durward.Status(text), Error: []byte(text + secret), Finished: time.Now()})
		for _, r := range []ledger.Record{
			&ledger.SessionStart{ID: durward.SessionID(text), At: time.Now(), Principal: text, Policy: text},
			&ledger.SessionEnd{ID: durward.SessionID(text), Reason: text}, &ledger.Decision{Stage: text, Detail: text}, &ledger.Approval{ID: text, Reason: text},
			&ledger.Change{Who: text, Detail: text}, &ledger.Flow{Host: text, Path: text}, &ledger.Event{What: text, Detail: text}, &ledger.Note{What: text, Detail: text},
		} {
			before := fmt.Sprintf("%+v", r)
			if err := l.Append(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%+v", r) != before {
				t.Error("the caller's record was changed")
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(d.rows) != 10*len(ill) {
		t.Errorf("%d records", len(d.rows))
	}
	for _, r := range d.rows {
		all := fmt.Sprintf("%+v", r.record)
		if !utf8.ValidString(all) || strings.Contains(all, "\x00") || strings.Contains(all, secret) {
			t.Errorf("%q", all)
		}
		switch r := r.record.(type) {
		case *ledger.Intent:
			for _, s := range []string{r.Principal, r.Process, r.Client.Name, r.Method, r.Tool, r.FullName, r.Server, r.RequestID, r.Rule, r.Reason, r.Preview} {
				if len(s) > ledger.PreviewMost {
					t.Errorf("%d bytes", len(s))
				}
			}
			if r.At.Location() != time.UTC || r.At.Nanosecond()%1000 != 0 {
				t.Errorf("time %v", r.At)
			}
		case *ledger.Outcome:
			if len(r.Error) > ledger.PreviewMost {
				t.Errorf("%d bytes", len(r.Error))
			}
		}
	}
	for _, b := range d.bodies {
		if bytes.Contains(b.Data, []byte(secret)) {
			t.Error("a body has the secret")
		}
	}
}

// A body that is the same again is not compressed and stored again, and one that was
// not stored is not taken for it.
func TestBodiesAreStoredOnce(t *testing.T) {
	d := &door{}
	l, err := ledger.Open(t.Context(), ledger.Options{Store: d, Bodies: true, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	params := []byte(`{"text":"` + strings.Repeat("long ", 1000) + `"}`)
	call := func() error {
		c := aCall()
		c.Params = params
		err := l.Intent(t.Context(), c, durward.Decision{})
		if err == nil {
			o := ended(c)
			o.Result = params
			l.Outcome(t.Context(), c, o)
		}
		return err
	}
	d.setFail(errFull)
	if err := call(); err == nil {
		t.Fatal("recorded")
	}
	d.setFail(nil)
	for call() != nil { // until it has noticed
		time.Sleep(10 * time.Millisecond)
	}
	for range 50 {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	intents, outcomes := of[*ledger.Intent](d), of[*ledger.Outcome](d)
	if len(d.bodies) != 1 || len(intents) != 51 || len(outcomes) != 51 {
		t.Fatalf("%d bodies, %d intents, %d outcomes", len(d.bodies), len(intents), len(outcomes))
	}
	for n := range intents {
		if intents[n].Body != d.bodies[0].Digest || outcomes[n].Body != d.bodies[0].Digest || len(intents[n].Preview) != ledger.PreviewMost {
			t.Errorf("%+v", intents[n])
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := ledger.Open(t.Context(), ledger.Options{}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}
