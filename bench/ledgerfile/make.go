package ledgerfile

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// Make writes a ledger to a new file, through the store that the service uses.
func Make(ctx context.Context, path string, s Shape) (err error) {
	s.check()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() {
		if closing := db.Close(); err == nil {
			err = closing
		}
	}()
	head, err := db.Head(ctx)
	if err != nil {
		return err
	}
	if head != (ledger.Link{}) {
		return durward.Errorf(durward.Conflict, "ledger", "%s holds a ledger already; choose a new file", path)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan *ledger.Batch, 4)
	go func() { // ends with its batches, or when ctx does
		defer close(batches)
		newMaker(s).run(ctx, batches)
	}()
	for b := range batches {
		b.Link = head.Next(b.Link.At, b.Records)
		if err := db.Write(ctx, b); err != nil {
			return err
		}
		head = b.Link
		s.Done(countCalls(b.Records))
	}
	return ctx.Err()
}

// Reindex makes the segments of a ledger anew.
func Reindex(ctx context.Context, path string) (err error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() {
		if closing := db.Close(); err == nil {
			err = closing
		}
	}()
	return db.Reindex(ctx, func(int64, int64) {})
}

func countCalls(records []ledger.Record) int {
	n := 0
	for _, r := range records {
		if r.Kind() == ledger.KindIntent {
			n++
		}
	}
	return n
}

// maker makes the records of a ledger in the order in which a service would commit them.
type maker struct {
	Shape
	dice     *rand.Rand
	now      time.Time
	step     time.Duration
	sessions []ledger.SessionStart // that are open
	batch    *ledger.Batch
	waiting  []ledger.Record // outcomes, for the next batch
	bodies   []ledger.Body
	texts    []string
}

func newMaker(s Shape) *maker {
	m := &maker{Shape: s, dice: rand.New(rand.NewPCG(1, uint64(s.Rows))), batch: &ledger.Batch{}}
	m.step = time.Duration(s.Days) * 24 * time.Hour / time.Duration(max(1, s.Rows))
	m.now = s.Until.Add(-m.step * time.Duration(s.Rows))
	for range 256 {
		m.texts = append(m.texts, m.text(100+m.dice.IntN(400)))
	}
	for range 64 {
		text := []byte(m.text(3000))
		m.bodies = append(m.bodies, ledger.Body{Digest: sha256.Sum256(text), Original: len(text), Data: text})
	}
	return m
}

// text makes JSON that looks like arguments or results.
func (m *maker) text(size int) string {
	var b strings.Builder
	b.WriteString(`{"content":[`)
	for b.Len() < size {
		fmt.Fprintf(&b, `{"type":"text","text":"%x"},`, m.dice.Uint64())
	}
	b.WriteString(`{}]}`)
	return b.String()
}

func (m *maker) run(ctx context.Context, to chan<- *ledger.Batch) {
	day := max(1, m.Rows/m.Days)
	m.add(&ledger.Note{At: m.now, What: "began", Detail: "made by bench/ledger"})
	for n := range m.Rows {
		m.now = m.now.Add(m.step)
		if n%day == day/2 {
			m.add(&ledger.Change{At: m.now, Who: "operator", What: "config reload", Target: "durward.yaml", NewHash: fmt.Sprintf("%064x", n)})
		}
		m.call(n, day)
		if len(m.batch.Records) >= m.Batch && !m.send(ctx, to) {
			return
		}
	}
	if m.send(ctx, to) {
		m.send(ctx, to) // the last outcomes
	}
}

func (m *maker) add(r ledger.Record) { m.batch.Records = append(m.batch.Records, r) }

// send gives a batch away; the outcomes of its calls are the beginning of the next one.
func (m *maker) send(ctx context.Context, to chan<- *ledger.Batch) bool {
	if len(m.batch.Records) == 0 {
		return true
	}
	m.batch.Link.At = m.now
	select {
	case to <- m.batch:
	case <-ctx.Done():
		return false
	}
	m.batch = &ledger.Batch{Records: m.waiting}
	m.waiting = nil
	return true
}

// call adds one call and what belongs to it.
func (m *maker) call(n, day int) {
	i := m.intent(n, day)
	m.add(i)
	if i.Rule != "" {
		m.add(&ledger.Decision{Call: i.ID, At: i.At, Stage: "request", Layer: i.Layer, Rule: i.Rule, Action: i.Action.String(), Effective: i.Action.String()})
	}
	if i.Action == durward.Ask {
		ask := fmt.Sprintf("ask-%d", n)
		m.add(&ledger.Approval{ID: ask, Call: i.ID, At: i.At, Status: "pending"})
		m.add(&ledger.Approval{ID: ask, Call: i.ID, At: i.At.Add(time.Second), Status: "approved", By: "operator", Scope: "call"})
	}
	if n%100 == 7 && i.Server != "" {
		m.add(&ledger.Flow{Call: i.ID, At: i.At, Server: i.Server, Method: "POST", Host: "api.example.com", IP: "192.0.2.7", Port: 443, Path: "/v1", Status: 200, Decision: "allow"})
	}
	if n >= m.Rows-5 {
		return // still under way
	}
	o := m.outcome(i)
	if n%500 == 3 {
		body := m.bodies[m.dice.IntN(len(m.bodies))]
		o.Body = body.Digest
		m.batch.Bodies = append(m.batch.Bodies, body) // stored before the batch that names it
	}
	m.waiting = append(m.waiting, o)
}

