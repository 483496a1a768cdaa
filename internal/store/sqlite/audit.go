package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"durward"
	"durward/ledger"
)

// chunkRecords is about how many records are read from one snapshot, and held in memory.
// While a snapshot is held, the write-ahead log can only grow: so none is while somebody
// does something with records, who may wait for a person.
const chunkRecords = 4000

// Links calls f for each link from seq on, as [ledger.Auditor] says. It holds a few
// thousand records in memory, or one link if that has more, and does not hold up who
// writes, however long f takes. A page that cannot be read ends it, with an error of kind
// Unavailable that says where.
func (d *DB) Links(ctx context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	c, err := connect(d.opt.Path, readOnly(d.opt.Busy))
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = c.close() }() // it only read
	return links(ctx, c, d.opt.Path, from, f)
}

// links is Links on a connection of its own.
func links(ctx context.Context, c *conn, path string, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	a := &audit{c: c, sources: sources(), callers: map[int64]callerKey{}, targets: map[int64]targetKey{}, verdicts: map[int64]verdictKey{}}
	err := a.start(from)
	for more := true; more && err == nil; {
		more, err = a.chunk(ctx, f)
	}
	var whose *callerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &whose):
		return whose.error
	default:
		return explain(path, err)
	}
}

// callerError is an error of a function that was given to us, to be returned as it is.
type callerError struct{ error }

// audit reads through all tables at once.
type audit struct {
	c       *conn
	sources []source
	link    uint64 // the last that was given
	done    int64  // seq of the last record that was

	callers  map[int64]callerKey
	targets  map[int64]targetKey
	verdicts map[int64]verdictKey
	failed   error // what kept a name from being read
}

// extent is a link, and where its records begin.
type extent struct {
	ledger.Link
	first int64
}

func (p *extent) last() int64 { return p.first + int64(p.Records) - 1 }

// chunk reads some links from one snapshot, and gives them to f.
func (a *audit) chunk(ctx context.Context, f func(ledger.Link, []ledger.Record) error) (more bool, err error) {
	some, more, err := a.read()
	for i := range some { // also what was read before an error
		if err := give(ctx, some[i].Link, some[i].records, f); err != nil {
			return false, err
		}
	}
	return more, err
}

// read reads some links from one snapshot, to go on behind them. more is false at the end.
func (a *audit) read() (some []whole, more bool, err error) {
	if _, err := a.c.exec("BEGIN"); err != nil {
		return nil, false, err
	}
	defer func() {
		if _, ending := a.c.exec("COMMIT"); err == nil {
			err = ending
		}
	}()
	extents, err := a.extents()
	if err != nil {
		return nil, false, err
	}
	end := int64(math.MaxInt64) // behind the last link there should be nothing
	if len(extents) > 0 {
		end = max(extents[len(extents)-1].last(), a.done)
	}
	m, err := a.merge(a.done+1, end)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	for i := range extents {
		if full, err := m.link(&extents[i]); err != nil || full {
			return m.some, full, err
		}
	}
	if len(extents) > 0 {
		return m.some, true, nil
	}
	full, err := m.strays(math.MaxInt64)
	return m.some, full, err
}

// whole is a link with its records.
type whole struct {
	ledger.Link
	records []ledger.Record
}

// link takes a link, and first what lies before it and belongs to none. full says that
// enough is held; the link may still have to be taken.
func (m *merge) link(p *extent) (full bool, err error) {
	if full, err := m.strays(p.first); err != nil || full {
		return full, err
	}
	records, err := m.records(p)
	if err != nil {
		return false, fmt.Errorf("link %d: %w", p.Seq, err)
	}
	m.a.done, m.a.link = max(m.a.done, p.last()), p.Seq
	return m.hold(p.Link, records), nil
}

// hold holds records until the snapshot is given up, and says whether that is enough.
func (m *merge) hold(l ledger.Link, records []ledger.Record) (full bool) {
	m.some = append(m.some, whole{l, records})
	m.held += max(len(records), 1)
	return m.held >= chunkRecords
}

