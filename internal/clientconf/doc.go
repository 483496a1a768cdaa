// Package clientconf reads and writes the files in which other programs keep
// their MCP servers: Claude Desktop, Claude Code, Cursor, VS Code, Codex, Gemini
// CLI, Windsurf, Zed, and a generic list of servers.
//
// Reading gives neutral entries that Durward can serve: names become server
// names, variables of the other program become references of Durward, and
// literal secrets are moved out into ${secret:NAME}, so that what is read can be
// shown and logged. Writing puts one entry, Durward itself, into such a file,
// changes nothing else in it, not even a space, and can be taken back.
//
// It knows nothing of Durward's own configuration beyond the text of a servers
// entry, opens no file by itself except in the helpers that say so, and stores
// no secret.
//
// Start with [Locations] (which files there are), [Read] and [NewPlan] (import),
// [Install] and [Uninstall] (export), [ReadFile] and [Replace] (the disk).
package clientconf
