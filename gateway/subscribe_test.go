package gateway_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// Whoever was told that it is subscribed hears of the next change: also when
// others subscribe to the same at the same moment, and when the server runs a
// process for each principal.
func TestB10_SubscribersHearOfWhatTheirOwnCallsChange(t *testing.T) {
	for _, own := range []bool{false, true} {
		server := hostileServer("h")
		if own {
			server.Instances = durward.InstancesPrincipal
		}
		opt := gateway.Options{Servers: []durward.Server{server}}
		people := []string{"alice", "bob", "carol"}
		for _, who := range people {
			opt.Access.Tokens = append(opt.Access.Tokens, gateway.Token{Principal: who, Secret: who + "-0123456789abcdef"})
		}
		g := start(t, opt)
		g.await(t, "h", isReady)
		var all sync.WaitGroup
		for _, who := range people {
			for _, modern := range []bool{true, false} {
				c := &rawclient.Client{URL: g.url + "/servers/h/mcp", Modern: modern, Token: who + "-0123456789abcdef"}
				if !modern {
					if _, err := c.Initialize(t.Context(), `{}`); err != nil {
						t.Fatal(err)
					}
				}
				all.Go(func() { hears(t, c, who) })
			}
		}
		all.Wait()
	}
}

// hears subscribes, changes the resource and waits to be told.
func hears(t *testing.T, c *rawclient.Client, who string) {
	const uri = "hostile://state"
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	defer func() { stop(); <-over }()
	told, subscribed := make(chan struct{}), make(chan struct{})
	var once, first sync.Once
	go func() {
		defer close(over)
		_ = c.Stream(ctx, `{"notifications":{"resourceSubscriptions":["`+uri+`"]}}`, func(m wire.Message) bool {
			switch {
			case m.Method == wire.NoteAcknowledged:
				first.Do(func() { close(subscribed) })
			case m.Method == wire.NoteResourceUpdated && strings.Contains(string(m.Params.Raw), uri):
				select {
				case <-subscribed:
				default:
					if c.Modern { // the acknowledgement has to be the first message
						t.Errorf("%s was told of a change before it was subscribed", who)
					}
				}
				once.Do(func() { close(told) })
			}
			return true
		})
	}()
	if c.Modern {
		<-subscribed
	} else {
		if a, err := c.Do(ctx, wire.MethodSubscribe, `{"uri":"`+uri+`"}`); err != nil || a.Msg.Error != nil {
			t.Errorf("%s: %v", who, err)
			return
		}
		close(subscribed)
	}
	if a, err := c.CallTool(ctx, "touch", `{"text":"`+uri+`"}`); err != nil || a.Text() != "true" {
		t.Errorf("%s (modern %v): its own server does not know of the subscription: %v", who, c.Modern, err)
		return
	}
	<-told
}
