package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// Row is one call in the ledger.
type Row struct {
	ledger.Intent
	Outcomes  []ledger.Outcome
	Recovered bool // the outcome was written for it at a start
}

// Records are the calls in a ledger, and what is wrong with them by themselves.
type Records struct {
	Rows      map[string]*Row // by the id that the load gave the call
	Links     int
	Starts    int      // notes of the service that it started
	Recovered int      // outcomes that were written at a start
	Open      []string // what has no outcome
	Broken    int      // links that do not follow from the one before and their records
	Problems  []string
}

// ReadRecords reads the ledger in a file, record by record, as they were written.
// Its service need not run.
func ReadRecords(ctx context.Context, path string) (_ *Records, err error) {
	db, err := sqlite.OpenReader(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := &reading{Records: Records{Rows: map[string]*Row{}}, byCall: map[string]*Row{}}
	err = db.Links(ctx, 0, r.link)
	for call, row := range r.byCall {
		if len(row.Outcomes) == 0 {
			r.Open = append(r.Open, call+" "+row.RequestID)
		}
	}
	if r.Recovered != r.noted {
		r.problem("%d calls were recovered, and notes say %d", r.Recovered, r.noted)
	}
	return &r.Records, err
}

// reading reads records.
type reading struct {
	Records
	byCall map[string]*Row // by the ledger's own id
	noted  int             // calls that notes say were recovered
	last   ledger.Link
}

func (r *reading) problem(format string, args ...any) {
	if len(r.Problems) < 20 {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

func (r *reading) link(l ledger.Link, records []ledger.Record) error {
	r.Links++
	if next := r.last.Next(l.At, records); next != l || !l.Follows(&r.last) {
		r.Broken++
		r.problem("link %d does not follow from link %d and its %d records", l.Seq, r.last.Seq, len(records))
	}
	r.last = l
	recovery := false
	for _, record := range records {
		if n, ok := record.(*ledger.Note); ok {
			recovery = recovery || r.note(n)
		}
	}
	for _, record := range records {
		switch record := record.(type) {
		case *ledger.Intent:
			r.intent(record)
		case *ledger.Outcome:
			r.outcome(record, recovery)
		}
	}
	return nil
}

// note reports whether the link is one of a recovery.
func (r *reading) note(n *ledger.Note) bool {
	switch n.What {
	case "service start":
		r.Starts++
	case "recovered":
		var calls int
		_, err := fmt.Sscan(n.Detail, &calls)
		if err != nil {
			r.problem("a note of a recovery does not say of how many calls: %s", n.Detail)
		}
		r.noted += calls
		return true
	}
	return false
}

func (r *reading) intent(i *ledger.Intent) {
	var id string
	if err := json.Unmarshal([]byte(i.RequestID), &id); err != nil {
		r.problem("call %s has the request id %s", i.ID, i.RequestID)
	}
	row := &Row{Intent: *i}
	if r.byCall[string(i.ID)] != nil {
		r.problem("there are two rows of call %s", i.ID)
	}
	r.byCall[string(i.ID)] = row
	if id == "hello" || id == "" {
		return // sessions are opened under the same id, and notifications have none
	}
	if r.Rows[id] != nil {
		r.problem("there are two rows of what was sent once: %s", id)
	}
	r.Rows[id] = row
}

func (r *reading) outcome(o *ledger.Outcome, recovery bool) {
	row := r.byCall[string(o.Call)]
	if row == nil {
		r.problem("there is an outcome of call %s, which has no row", o.Call)
		return
	}
	if row.Outcomes = append(row.Outcomes, *o); len(row.Outcomes) > 1 {
		r.problem("call %s has %d outcomes: %s", o.Call, len(row.Outcomes), row.RequestID)
	}
	if row.Recovered = recovery; !recovery {
		return
	}
	r.Recovered++
	if o.Status != durward.StatusUnknown || o.Error == "" {
		r.problem("call %s was recovered as %q, for the reason %q", o.Call, o.Status, o.Error)
	}
}