// strays takes the rows before a seq, as those of a link that is not there.
func (m *merge) strays(before int64) (full bool, err error) {
	var records []ledger.Record
	for at := m.next().seq; at < before && (len(records) < chunkRecords || at == m.a.done); at = m.next().seq {
		r, err := m.take()
		if err != nil {
			return false, err
		}
		records, m.a.done = append(records, r), at // others may have the same seq
	}
	if len(records) == 0 {
		return false, nil
	}
	return m.hold(ledger.Link{Seq: m.a.link + 1}, records), nil
}

// records returns what is there of a link. Where a record is missing, and for each
// that is there twice, is a *ledger.Damaged.
func (m *merge) records(p *extent) (all []ledger.Record, err error) {
	want := p.first
	gap := func(upTo int64) {
		if want < upTo {
			all = append(all, &ledger.Damaged{Reason: fmt.Sprintf("records %d to %d are missing", want, upTo-1)})
		}
	}
	for m.next().seq <= p.last() {
		seq, table := m.next().seq, m.next().table
		r, err := m.take()
		if err != nil {
			return nil, err
		}
		if seq < want {
			r = &ledger.Damaged{Of: r.Kind(), Reason: fmt.Sprintf("record %d is there twice, once in table %s", seq, table)}
		} else {
			gap(seq)
			want = seq + 1
		}
		all = append(all, r)
	}
	gap(p.last() + 1)
	return all, nil
}

func give(ctx context.Context, l ledger.Link, records []ledger.Record, f func(ledger.Link, []ledger.Record) error) error {
	err := ctx.Err()
	if err == nil {
		err = f(l, records)
	}
	if err != nil {
		return &callerError{err}
	}
	return nil
}

// start finds out where the records of a link begin. What lies between it and the
// link before it belongs to none, and is not passed over.
func (a *audit) start(from uint64) error {
	from = min(max(from, 1), math.MaxInt64)
	a.link = from - 1
	last, ok, err := a.c.number("SELECT first + records - 1 FROM chain WHERE seq < ? ORDER BY seq DESC LIMIT 1", int64(from))
	if a.done = last; !ok {
		a.done = math.MinInt64
	}
	return err
}

// extents reads where the next links are.
func (a *audit) extents() (all []extent, err error) {
	records := 0
	enough := errors.New("enough")
	err = a.c.each("SELECT seq, at, records, digest, hash, first FROM chain WHERE seq > ? ORDER BY seq", func(row []value) error {
		l, first, err := scanLink(row)
		if err != nil {
			return err
		}
		if n := len(all); n > 0 && l.Seq <= all[n-1].Seq {
			return fmt.Errorf("link %d comes after %d: %w", l.Seq, all[n-1].Seq, errDamaged)
		}
		all = append(all, extent{l, first})
		if records += min(max(l.Records, 1), chunkRecords); records >= chunkRecords {
			return enough
		}
		return nil
	}, int64(a.link))
	if errors.Is(err, enough) {
		err = nil
	}
	return all, err
}

// merge is the records of all tables in their order.
type merge struct {
	a     *audit
	heads []head
	some  []whole // that were taken
	held  int     // records, about, of some
}

// head is the next row of a table.
type head struct {
	*cursor
	*source
	seq int64
}

func (a *audit) merge(first, last int64) (*merge, error) {
	m := &merge{a: a}
	for i := range a.sources {
		c, err := a.c.query(a.sources[i].query, first, last)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.heads = append(m.heads, head{cursor: c, source: &a.sources[i], seq: math.MinInt64})
		if err := m.heads[i].advance(); err != nil {
			return nil, errors.Join(err, m.close())
		}
	}
	return m, nil
}

