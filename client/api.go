package client

import (
	"context"
	"net/http"
	"net/url"

	"durward"
)

// Status asks the service for its status. It is Unavailable when none runs.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	return &s, c.get(ctx, "/api/v1/status", &s)
}

// Servers lists the servers and their states.
func (c *Client) Servers(ctx context.Context) ([]durward.ServerStatus, error) {
	var l ServerList
	err := c.get(ctx, "/api/v1/servers", &l)
	return l.Servers, err
}

// Server shows one server. It is NotFound when there is none of that name.
func (c *Client) Server(ctx context.Context, name string) (*Server, error) {
	var s Server
	return &s, c.get(ctx, serverPath(name, ""), &s)
}

// AddServer writes a server into the user's configuration file, takes it into use
// and waits until it came up or failed. Unless Keep says otherwise, a server that
// failed is taken out again; the error then says why, with the end of its stderr.
func (c *Client) AddServer(ctx context.Context, s NewServer) (*Server, error) {
	var added Server
	return &added, c.send(ctx, http.MethodPost, "/api/v1/servers", s, &added)
}

// RemoveServer takes a server out of the user's configuration file and stops it.
func (c *Client) RemoveServer(ctx context.Context, name string) error {
	return c.send(ctx, http.MethodDelete, serverPath(name, ""), nil, nil)
}

// EnableServer takes "disabled" out of the configuration file and waits until the
// server came up or failed.
func (c *Client) EnableServer(ctx context.Context, name string) (*Server, error) {
	var s Server
	return &s, c.send(ctx, http.MethodPost, serverPath(name, "/enable"), nil, &s)
}

// DisableServer writes "disabled" into the configuration file and stops the server.
func (c *Client) DisableServer(ctx context.Context, name string) error {
	return c.send(ctx, http.MethodPost, serverPath(name, "/disable"), nil, nil)
}

// RefreshServer has the server list anew what it offers.
func (c *Client) RefreshServer(ctx context.Context, name string) (*Server, error) {
	var s Server
	return &s, c.send(ctx, http.MethodPost, serverPath(name, "/refresh"), nil, &s)
}

// RestartServer stops the server and starts it anew. Its calls in flight end with
// an unknown outcome.
func (c *Client) RestartServer(ctx context.Context, name string) (*Server, error) {
	var s Server
	return &s, c.send(ctx, http.MethodPost, serverPath(name, "/restart"), nil, &s)
}

// ServerLogs returns the end of what the server wrote to its stderr.
func (c *Client) ServerLogs(ctx context.Context, name string) (*Logs, error) {
	var l Logs
	return &l, c.get(ctx, serverPath(name, "/logs"), &l)
}

func serverPath(name, rest string) string { return "/api/v1/servers/" + url.PathEscape(name) + rest }

// Tools lists the tools that are offered. It waits for servers that are starting.
func (c *Client) Tools(ctx context.Context, f Filter) ([]Item, error) {
	return c.items(ctx, "/api/v1/tools", f)
}

// Prompts lists the prompts that are offered.
func (c *Client) Prompts(ctx context.Context, f Filter) ([]Item, error) {
	return c.items(ctx, "/api/v1/prompts", f)
}

// Resources lists the resources and resource templates that are offered.
func (c *Client) Resources(ctx context.Context, f Filter) ([]Item, error) {
	return c.items(ctx, "/api/v1/resources", f)
}

func (c *Client) items(ctx context.Context, path string, f Filter) ([]Item, error) {
	query := url.Values{}
	if f.Server != "" {
		query.Set("server", f.Server)
	}
	if f.Toolset != "" {
		query.Set("toolset", f.Toolset)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var l ItemList
	err := c.get(ctx, path, &l)
	return l.Items, err
}

// GetPrompt gets a prompt with its arguments filled in.
func (c *Client) GetPrompt(ctx context.Context, r CallRequest) (*Result, error) {
	var result Result
	return &result, c.send(ctx, http.MethodPost, "/api/v1/prompts/get", r, &result)
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string) (*Result, error) {
	var result Result
	return &result, c.send(ctx, http.MethodPost, "/api/v1/resources/read", ReadRequest{URI: uri}, &result)
}

// Config returns the configuration that runs, and where each value comes from.
func (c *Client) Config(ctx context.Context) (*Config, error) {
	var config Config
	return &config, c.get(ctx, "/api/v1/config", &config)
}

// Validate says what would be wrong with text as the user's configuration file,
// in the environment of the service.
func (c *Client) Validate(ctx context.Context, text string) (*Validated, error) {
	var v Validated
	return &v, c.send(ctx, http.MethodPost, "/api/v1/config/validate", ValidateRequest{Text: text}, &v)
}

// Reload makes the service read its configuration anew. It is Invalid when the
// file has problems; the running configuration then stays.
func (c *Client) Reload(ctx context.Context) (*Reloaded, error) {
	var r Reloaded
	return &r, c.send(ctx, http.MethodPost, "/api/v1/config/reload", nil, &r)
}

// Keys lists the keys that seal what clients carry for the service, by their ids.
func (c *Client) Keys(ctx context.Context) (*Keys, error) {
	var k Keys
	return &k, c.get(ctx, "/api/v1/keys", &k)
}

// RotateKeys has a new key seal; the one before it still opens what it sealed,
// older ones are gone. It is a Conflict if the keys stand in the configuration.
func (c *Client) RotateKeys(ctx context.Context) (*Keys, error) {
	var k Keys
	return &k, c.send(ctx, http.MethodPost, "/api/v1/keys/rotate", nil, &k)
}

// Runtime returns figures of the Go runtime of the service.
func (c *Client) Runtime(ctx context.Context) (*Runtime, error) {
	var r Runtime
	return &r, c.get(ctx, "/api/v1/runtime", &r)
}