func (m *maker) intent(n, day int) *ledger.Intent {
	method := pick(methods(), m.dice.IntN(10_000), "tools/call")
	s := m.session(n)
	i := &ledger.Intent{
		ID: m.id(), At: m.now, Session: s.ID, Principal: s.Principal, Entrance: s.Entrance, Process: s.Process, Client: s.Client, Route: s.Route, Era: s.Era,
		Origin: originOf(method), Method: method, RequestID: fmt.Sprint(n % 1000), Preview: m.texts[m.dice.IntN(len(m.texts))],
	}
	i.BytesIn = len(i.Preview)
	if m.dice.IntN(2) == 0 {
		i.TraceID, i.SpanID = m.bytes16(), [8]byte{1, byte(n)}
	}
	if i.Origin == ledger.OriginMCP {
		m.target(i, n)
	}
	m.verdict(i, n, day)
	if n%day == day/3 {
		i.Principal, i.Method, i.Server, i.Tool, i.FullName, i.Origin = RarePrincipal, "tools/list", "", "", "", ledger.OriginLocal
	}
	return i
}

// target chooses what is called: few tools often, most of them seldom.
func (m *maker) target(i *ledger.Intent, n int) {
	server, tool := m.few(Servers), m.few(Tools)
	if i.Principal == "p11" && server == 0 {
		server = 1
	}
	i.Server, i.Tool, i.Transport, i.Risk = fmt.Sprintf("server%d", server), fmt.Sprintf("tool%d", tool), durward.TransportStdio, durward.RiskMedium
	if tenth := max(1, m.Rows/10); n%tenth == tenth/2 && i.Method == "tools/call" {
		i.Server, i.Tool = "server3", RareTool
	}
	i.FullName = i.Server + "__" + i.Tool
}

// few returns a number below n, the small ones much more often.
func (m *maker) few(n int) int { return min(n-1, int(m.dice.ExpFloat64()*float64(n)/4)) }

func (m *maker) verdict(i *ledger.Intent, n, day int) {
	i.Layer = "user"
	switch k := m.dice.IntN(1000); {
	case k < 5:
		i.Action, i.Rule, i.Reason = durward.Block, fmt.Sprintf("rule%d", m.dice.IntN(Rules)), "not for agents"
	case k < 15:
		i.Action, i.Rule = durward.Ask, fmt.Sprintf("rule%d", m.dice.IntN(Rules))
	case k < 60:
		i.Rule = fmt.Sprintf("rule%d", m.few(Rules))
	}
	if n%day == day/4 {
		i.Rule = RareRule
	}
}

func (m *maker) outcome(i *ledger.Intent) *ledger.Outcome {
	o := &ledger.Outcome{Call: i.ID, Attempts: 1, Status: pick(statuses(), m.dice.IntN(10_000), durward.StatusOK), Dispatched: i.At.Add(50 * time.Microsecond)}
	o.Duration = time.Duration(30_000*math.Exp(m.dice.NormFloat64())) * time.Microsecond
	switch {
	case i.Action == durward.Block:
		o.Status, o.Attempts, o.Dispatched, o.Duration = durward.StatusRefused, 0, time.Time{}, 40*time.Microsecond
	case o.Status == durward.StatusTimeout:
		o.Duration = time.Minute
	case i.Origin == ledger.OriginLocal:
		o.Status, o.Attempts, o.Dispatched, o.Duration = durward.StatusOK, 0, time.Time{}, 90*time.Microsecond
	}
	o.At = i.At.Add(o.Duration)
	if o.Status == durward.StatusOK {
		o.Preview = m.texts[m.dice.IntN(len(m.texts))]
		o.BytesOut = len(o.Preview)
	} else {
		o.Error = "something went wrong"
	}
	return o
}

// session returns whose call it is: of one of some sessions that are open, or of none.
func (m *maker) session(n int) ledger.SessionStart {
	if m.dice.IntN(10) < 4 {
		return ledger.SessionStart{
			Principal: fmt.Sprintf("p%d", m.few(Principals)), Entrance: durward.EntranceHTTP, Client: durward.ClientInfo{Name: "agent", Version: "2.1"},
			Route: "/mcp", Era: "modern",
		}
	}
	if len(m.sessions) < 20 || m.dice.IntN(200) == 0 {
		m.begin(n)
	}
	return m.sessions[m.dice.IntN(len(m.sessions))]
}

// begin opens a session; the oldest ends when there are many.
func (m *maker) begin(n int) {
	s := ledger.SessionStart{
		ID: durward.SessionID(m.id()), At: m.now, Principal: fmt.Sprintf("p%d", m.few(Principals)), Entrance: durward.EntranceStdio,
		Process: fmt.Sprintf("pid %d", 1000+n%30_000), Client: durward.ClientInfo{Name: "desktop", Version: "1.0"}, Route: "/mcp", Era: "legacy",
	}
	if m.dice.IntN(3) == 0 {
		s.Sandbox = fmt.Sprintf("box%d", n%50)
	}
	m.add(&s)
	m.sessions = append(m.sessions, s)
	if len(m.sessions) > 40 {
		m.add(&ledger.SessionEnd{ID: m.sessions[0].ID, At: m.now, Reason: "left"})
		m.sessions = m.sessions[1:]
	}
}

func (m *maker) bytes16() (b [16]byte) {
	for i := range b {
		b[i] = byte(m.dice.Uint32())
	}
	return b
}

// id is a UUIDv7 of the time of the record.
func (m *maker) id() durward.CallID {
	b := m.bytes16()
	ms := m.now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[8] = 0x70|b[6]&0x0f, 0x80|b[8]&0x3f
	return durward.CallID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