func (h *head) advance() error {
	more, err := h.cursor.next()
	if err != nil {
		return fmt.Errorf("table %s: %w", h.table, err)
	}
	before := h.seq
	if h.seq = math.MaxInt64; more { // which no row has
		h.seq, _ = h.row[0].(int64)
	}
	if h.seq <= before && more { // its pages point to each other in circles
		return fmt.Errorf("table %s: record %d comes after %d: %w", h.table, h.seq, before, errDamaged)
	}
	return nil
}

// next returns the table that has the next row.
func (m *merge) next() *head {
	first := &m.heads[0]
	for i := range m.heads {
		if m.heads[i].seq < first.seq {
			first = &m.heads[i]
		}
	}
	return first
}

// take returns the next record.
func (m *merge) take() (ledger.Record, error) {
	h := m.next()
	r := h.read(h.row, m.a)
	if m.a.failed != nil {
		return nil, m.a.failed
	}
	return r, h.advance()
}

func (m *merge) close() (err error) {
	for _, h := range m.heads {
		err = errors.Join(err, h.cursor.close())
	}
	m.heads = nil
	return err
}

// Bodies calls f for each body. The content is valid until f returns; an error of its
// Read says that the body cannot be unpacked.
func (d *DB) Bodies(ctx context.Context, f func(ledger.BodyInfo, io.Reader) error) error {
	c, err := connect(d.opt.Path, readOnly(d.opt.Busy))
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = c.close() }() // it only read
	return eachBody(ctx, c, d.opt.Path, f)
}

// eachBody is Bodies on a connection of its own.
func eachBody(ctx context.Context, c *conn, path string, f func(ledger.BodyInfo, io.Reader) error) error {
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20))
	if err != nil {
		return err
	}
	defer unzip.Close()
	for b, more := (storedBody{id: math.MinInt64}), true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		after := b.id
		if b, more, err = nextBody(c, after); err == nil && more && b.id <= after {
			err = fmt.Errorf("body %d comes after %d: %w", b.id, after, errDamaged)
		}
		if err != nil {
			return explain(path, err)
		}
		if more {
			if err := f(b.info, b.content(unzip)); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedBody is a row of bodies with its data.
type storedBody struct {
	id   int64
	info ledger.BodyInfo
	data []byte
	bad  error // why it cannot have been written by us
}

// nextBody reads the body after one.
func nextBody(c *conn, after int64) (b storedBody, ok bool, err error) {
	err = c.each("SELECT b.id, b.digest, b.encoding, b.original, b.stored, b.truncated, d.data FROM bodies b LEFT JOIN body_data d ON d.id = b.id WHERE b.id > ? ORDER BY b.id LIMIT 1",
		func(row []value) error {
			f := &fields{row: row}
			b.id, ok = f.number(), true
			f.bytes(b.info.Digest[:])
			b.info.Encoding, b.info.Original, b.info.Stored, b.info.Truncated = f.text(), int(f.number()), int(f.number()), f.small(1) == 1
			var isBytes bool
			b.data, isBytes = f.take().([]byte)
			f.check(isBytes && len(b.data) == b.info.Stored)
			if f.bad > 0 {
				b.bad = fmt.Errorf("body %d: column %d holds what was never written there: %w", b.id, f.bad, errDamaged)
			}
			return nil
		}, after)
	return b, ok, err
}

// content unpacks a body.
func (b *storedBody) content(unzip *zstd.Decoder) io.Reader {
	if b.bad != nil {
		return failingReader{b.bad}
	}
	return content(unzip, b.info.Encoding, b.data)
}

// content unpacks a body.
func content(unzip *zstd.Decoder, encoding string, data []byte) io.Reader {
	switch encoding {
	case "":
		return bytes.NewReader(data)
	case "zstd":
		if err := unzip.Reset(bytes.NewReader(data)); err != nil {
			return failingReader{err}
		}
		return unzip
	default:
		return failingReader{durward.Errorf(durward.Invalid, "ledger", "a body is encoded as %.32q, which is not known", encoding)}
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
