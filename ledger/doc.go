// Package ledger is the record of what passed the gate: every call is written
// down before it acts and again when it ended, and what was written can be proved
// to be unchanged.
//
// A [Ledger] takes records from many goroutines and hands them to one [Store] in
// batches: group commit. Every record is immutable. The digests of a batch make
// one link of a hash chain ([Link]); a [Checkpoint] over the chain is signed and
// kept outside of the store, so that whoever can write to the store can still not
// change, remove, insert or reorder what came before it.
//
// Start at [Open] for writing, at [Reader] for reading and at [Verify] for
// proving. Package internal/store/sqlite is the store of one machine.
package ledger
