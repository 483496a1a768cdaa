package catalog

import (
	"strings"

	"durward"
)

// maxCandidates bounds the names in an error about a name of several owners.
const maxCandidates = 10

// AppTool finds the tool that an app means when it calls a tool of its own server
// by its original name (MCP Apps, "tools/call" of views): an app does not know
// under which name it is offered here, and hosts pass on what it says. It is found
// if exactly one server that has apps offers a tool whose own name that is; with
// more than one the error, of kind Invalid, names the candidates. nil: there is none.
//
// Servers without apps have no part in it, so that installing one cannot take a
// name away from an app, nor lend it a tool.
func (v *View) AppTool(name string) (*Entry, error) {
	if v.naming == untouched {
		return nil, nil
	}
	var found []*Entry
	for _, p := range v.parts {
		if e := p.shelf.native[name]; e != nil {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	names := make([]string, 0, maxCandidates)
	for _, e := range found[:min(len(found), maxCandidates)] {
		names = append(names, e.Offered)
	}
	if more := len(found) - len(names); more > 0 {
		names = append(names, "…")
	}
	return nil, durward.Errorf(durward.Invalid, "", "tool %s could be any of %s; call it by the name from the list", short(name), strings.Join(names, ", "))
}

// has reports whether the server lists a resource or shows results with it. Those
// that only show results need not be listed (MCP Apps, "Resource Discovery").
func (s *shelf) has(uri string) bool {
	return s.apps[uri] || s.index[Resource][uri] != nil
}

// app returns the URI of a server that names the server in our way, ui://SERVER/….
// An app says its server's own URI, which may begin with the very same words:
// ui://weather/view of server weather is offered as ui://weather/weather/view.
func (p part) app(rest string) Target {
	server := p.member.spec.Name
	uri := uiScheme + rest
	if own := uiScheme + server + "/" + rest; !p.shelf.has(uri) && p.shelf.has(own) {
		uri = own
	}
	return Target{server, uri, p.shelf.lookup(Resource, uri)}
}
