// Package client is the Go client of Durward's service API. The command line
// uses nothing else to talk to a running service.
//
// This version knows what the command line needs: the status, and the stdio
// entrance. Start at [New].
package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Status is what a service says of itself.
type Status struct {
	Version  string                 `json:"version"`
	PID      int                    `json:"pid"`
	Address  string                 `json:"address"` // of HTTP; empty when it does not listen
	Started  time.Time              `json:"started"`
	Policy   string                 `json:"policy"` // what decides calls
	Ledger   string                 `json:"ledger"` // where calls are recorded
	Sessions int                    `json:"sessions"`
	Config   ConfigStatus           `json:"config"`
	Servers  []durward.ServerStatus `json:"servers"`
}

// ConfigStatus says which configuration runs.
type ConfigStatus struct {
	File    string    `json:"file"`
	Loaded  time.Time `json:"loaded"`
	Problem string    `json:"problem,omitempty"` // of the file as it is now, when it is not what runs
}

// Status asks the service for its status. It is Unavailable when none runs.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	return &s, c.get(ctx, "/api/v1/status", &s)
}

// Reload makes the service read its configuration anew. It is Invalid when the
// file has problems; the running configuration then stays.
func (c *Client) Reload(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://durward/api/v1/reload", http.NoBody)
	if err != nil {
		return err
	}
	return c.do(req, nil)
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

func (c *Client) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://durward"+path, http.NoBody)
	if err != nil {
		return err
	}
	return c.do(req, into)
}

// maxAnswer bounds an answer of the service, in bytes.
const maxAnswer = 64 << 20

func (c *Client) do(req *http.Request, into any) (err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		var known *durward.Error
		if errors.As(err, &known) {
			return known
		}
		return unreachable(c.socket, err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode >= http.StatusBadRequest {
		return refused(resp)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into)
}

// refused reads the service's structured error.
func refused(resp *http.Response) error {
	var body struct {
		Error struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&body); err != nil || body.Error.Message == "" {
		return durward.Errorf(durward.Internal, "", "the service answered %s", resp.Status)
	}
	kind, err := durward.ParseKind(body.Error.Kind)
	if err != nil {
		return fmt.Errorf("the service answered %s: %s", resp.Status, body.Error.Message)
	}
	return &durward.Error{Kind: kind, Message: body.Error.Message}
}
