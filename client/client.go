// Package client is the Go client of Durward's service API. The command line
// uses nothing else to talk to a running service.
// Start at [New], or at [NewTCP] where the unix socket cannot be reached.
package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"durward"
)

// Client talks to one service: over its unix socket as the service's owner, or by
// TCP with a bearer token.
type Client struct {
	network, address string // where it listens: unix and a path, or tcp and host:port
	host             string // in the URL
	http             *http.Client
	authorize        func(http.Header) // a function, so that no verb prints the token
}

// New returns a client of the service that listens on socket. It does not connect yet.
func New(socket string) *Client {
	return newClient(Client{network: "unix", address: socket, host: "durward", authorize: func(http.Header) {}})
}

// NewTCP returns a client of the service whose api.listen is address, host:port.
// The token decides what it may do; a call that needs more is an error of kind
// Denied. The connection is not encrypted, so an address that is not of this
// machine is refused (kind Invalid), and so is what cannot be a token. It does
// not connect yet.
func NewTCP(address, token string) (*Client, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "", "the address of the service API must be host:port, such as 127.0.0.1:8485: %w", err)
	}
	if ip, err := netip.ParseAddr(host); !strings.EqualFold(host, "localhost") && (err != nil || !ip.Unmap().IsLoopback()) {
		return nil, durward.Errorf(durward.Invalid, "", "%s is not certainly this machine, and the token would cross the network in the clear; use a tunnel (ssh -L) and a loopback address", address)
	}
	if token == "" || strings.Trim(token, tokenCharacters) != "" {
		return nil, durward.Errorf(durward.Invalid, "", "the token of the service API is empty or holds what no token does (RFC 6750 §2.1)")
	}
	return newClient(Client{
		network: "tcp", address: address, host: address,
		authorize: func(h http.Header) { h.Set("Authorization", "Bearer "+token) },
	}), nil
}

// tokenCharacters are those of which a bearer token may consist.
const tokenCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

func newClient(c Client) *Client {
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			MaxIdleConns:    1,
			IdleConnTimeout: time.Second,
		},
		// The service sends nobody elsewhere; a token must not follow who does.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &c
}

// Stdio opens the stdio entrance of a route: JSON-RPC messages, one a line, both
// ways. It is on the unix socket only; by TCP it is an error of kind Invalid. The
// end of ctx ends the opening, not the connection.
func (c *Client) Stdio(ctx context.Context, route durward.Route) (io.ReadWriteCloser, error) {
	if c.network != "unix" {
		return nil, durward.Errorf(durward.Invalid, "", "the stdio entrance is on the unix socket of the service only, not on %s", c.address)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	switch route.Kind {
	case durward.RouteServer:
		query.Set("server", route.Name)
	case durward.RouteToolset:
		query.Set("toolset", route.Name)
	case durward.RouteAll:
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://durward/api/v1/stdio?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	unblock := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer unblock()
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "mcp-stdio")
	if err := req.Write(conn); err != nil {
		return nil, errors.Join(c.unreachable(err), conn.Close())
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, errors.Join(c.unreachable(err), conn.Close())
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		err := refused(resp)
		return nil, errors.Join(err, resp.Body.Close(), conn.Close())
	}
	if !unblock() {
		return nil, errors.Join(c.unreachable(ctx.Err()), conn.Close())
	}
	return &upgraded{Conn: conn, in: in}, nil
}

// upgraded is a connection whose first bytes the response reader may hold.
type upgraded struct {
	net.Conn
	in *bufio.Reader
}

// Read reads what the service sends.
func (u *upgraded) Read(p []byte) (int, error) { return u.in.Read(p) }

// CloseWrite says that nothing more will be sent.
func (u *upgraded) CloseWrite() error {
	if half, ok := u.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, c.network, c.address)
	if err != nil {
		return nil, c.unreachable(err)
	}
	return conn, nil
}

func (c *Client) unreachable(err error) error {
	if c.network == "tcp" && errors.Is(err, syscall.ECONNREFUSED) {
		return durward.Errorf(durward.Unavailable, "", "nobody answers on %s; a service does if api.listen in its configuration says so", c.address)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return durward.Errorf(durward.Unavailable, "", "no service answers on %s; start one with: durward serve", c.address)
	}
	return durward.Errorf(durward.Unavailable, "", "the service on %s cannot be reached: %w", c.address, err)
}
