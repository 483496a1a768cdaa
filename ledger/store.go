package ledger

import (
	"context"
	"io"

	"durward"
)

// Batch is what one transaction writes: the records in order, the bodies they
// name that may be new, and the link that covers the records.
type Batch struct {
	Records []Record
	Bodies  []Body
	Link    Link

	forms []byte // of the records, while they are known
}

// Body is the content of a request or a response, kept once however often it
// occurs.
type Body struct {
	Digest    Digest
	Encoding  string // "" or "zstd"
	Original  int    // bytes before it was cut and compressed; where it was cut, the marker says it too
	Truncated bool
	Data      []byte // as stored
}

// Store keeps records. One [Ledger] writes to it; any number of readers, in this
// and in other processes, read. It is implemented by internal/store/sqlite.
type Store interface {
	// Head returns the last link; the zero Link when there is none.
	Head(ctx context.Context) (Link, error)
	// Write commits a batch: all of it or nothing. Its error is of kind Unavailable
	// when the store cannot take anything now (disk full, locked, gone, damaged):
	// the same batch may be written again later. The store may keep the records and
	// bodies: nobody changes them.
	Write(ctx context.Context, b *Batch) error
	// Open returns the calls that have no outcome, oldest first, at most limit.
	Open(ctx context.Context, limit int) ([]durward.CallID, error)
	// Unanswered returns the questions to people that were written down and have no
	// answer, oldest first, at most limit.
	Unanswered(ctx context.Context, limit int) ([]*Approval, error)
	Close() error
}

// Reader answers questions about what was recorded. Newest first, always.
type Reader interface {
	Calls(ctx context.Context, f Filter) (Page, error)
	Call(ctx context.Context, id string) (*Story, error)
	Body(ctx context.Context, d Digest) (io.ReadCloser, BodyInfo, error)
	Timeline(ctx context.Context, f TimelineFilter) (TimelinePage, error)
	Stats(ctx context.Context, f Filter) (*Stats, error)
}

// Auditor walks through everything in the order in which it was written, for
// [Verify] and exports.
type Auditor interface {
	// Links calls f for each link from seq on, with its records as they are stored,
	// in the order of their positions. A record that cannot be read is given as a
	// *Damaged, and so is a position that is missing, taken twice or not from 0 on.
	// Records that name a link which is not there are given with a Link of which
	// only Seq is set, in its place: nothing that is stored is passed over. An error
	// of f ends the walk and is returned as it is.
	Links(ctx context.Context, from uint64, f func(l Link, records []Record) error) error
	// Bodies calls f for each body, decompressed as it is read. What cannot be
	// decompressed is an error of the reader, not of Bodies.
	Bodies(ctx context.Context, f func(info BodyInfo, content io.Reader) error) error
}

// Keeper keeps a store within its bounds.
type Keeper interface {
	// Prune removes whole links with their records, oldest first, up to and
	// including seq, and the bodies that nothing names any more. It goes in small
	// transactions, so that writing goes on meanwhile; it may be ended between any
	// two and is called again with the same seq then. The last link is never pruned.
	// What is done in several parts begins anew for each in what progress is told.
	Prune(ctx context.Context, seq uint64, progress func(done, of int64)) error
	// PruneBodies removes the bodies that no record of a link after seq names, in
	// small transactions like Prune.
	PruneBodies(ctx context.Context, seq uint64, progress func(done, of int64)) error
	// Backup writes a consistent copy to a new file while the store is in use.
	Backup(ctx context.Context, path string, progress func(done, of int64)) error
	// Size returns how many bytes the store takes on disk, without what Prune freed
	// and new records will fill.
	Size(ctx context.Context) (int64, error)
}

// BodyInfo describes a stored body.
type BodyInfo struct {
	Digest    Digest
	Encoding  string
	Original  int
	Stored    int
	Truncated bool
}

// Damaged stands for a record that is in the store and cannot be read.
type Damaged struct {
	Of     Kind
	Reason string
}

// Kind implements Record.
func (d *Damaged) Kind() Kind { return d.Of }

func (d *Damaged) appendTo(e *encoder) { e.text("damaged: " + d.Reason) }
