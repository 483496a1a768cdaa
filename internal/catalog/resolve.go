package catalog

import (
	"strings"

	"durward"
)

// Target is whose a URI is.
type Target struct {
	Server string
	URI    string // the server's own URI, or template for completions
	Entry  *Entry // the resource, or the template that URI is an expansion of; nil when neither is listed
}

// Resource returns the server that has a resource, and its own URI for it.
//
// On a route to one server, and on an aggregate without prefix, every URI is that
// server's. Elsewhere a URI that names a server, durward://SERVER/… or
// ui://SERVER/…, is that server's and nobody else's, listed or not; of another
// URI the owner is found only if exactly one server lists it or shows results with
// it, or exactly one has a template that fits. Errors are of kind Invalid and name
// the candidates, or NotFound. On a toolset only the resources that its tools show
// results with can be found.
func (v *View) Resource(uri string) (Target, error) {
	t, err := v.resource(uri)
	if err != nil {
		return Target{}, err
	}
	if linked := v.parts[v.byServer[t.Server]].shelf.linked; linked != nil && !linked[t.URI] {
		return Target{}, durward.Errorf(durward.NotFound, "", "no tool of toolset %s has a resource %s", v.route.Name, short(uri))
	}
	return t, nil
}

func (v *View) resource(uri string) (Target, error) {
	if v.naming != prefixed {
		return v.only(Resource, uri)
	}
	scheme, server, rest, ok := splitURI(uri)
	if i, declared := v.byServer[server]; ok && declared {
		return v.parts[i].addressed(scheme, rest)
	}
	if scheme == ownScheme {
		return Target{}, durward.Errorf(durward.NotFound, "", "resource %s: no server is called %q", short(uri), short(server))
	}
	return v.search(uri)
}

// Template returns the server that has a resource template, and its own form of
// it, for the reference of a completion. A URI that is no template is looked up
// like a resource.
func (v *View) Template(template string) (Target, error) {
	if v.naming != prefixed {
		if t, err := v.only(Template, template); err != nil || t.Entry != nil {
			return t, err
		}
		return v.Resource(template)
	}
	var owners []Target
	for _, p := range v.parts {
		if e, ok := p.shelf.index[Template][template]; ok {
			owners = append(owners, Target{e.Server, e.Name, e})
		}
	}
	if _, server, rest, ok := splitURI(template); ok {
		if i, declared := v.byServer[server]; declared {
			own := v.parts[i].shelf.index[Template]
			for _, name := range []string{rest, uiScheme + rest} {
				if e, ok := own[name]; ok && e.Offered == template {
					return Target{e.Server, e.Name, e}, nil
				}
			}
		}
	}
	if len(owners) > 0 {
		return onlyOne(template, owners)
	}
	return v.Resource(template)
}

// only resolves where every name is the one server's.
func (v *View) only(k Kind, uri string) (Target, error) {
	if len(v.parts) == 0 {
		return Target{}, unknownURI(uri)
	}
	p := v.parts[0]
	return Target{Server: p.member.spec.Name, URI: uri, Entry: p.shelf.lookup(k, uri)}, nil
}

// lookup returns the item called name, or for a resource the template that fits; nil if there is none.
func (s *shelf) lookup(k Kind, name string) *Entry {
	if e, ok := s.index[k][name]; ok || k != Resource {
		return e
	}
	return s.template(name)
}

// template returns the first template that uri may be an expansion of. A server
// whose templates cost too much to compare has none for this URI.
func (s *shelf) template(uri string) *Entry {
	if len(uri) > maxMatched || len(s.lists[Template])+len(s.held[Template]) == 0 {
		return nil
	}
	uri = normalURI(uri)
	left := maxMatching
	for _, list := range [][]*Entry{s.lists[Template], s.held[Template]} {
		for _, e := range list {
			if !e.pattern.begins(uri) {
				continue
			}
			if left -= len(uri) * len(e.pattern); left < 0 {
				return nil
			}
			if e.pattern.match(uri) {
				return e
			}
		}
	}
	return nil
}

// addressed resolves a URI that names its server. Behind the name stands either
// what prefixedURI wrote, which is decoded, or what a client made of a template,
// which is taken verbatim, escapes and all: decoding that would change the
// values. The listed URIs say which it is, then the templates, then the form.
func (p part) addressed(scheme, rest string) (Target, error) {
	server := p.member.spec.Name
	if scheme == uiScheme {
		return p.app(rest), nil
	}
	if rest == "" {
		return Target{}, durward.Errorf(durward.Invalid, "", "resource %s%s/ names a server and no resource", ownScheme, server)
	}
	decoded, escaped := unescape(rest)
	if e, ok := p.shelf.index[Resource][decoded]; ok && escaped {
		return Target{server, decoded, e}, nil
	}
	if e := p.shelf.lookup(Resource, rest); e != nil {
		return Target{server, rest, e}, nil
	}
	if escaped {
		return Target{server, decoded, p.shelf.template(decoded)}, nil
	}
	return Target{server, rest, nil}, nil
}

// search finds the owner of a URI that names no server.
func (v *View) search(uri string) (Target, error) {
	var owners []Target
	for _, p := range v.parts {
		if p.shelf.has(uri) {
			owners = append(owners, Target{p.member.spec.Name, uri, p.shelf.index[Resource][uri]})
		}
	}
	if len(owners) == 0 {
		for _, p := range v.parts {
			if e := p.shelf.template(uri); e != nil {
				owners = append(owners, Target{e.Server, uri, e})
			}
		}
	}
	if len(owners) == 0 {
		return Target{}, unknownURI(uri)
	}
	return onlyOne(uri, owners)
}

func onlyOne(uri string, owners []Target) (Target, error) {
	if len(owners) == 1 {
		return owners[0], nil
	}
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = o.Server
	}
	return Target{}, durward.Errorf(durward.Invalid, "", "resource %s could be of any of the servers %s; use the URI from the list, which names the server",
		short(uri), strings.Join(names, ", "))
}

func unknownURI(uri string) error {
	return durward.Errorf(durward.NotFound, "", "no server lists resource %s, or a template that fits it", short(uri))
}
