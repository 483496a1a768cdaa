package sqlite

// How calls are found without an index for every column of the hot tables.
//
// A segment is a run of consecutive rows of one table: 8,192 of them. For each value
// that occurs in it (a principal, a tool, a status …) it has the set of the positions
// of the rows that have it, as a list or as a bitmap. A filter of any number of fields
// is the intersection of their sets: for each field one row of a few hundred bytes per
// segment, 1,221 of them for ten million calls, whether much matches or nothing.
// Lists of callers or targets would not do: a principal is thousands of callers, a
// method hundreds of targets, and uniting their lists takes longer than reading rows.
//
// The writer keeps the last segment in memory and writes it in one transaction when it
// is full and its calls have ended, about 200 rows for 8,192 calls. Calls that go on
// for longer have the status dispatched in their segment until it is written anew,
// which is when some of them have ended; until then each is looked at by itself.
//
// Everything here is derived: no part of the chain, and made anew from the rows when
// it is missing. Whatever it names is checked against the row itself.
//
// The writer, which owns it, calls
//
//	x, err := loadIndex(ctx, conn)                   when it opens, on its connection
//	x.intent(seq, i, caller, target, verdict)        for each row it inserts,
//	x.outcome(call, o) and x.other(seq, r)           call: seq of the intent
//	x.keep() or x.drop()                             when the transaction was committed or not
//	x.seal(ctx, conn)                                after keep; does nothing unless a segment is due
//	x.call(id)                                       seq of the intent of a call without outcome
//	x.open(limit)                                    calls without outcome, oldest first
//	pruneIndex(ctx, conn, seq)                       when all records up to seq are gone
