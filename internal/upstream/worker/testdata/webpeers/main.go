// Command webpeers serves real MCP servers over HTTP to the tests of the
// connections: servers of the Go SDK and of mcp-go in each mode they have.
//
// It prints its base URL and serves until its standard input ends. A server is
// made when its URL is first asked for: /KIND/ROOM, where KIND is one of the
// kinds below and ROOM any name. DELETE /rooms/KIND/ROOM forgets it, as a restart would.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() {
		log.Fatal(http.Serve(listener, &rooms{open: map[string]http.Handler{}}))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// rooms makes and keeps the servers.
type rooms struct {
	mu   sync.Mutex // guards open
	open map[string]http.Handler
}

func (r *rooms) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/"), "/")
	r.mu.Lock()
	if parts[0] == "rooms" {
		delete(r.open, strings.Join(parts[1:], "/"))
		r.mu.Unlock()
		return
	}
	if len(parts) < 2 {
		r.mu.Unlock()
		http.NotFound(w, req)
		return
	}
	key := parts[0] + "/" + parts[1]
	handler := r.open[key]
	if handler == nil {
		handler = newHandler(parts[0], "/"+key)
		r.open[key] = handler
	}
	r.mu.Unlock()
	handler.ServeHTTP(w, req)
}

func newHandler(kind, base string) http.Handler {
	server := newSDKServer()
	get := func(*http.Request) *mcp.Server { return server }
	switch kind {
	case "sdk-modern":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	case "sdk-modern-json":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	case "sdk-legacy":
		return mcp.NewStreamableHTTPHandler(get, nil)
	case "sdk-legacy-json":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true})
	case "sdk-legacy-store":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	case "sdk-legacy-no-get":
		return refuseGET(mcp.NewStreamableHTTPHandler(get, nil))
	case "sdk-sse":
		return mcp.NewSSEHandler(get, nil)
	case "mcpgo":
		return mcpgoserver.NewStreamableHTTPServer(newMCPGoServer())
	case "mcpgo-sse":
		return mcpgoserver.NewSSEServer(newMCPGoServer(), mcpgoserver.WithStaticBasePath(base))
	default:
		return http.NotFoundHandler()
	}
}

func refuseGET(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// newSDKServer has a tool for everything of interest to a client.
func newSDKServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		Instructions: "be kind", Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	tool := func(name string, f func(ctx context.Context, r *mcp.CallToolRequest) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			said, err := f(ctx, r)
			return text(said), err
		})
	}
	cancelled := make(chan struct{}, 16)
	tool("echo", func(_ context.Context, r *mcp.CallToolRequest) (string, error) {
		return string(r.Params.Arguments), nil
	})
	tool("progress", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) { return "done", progress(ctx, r, 5) })
	tool("elicit", elicit)
	tool("poll", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 20 * time.Millisecond})
		return "polled", progress(ctx, r, 1)
	})
	tool("hold", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		if err := progress(ctx, r, 1); err != nil {
			return "", err
		}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	})
	tool("cancelled", func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		select {
		case <-cancelled:
			return "cancelled", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	tool("grow", func(context.Context, *mcp.CallToolRequest) (string, error) {
		tool("grown", func(context.Context, *mcp.CallToolRequest) (string, error) { return "grown", nil })
		return "ok", nil
	})
	return s
}

func progress(ctx context.Context, r *mcp.CallToolRequest, n int) error {
	for i := range n {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)})
		if err != nil {
			return err
		}
	}
	return nil
}

func elicit(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
	got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "name?", RequestedSchema: map[string]any{"type": "object"}})
	if err != nil {
		return "", err
	}
	return got.Action, nil
}

func newMCPGoServer() *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("mcpgo", "1", mcpgoserver.WithToolCapabilities(true), mcpgoserver.WithInstructions("be kind"))
	s.AddTool(mcpgo.NewTool("echo"), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(fmt.Sprintf(`{"n":%v}`, r.GetArguments()["n"])), nil
	})
	s.AddTool(mcpgo.NewTool("grow"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		s.AddTool(mcpgo.NewTool("grown"), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			return mcpgo.NewToolResultText("grown"), nil
		})
		return mcpgo.NewToolResultText("ok"), nil
	})
	return s
}
