package rig

import (
	"fmt"
	"time"

	"durward"
)

// Evidence is all that is known of a run.
type Evidence struct {
	Calls   []Call
	Seen    map[string]int // what reached a server
	Records *Records
	Kills   []time.Time
	// Full says that the service promises to answer only when the outcome is written
	// (ledger.sync: full). Otherwise an outcome may be lost with a kill that comes
	// right behind the answer, and becomes unknown.
	Full bool
}

// Verdict is what the evidence comes to.
type Verdict struct {
	Missing  int // calls that reached a server and have no row
	Answered int // calls with a good answer
	Cut      int // of these, those whose outcome went with a kill right behind the answer
	Problems []string
	more     int
}

// Behind is how long before a kill an answer may have come whose outcome is not
// written. The ledger writes at once; this is how long that may take on a busy machine.
const Behind = 20 * time.Second

func (v *Verdict) problem(format string, args ...any) {
	if len(v.Problems) >= 30 {
		v.more++
		return
	}
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// Judge holds what reached servers, and what clients were told, against the rows.
func Judge(e *Evidence) *Verdict {
	v := &Verdict{}
	for _, p := range e.Records.Problems {
		v.problem("%s", p)
	}
	for _, open := range e.Records.Open {
		v.problem("no outcome was ever written of %s", open)
	}
	for id := range e.Seen {
		if e.Records.Rows[id] == nil {
			v.Missing++
			v.problem("%s reached a server and has no row", id)
		}
	}
	for id, row := range e.Records.Rows {
		v.row(e, id, row)
	}
	for i := range e.Calls {
		v.call(e, &e.Calls[i])
	}
	if v.more > 0 {
		v.Problems = append(v.Problems, fmt.Sprintf("and %d more", v.more))
	}
	return v
}

// row judges a row by itself and by what reached servers.
func (v *Verdict) row(e *Evidence, id string, row *Row) {
	for _, o := range row.Outcomes {
		if row.Recovered {
			continue
		}
		if e.Seen[id] > 0 && o.Attempts == 0 {
			v.problem("%s reached a server, and its row says that it never was sent (%s)", id, o.Status)
		}
		if e.Seen[id] > 0 && o.Status == durward.StatusRefused {
			v.problem("%s reached a server, and its row says that it was refused", id)
		}
		if !o.Dispatched.IsZero() && o.Dispatched.Before(row.At) {
			v.problem("%s was sent at %s, before it came at %s", id, o.Dispatched, row.At)
		}
	}
}

// call judges what a client was told.
func (v *Verdict) call(e *Evidence, c *Call) {
	row, seen := e.Records.Rows[c.ID], e.Seen[c.ID]
	switch {
	case c.Answer.Broke != nil:
		if c.Ended.Sub(c.Begun) >= answerWithin {
			v.problem("%s got no answer within %s", c.ID, answerWithin)
		}
	case c.Answer.Result == nil && c.Answer.Code == codeUnavailable:
		if seen > 0 {
			v.problem("%s was refused (%s) and reached a server", c.ID, c.Answer.Text)
		}
	case row == nil:
		v.problem("%s was answered (%s) and has no row", c.ID, &c.Answer)
	case c.Answer.OK():
		v.answered(e, c, row)
	}
}

// codeUnavailable is the code of errors that say that nothing was executed.
const codeUnavailable = 50301

// answered judges the row of a call that went well.
func (v *Verdict) answered(e *Evidence, c *Call, row *Row) {
	v.Answered++
	switch {
	case len(row.Outcomes) == 0: // a problem already
	case row.Outcomes[0].Status == durward.StatusOK:
	case row.Recovered && !e.Full && rightBefore(c.Ended, e.Kills):
		v.Cut++
	default:
		v.problem("%s was answered well, and its row says %s (recovered: %t)", c.ID, row.Outcomes[0].Status, row.Recovered)
	}
}

func rightBefore(at time.Time, kills []time.Time) bool {
	for _, k := range kills {
		// The client may read the answer a moment after the kill.
		if d := k.Sub(at); d < Behind && d > -Behind {
			return true
		}
	}
	return false
}
