// Package syntax reads JSON with comments and TOML into trees whose values know
// their places, and edits such files by text: a key is put into an object or
// taken out of it, and every other byte stays where and what it was.
//
// It knows nothing of MCP or of any program's configuration. hujson reads JSON;
// go-toml reads TOML and judges every edited file; the edits themselves are ours,
// because neither library keeps the layout of a file around a new key.
//
// Start with [Parse], [Insert], [Remove].
package syntax
