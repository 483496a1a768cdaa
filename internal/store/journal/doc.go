// Package journal makes a store of records quick. A batch is kept once it is appended
// to a file, which takes a few microseconds; a moment later the store takes many
// batches in one transaction, which costs each of them a fraction of what a
// transaction of its own would.
//
// # What holds
//
// A batch is in the file, or in the store, or in both, from the moment when Write
// returns: with Options.Full also after a loss of power, else after the process was
// killed. A batch leaves the file only when the store has it and has synced it, so the
// two never have a gap between them. Which batches the store has is told by the links
// of their chain: Open gives it what it lacks.
//
// A store that does not take what waits makes Write fail until it does again: what it
// cannot keep is not accepted any longer. What was accepted meanwhile stays in the file.
//
// # Files
//
// Two files take turns, PATH.journal.1 and PATH.journal.2: while batches are appended to one
// the other is emptied. Each is a sequence of frames, which begin with their length and
// a checksum. What follows the last good frame was not accepted: the process or the
// machine ended while it was written. Unless there are good frames behind it: then the
// file was damaged, and is kept aside, like one whose batches do not follow what the
// store has. A write that failed is cut off before anything else is written, and a file
// that lost its name is made anew with what the store has not taken of it.
//
// On Linux the beginning of a file is in memory, unless a loss of power must be outlasted:
// a batch that is copied there is in the file, for every process and after a kill as
// well, and no system call is needed. The room on the disk is taken in advance. When the
// file is cut short meanwhile, or its disk gives errors, the copying fails, and the file
// is made anew.
package journal
