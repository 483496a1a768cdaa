package durward

// Entrance is the kind of door a request came in by.
type Entrance string

// The entrances of this version.
const (
	EntranceHTTP    Entrance = "http"    // streamable HTTP
	EntranceStdio   Entrance = "stdio"   // durward stdio, over the service's unix socket
	EntranceLibrary Entrance = "library" // a Go program that embeds the gateway
	EntranceConsole Entrance = "console" // the operator, through the service API
)

// Caller says who makes a call. It is built by the entrance from what the
// entrance knows for certain (listener, token, peer credentials), except for
// Client, which is what the client says of itself: for display, never for policy.
type Caller struct {
	Principal string   // whose rights: "local" for the owner of the service, else the name bound to the token
	Entrance  Entrance // by which door
	Session   SessionID
	Client    ClientInfo
	Process   string // the calling process where the entrance knows it ("pid 4711"), else empty
}

// ClientInfo is the unverified name and version a client gives of itself.
type ClientInfo struct {
	Name    string
	Version string
}

// RouteKind says how much of the federation a route shows.
type RouteKind uint8

// The routes: the aggregate (/mcp), one server with its names untouched
// (/servers/NAME/mcp), and a named subset of tools (/toolsets/NAME/mcp).
const (
	RouteAll RouteKind = iota
	RouteServer
	RouteToolset
)

// Route names what a request was addressed to. The zero value is the aggregate.
type Route struct {
	Kind RouteKind
	Name string // server or toolset; empty for the aggregate
}

// String renders the route as its URL path.
func (r Route) String() string {
	switch r.Kind {
	case RouteServer:
		return "/servers/" + r.Name + "/mcp"
	case RouteToolset:
		return "/toolsets/" + r.Name + "/mcp"
	default:
		return "/mcp"
	}
}
