// Package client is the Go client of Durward's service API. The command line
// uses nothing else to talk to a running service.
// Start at [New].
package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"durward"
)

// Client talks to one service over its unix socket, as the service's owner.
type Client struct {
	socket string
	http   *http.Client
}

// New returns a client of the service that listens on socket. It does not connect yet.
func New(socket string) *Client {
	c := &Client{socket: socket}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
		MaxIdleConns:    1,
		IdleConnTimeout: time.Second,
	}}
	return c
}

// Stdio opens the stdio entrance of a route: JSON-RPC messages, one a line, both ways.
func (c *Client) Stdio(ctx context.Context, route durward.Route) (io.ReadWriteCloser, error) {
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
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "mcp-stdio")
	if err := req.Write(conn); err != nil {
		return nil, errors.Join(unreachable(c.socket, err), conn.Close())
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, errors.Join(unreachable(c.socket, err), conn.Close())
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		err := refused(resp)
		return nil, errors.Join(err, resp.Body.Close(), conn.Close())
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
	conn, err := d.DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, unreachable(c.socket, err)
	}
	return conn, nil
}

func unreachable(socket string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return durward.Errorf(durward.Unavailable, "", "no service answers on %s; start one with: durward serve", socket)
	}
	return durward.Errorf(durward.Unavailable, "", "the service on %s cannot be reached: %w", socket, err)
}
