// Package sqlite keeps the ledger of one machine in one SQLite file: one writer,
// any number of readers, write-ahead logging, migrations forward only. Clients
// never send SQL.
//
// # Rows
//
// migrations/ holds the schema. Every record is one row, never changed; seq numbers
// all of them, over all tables and without gaps, in the order of their commits, so
// that link n of the chain is the range first … first+records-1 of its row in table
// chain. A call is two rows: intents, and outcomes, which names the intent by its seq.
//
// Who called, what was called and what was decided repeat from call to call. Each
// combination is one row of callers, targets and verdicts; intents name it by number.
// For a call of ordinary size that takes 14 µs of CPU for intent and outcome in
// batches of 64, where columns of text in every row take 24 µs.
//
// # Segments instead of indexes
//
// An index on a busy table is a page for each value that a batch touches, and each
// page is a frame in the write-ahead log: three of them (caller, target, trace) took
// 26 µs per call in batches of 64 and 43 µs in batches of 8, more than all the rest.
// So the only indexes of calls are those whose keys come in order: intents.id, which
// are UUIDv7, and outcomes.call. For everything else, runs of calls are written into
// table segments when they are full: for each value that is looked for (of a caller, a
// target, a verdict, a status …) the set of the calls that have it. That takes less
// than a microsecond per call. read_index.go says how it is laid out and used.
package sqlite
