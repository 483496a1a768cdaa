package worker

import (
	"bytes"

	"durward/internal/wire"
)

// translated is a legacy capability object and what it means to a modern server.
type translated struct{ legacy, modern []byte }

// capabilities returns what a modern server is told of its client. Few clients
// call one server, and each says the same in every request, so the last
// translation is kept.
func (d *dialect) capabilities(era wire.Era, declared []byte) []byte {
	switch {
	case len(declared) == 0 || declared[0] != '{':
		return emptyObject
	case era != wire.Legacy:
		return declared
	}
	if t := d.last.Load(); t != nil && bytes.Equal(t.legacy, declared) {
		return t.modern
	}
	t := &translated{legacy: bytes.Clone(declared), modern: modernCapabilities(declared)}
	d.last.Store(t)
	return t.modern
}

// modernCapabilities translates what a legacy client declared (schemas of
// 2025-11-25 and 2026-07-28, ClientCapabilities):
//
//   - elicitation and sampling mean the same in both; an elicitation of {} is form mode in both;
//   - roots have no listChanged any more, as nobody could send that;
//   - tasks are another thing than the tasks of a modern extension, which the
//     client could not use if it declared it: the answer would be lost on it;
//   - what is null, as some clients write what they do not have, is left out:
//     a server that checks it would refuse every request.
//
// What is not known is passed on.
func modernCapabilities(legacy []byte) []byte {
	var changed []wire.Member
	drop := map[string]bool{"tasks": true}
	for name, at := range wire.Members(legacy) {
		value := at.Of(legacy)
		if len(value) == 0 || value[0] != '{' {
			drop[name] = drop[name] || string(value) == "null"
			continue
		}
		switch name {
		case "roots":
			value = wire.AppendObject(nil, value, func(name string) bool { return name == "listChanged" })
		case "extensions":
			value = wire.AppendObject(nil, value, func(name string) bool { return name == wire.ExtensionTasks })
		default:
			continue
		}
		changed = append(changed, wire.Member{Name: name, Value: value})
	}
	return wire.AppendObject(nil, legacy, func(name string) bool { return drop[name] }, changed...)
}
