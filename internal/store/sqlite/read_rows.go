package sqlite

import (
	"fmt"
	"slices"
	"time"

	"durward"
	"durward/ledger"
)

// cells reads the columns of a row one after the other, and remembers whether each
// could be read. NULL is the empty value.
type cells struct {
	row []value
	bad bool
}

func (c *cells) next() value {
	v := c.row[0]
	c.row = c.row[1:]
	return v
}

func (c *cells) text() string {
	v := c.next()
	s, ok := v.(string)
	c.bad = c.bad || v != nil && !ok
	return s
}

func (c *cells) number() int64 {
	v := c.next()
	n, ok := v.(int64)
	c.bad = c.bad || v != nil && !ok
	return n
}

func (c *cells) id() string {
	s, ok := idText(c.next())
	c.bad = c.bad || !ok
	return s
}

func (c *cells) time() time.Time {
	t, ok := microTime(c.next())
	c.bad = c.bad || !ok
	return t
}

// bytes reads exactly so many into dst, or none.
func (c *cells) bytes(dst []byte) {
	v := c.next()
	b, ok := v.([]byte)
	if v == nil {
		return
	}
	c.bad = c.bad || !ok || copy(dst, b) != len(dst) || len(b) != len(dst)
}

// err says that something in the row cannot have been written by us.
func (c *cells) err(what string, seq int64) error {
	if !c.bad {
		return nil
	}
	return fmt.Errorf("%s %d cannot be read: %w", what, seq, errDamaged)
}

// callSQL reads a few calls with everything that lists show of them:
//
//	SEARCH i USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH c USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH t USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH v USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH o USING INDEX outcomes_call (call=?) LEFT-JOIN
const callSQL = `SELECT i.seq, i.id, i.at, i.bytes_in, i.parent, i.trace, i.span, i.request, i.body, i.preview,
	c.session, c.principal, c.entrance, c.process, c.client, c.client_version, c.route, c.era,
	t.server, t.method, t.tool, t.full_name, t.origin, t.transport, t.risk,
	v.action, v.rule, v.layer, v.reason,
	o.seq, o.at, o.dispatched, o.duration, o.status, o.attempts, o.bytes_out, o.error, o.body, o.preview
FROM intents i CROSS JOIN callers c ON c.id = i.caller CROSS JOIN targets t ON t.id = i.target CROSS JOIN verdicts v ON v.id = i.verdict
LEFT JOIN outcomes o ON o.call = i.seq
WHERE i.seq IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// callsAtOnce is how many calls one query reads: to begin it takes as long as to read
// one of them.
const callsAtOnce = 16

// calls reads the calls whose intents are the records seqs, by seq. Those that are not
// there are left out.
func (v *view) calls(seqs []int64) (map[int64]*ledger.Row, error) {
	rows := make(map[int64]*ledger.Row, len(seqs))
	for some := range slices.Chunk(seqs, callsAtOnce) {
		args := make([]value, callsAtOnce)
		for i := range args {
			args[i] = some[min(i, len(some)-1)]
		}
		err := v.each(callSQL, func(columns []value) error {
			seq, _ := columns[0].(int64)
			row, err := scanCall(columns[1:], seq)
			rows[seq] = row
			return err
		}, args...)
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func scanCall(columns []value, seq int64) (*ledger.Row, error) {
	c := cells{row: columns}
	r := &ledger.Row{}
	r.ID, r.At, r.BytesIn, r.Parent = durward.CallID(c.id()), c.time(), int(c.number()), durward.CallID(c.id())
	c.bytes(r.TraceID[:])
	c.bytes(r.SpanID[:])
	r.RequestID = c.text()
	c.bytes(r.Body[:])
	r.Preview = c.text()
	r.Session, r.Principal, r.Entrance, r.Process = durward.SessionID(c.id()), c.text(), durward.Entrance(c.text()), c.text()
	r.Client.Name, r.Client.Version, r.Route, r.Era = c.text(), c.text(), c.text(), c.text()
	r.Server, r.Method, r.Tool, r.FullName = c.text(), c.text(), c.text(), c.text()
	r.Origin, r.Transport, r.Risk = ledger.Origin(c.text()), durward.Transport(c.text()), durward.Risk(c.number())
	r.Action, r.Rule, r.Layer, r.Reason = durward.Action(c.number()), c.text(), c.text(), c.text()
	if c.next() != nil {
		r.Outcome = scanOutcome(&c, r.ID)
	}
	return r, c.err("call", seq)
}

func scanOutcome(c *cells, call durward.CallID) *ledger.Outcome {
	o := &ledger.Outcome{Call: call, At: c.time(), Dispatched: c.time()}
	o.Duration = time.Duration(c.number()) * time.Microsecond
	o.Status, o.Attempts, o.BytesOut, o.Error = durward.Status(c.text()), int(c.number()), int(c.number()), c.text()
	c.bytes(o.Body[:])
	o.Preview = c.text()
	return o
}
