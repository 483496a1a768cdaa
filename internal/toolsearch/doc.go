// Package toolsearch finds tools by what they do. A route with thousands of tools
// drowns a model in definitions; instead it lists three tools, one of which
// searches the others with an [Index].
//
// The ranking is BM25 over weighted fields (name, title, description, names and
// descriptions of parameters), with light folding of plurals and verb forms and a
// small table of words that mean the same for tools. It knows no models and no
// vectors, takes a few milliseconds for 5,000 tools, and gives the same answer
// each time.
//
// It decides nothing: who may see a tool is the caller's filter in
// [Index.Search]. It does no input or output and starts no goroutine.
//
// Start at [New].
package toolsearch
