package hold

import "durward/internal/wire"

// relatedTask is the key in `_meta` by which 2025-11-25 ties a message to a task.
const relatedTask = "io.modelcontextprotocol/related-task"

// modernParams takes off the params of a legacy request what 2026-07-28 does not
// know any more; all else keeps its bytes.
//
// Gone are elicitationId of the url mode, whose notification is gone too
// (2026-07-28, changelog), and task, with which 2025-11-25 asks the client to make
// a task of the request: one that does not declare tasks ignores it, and towards
// the server the gateway never does. Of `_meta` the keys go that belong to one
// hop (wire.ProtocolKey: a request inside input_required is none of its own, so
// there is no progress of it either), and the one that names a task.
func modernParams(method string, params []byte) []byte {
	if meta := wire.Lookup(params, "_meta"); meta.Present() {
		params = cleanMeta(params, meta)
	}
	switch method {
	case wire.MethodElicit:
		params = without(params, "task")
		if mode, _ := wire.Unquote(wire.Get(params, "mode")); mode == "url" {
			params = without(params, "elicitationId")
		}
	case wire.MethodSampling:
		params = without(params, "task")
	}
	return params
}

// cleanMeta takes keys out of `_meta`, and all of it if nothing is left.
func cleanMeta(params []byte, at wire.Span) []byte {
	meta, kept, dropped := at.Of(params), false, false
	for name := range wire.Members(meta) {
		if dropsMeta(name) {
			dropped = true
		} else {
			kept = true
		}
	}
	switch {
	case !dropped:
		return params
	case !kept:
		return wire.RemoveResultMember(nil, params, "_meta")
	}
	return wire.Splice(nil, params, wire.Edit{At: at, With: wire.AppendObject(nil, meta, dropsMeta)})
}

func dropsMeta(name string) bool { return wire.ProtocolKey(name) || name == relatedTask }

// without removes a member if it is there; other bytes are kept.
func without(params []byte, name string) []byte {
	if !wire.Lookup(params, name).Present() {
		return params
	}
	return wire.RemoveResultMember(nil, params, name)
}
