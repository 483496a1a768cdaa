package transport

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
)

// UpgradeProtocol is what the Upgrade header must name.
const UpgradeProtocol = "mcp-stdio"

// Upgrade returns the handler of GET /api/v1/stdio?server=NAME or ?toolset=NAME,
// which turns the connection into one with line framing (status 101). It is how
// `durward stdio` reaches the service over the unix socket.
func (e *Edge) Upgrade() http.Handler { return http.HandlerFunc(e.upgrade) }

func (e *Edge) upgrade(w http.ResponseWriter, r *http.Request) {
	caller, err := e.opts.Auth.Admit(r)
	if err != nil {
		writeError(w, nil, err)
		return
	}
	if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), UpgradeProtocol) {
		w.Header().Set("Upgrade", UpgradeProtocol)
		writeError(w, nil, refuse(http.StatusUpgradeRequired, wire.CodeInvalidRequest, "send GET with Connection: Upgrade and Upgrade: "+UpgradeProtocol))
		return
	}
	query := r.URL.Query()
	route, err := routeNamed(query.Get("server"), query.Get("toolset"))
	if err != nil {
		writeError(w, nil, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		writeError(w, nil, refuse(http.StatusBadRequest, wire.CodeInvalidRequest, "this connection cannot be upgraded; use HTTP/1.1"))
		return
	}
	defer conn.Close()                // ServeStdio has closed it
	_ = conn.SetDeadline(time.Time{}) // the server's own, if it set any
	_, err = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + UpgradeProtocol + "\r\n\r\n"))
	if err != nil {
		return
	}
	caller.Entrance = durward.EntranceStdio
	_ = e.ServeStdio(context.WithoutCancel(r.Context()), &upgraded{conn, buffered.Reader}, caller, route) // the client knows that its connection broke
}

// routeNamed makes a route of at most one of two names.
func routeNamed(server, toolset string) (durward.Route, error) {
	switch {
	case server != "" && toolset != "":
		return durward.Route{}, badRequest(wire.CodeInvalidRequest, "give a server or a toolset, not both")
	case server != "":
		return durward.Route{Kind: durward.RouteServer, Name: server}, nil
	case toolset != "":
		return durward.Route{Kind: durward.RouteToolset, Name: toolset}, nil
	default:
		return durward.Route{}, nil
	}
}

// upgraded reads what the HTTP server had read ahead before it reads on.
type upgraded struct {
	net.Conn
	ahead *bufio.Reader
}

func (u *upgraded) Read(p []byte) (int, error) { return u.ahead.Read(p) }
