// Package plugin looks at what calls carry: at their arguments before the rules
// do, and at their results before the caller has them. It finds credentials
// (secrets), characters that people do not see (invisible), personal data (pii),
// attempts to instruct the model (injection) and what is too large (size), marks
// sessions (taint), and runs plugins that others wrote as WebAssembly.
//
// Every string of the JSON is looked at, names of members included, with its
// escapes undone. What is replaced is spliced into the raw bytes; all else stays
// as it came. The built-in plugins look at a text together, in one pass that
// finds words; only where a word stands is more done. So clean text costs little.
//
// A plugin can only make an outcome stricter, and the injection score decides
// nothing by itself. What a plugin found is never in a message or a record, only
// its kind.
//
// Start at [New] and [Set].
package plugin

//go:generate go test -run TestReference -count=1 . -update
