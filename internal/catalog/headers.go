package catalog

import "durward/internal/wire"

// readHeaders reads the x-mcp-header annotations of a tool's schema. A tool
// whose annotations break the rules stays listed, since each client judges that
// for itself (2026-07-28, streamable HTTP), but we mirror none of its arguments.
func (it *Item) readHeaders(schema []byte) {
	params, err := wire.HeaderParams(schema)
	if err != nil {
		it.headerProblem = err.Error()
		return
	}
	it.HeaderParams = params
}

// report says what is wrong with an item that is offered nevertheless.
func (r *reader) report(it *Item) {
	if it.headerProblem != "" {
		r.problems.add("%s %q: its arguments are mirrored in no header: %s", it.Kind, short(it.Name), it.headerProblem)
	}
}
