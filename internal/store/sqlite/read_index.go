package sqlite

// How calls are found without an index for every column of the hot tables.
//
// A B-tree index costs 2 to 5 µs for each call, and ten of them would still not
// answer a filter of two common values that never occur together. So the tables
// of records have the indexes that keep identifiers unique, and nothing else;
// what filters need is a block index beside them:
//
//   - The rows of a table are numbered in the order in which they are committed
//     (intents.n, decisions.n, …: INTEGER PRIMARY KEY, one more than the last). An
//     outcome has the number of its intent as its own key, so that joining the two
//     is one look by rowid.
//   - A block is 8,192 consecutive numbers. For each value that occurs in a block
//     the index has the set of its positions there, a bitmap or a list. A filter of
//     any number of fields is the intersection of its sets: a few reads of a kilobyte
//     a block, newest block first, whether much matches or nothing.
//   - The writer keeps the sets of the unfinished block in memory, and writes the
//     block in one go when it is full: about 200 small rows for 8,192 calls.
//   - What comes after the last block is read row by row.
//
// The index is derived: it is not part of the chain, and can be made anew from
// the records at any time. Whatever it names is checked against the row itself.
