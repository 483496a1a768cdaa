package transport_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// withToken adds the bearer token to every request.
type withToken struct{ base http.RoundTripper }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+secret)
	return w.base.RoundTrip(r)
}

// peerTools are what the foreign client calls.
func peerTools() map[string]tool {
	return map[string]tool{
		"progress": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
			for i := range 3 {
				out.Notify(wire.NoteProgress, fmt.Appendf(nil, `{"progressToken":0,"progress":%d}`, i))
			}
			return result(`{"content":[{"type":"text","text":"progressed"}],"resultType":"complete"}`)
		},
		"elicit": func(ctx context.Context, in *exchange.Inbound, out exchange.Stream) exchange.Reply {
			if in.Client.Era == wire.Modern {
				return result(`{"content":[{"type":"text","text":"modern clients are asked otherwise"}],"resultType":"complete"}`)
			}
			reply := out.Ask(ctx, wire.MethodElicit, []byte(`{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`))
			if reply.Error != nil {
				return reply
			}
			return result(`{"content":[{"type":"text","text":` + wire.Quote(string(wire.Get(reply.Result, "action"))) + `}]}`)
		},
		"slow": func(ctx context.Context, _ *exchange.Inbound, _ exchange.Stream) exchange.Reply {
			<-ctx.Done()
			return exchange.Fail(ctx.Err())
		},
	}
}

// TestPeerGoSDK drives the edges with the client of the official Go SDK.
func TestPeerGoSDK(t *testing.T) {
	for _, revision := range []string{"", "2025-11-25", "2025-06-18"} {
		for _, over := range []string{"http", "stdio"} {
			t.Run(over+"/"+revision, func(t *testing.T) {
				r := newRig(t, peerTools(), nil)
				var transport mcp.Transport
				if over == "http" {
					server := httptest.NewServer(r.edge)
					t.Cleanup(server.Close)
					base := &http.Transport{}
					t.Cleanup(base.CloseIdleConnections)
					transport = &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken{base}}}
				} else {
					client, server := net.Pipe()
					ended := make(chan error, 1)
					go func() {
						ended <- r.edge.ServeStdio(context.Background(), server, durward.Caller{Principal: "local"}, durward.Route{})
					}()
					t.Cleanup(func() {
						client.Close()
						if err := <-ended; err != nil {
							t.Error(err)
						}
					})
					transport = &mcp.IOTransport{Reader: client, Writer: client}
				}
				drive(t, r, transport, revision)
			})
		}
	}
}

func drive(t *testing.T, r *rig, transport mcp.Transport, revision string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	progressed := make(chan float64, 10)
	changed := make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			progressed <- n.Params.Progress
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "x"}}, nil
		},
	})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	modern := revision == ""
	if got := session.InitializeResult().ProtocolVersion; got != revision && !(modern && got == wire.RevisionModern) {
		t.Errorf("agreed on %s", got)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "echo" {
		t.Fatal(list, err)
	}
	call := func(name string, meta mcp.Meta) string {
		t.Helper()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: map[string]any{"n": 1}, Meta: meta})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	if got := call("echo", nil); got != `{"n":1}` {
		t.Error(got)
	}
	if got := call("progress", mcp.Meta{"progressToken": "p"}); got != "progressed" {
		t.Error(got)
	}
	for i := range 3 {
		select {
		case got := <-progressed:
			if got != float64(i) {
				t.Errorf("progress %v, want %d", got, i)
			}
		case <-ctx.Done():
			t.Fatal("no progress")
		}
	}
	if got := call("elicit", nil); !modern && got != `"accept"` {
		t.Error(got)
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "missing"}); err == nil || !strings.Contains(err.Error(), "unknown tool missing") {
		t.Error(err)
	}
	brief, stop := context.WithCancel(ctx)
	go func() {
		for r.core.calls("slow") == 0 {
			time.Sleep(time.Millisecond) // polls a state that comes by itself
		}
		stop()
	}()
	if _, err := session.CallTool(brief, &mcp.CallToolParams{Name: "slow"}); err == nil {
		t.Error("the cancelled call was answered")
	}
	if !modern {
		if err := session.Ping(ctx, nil); err != nil {
			t.Error(err)
		}
		r.core.feed(t).Notify(wire.NoteToolsChanged, nil)
		select {
		case <-changed:
		case <-ctx.Done():
			t.Error("no list change")
		}
	}
	if got := r.core.last(t).Caller.Client.Name; got != "peer" {
		t.Error(got)
	}
}

// calls returns how often a tool was called.
func (f *fakeCore) calls(name string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.seen {
		if got, _ := f.seen[i].Params.String(f.seen[i].Params.Name); got == name {
			n++
		}
	}
	return n
}
