package rig

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Call is one request of the load, and what came of it.
type Call struct {
	ID     string
	Kind   string // work, large, read, list, failing, unknown-tool, left
	Begun  time.Time
	Ended  time.Time
	Answer Answer
}

// Load makes calls of all kinds, one after the other per worker, from clients of
// both eras.
type Load struct {
	clients []*Client
	prefix  string
	seed    uint64
	next    atomic.Int64

	mu    sync.Mutex // guards calls
	calls []Call
}

// NewLoad makes the load for a service. prefix stands in front of every id.
func NewLoad(s *Service, prefix string, seed uint64) *Load {
	return &Load{clients: []*Client{NewClient(s.Addr, true), NewClient(s.Addr, false)}, prefix: prefix, seed: seed}
}

// Run makes calls with so many workers until ctx ends. Each worker then waits for
// the answer of its last call.
func (l *Load) Run(ctx context.Context, workers int) {
	var group sync.WaitGroup
	for n := range workers {
		dice := rand.New(rand.NewPCG(l.seed, uint64(n)+uint64(len(l.prefix))<<32))
		client := l.clients[n%len(l.clients)]
		group.Go(func() {
			for ctx.Err() == nil {
				c := l.One(ctx, client, dice)
				if c.Answer.Broke != nil || c.Answer.Code != 0 {
					pause(ctx, time.Duration(1+dice.IntN(15))*time.Millisecond) // what cannot serve is not to be hammered
				}
			}
		})
	}
	group.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// answerWithin bounds a call. No server of ours takes that long, nor does a machine that
// is busy with something else.
const answerWithin = time.Minute

// One makes one call, as soon as the service can be reached. It begins none when
// ctx has ended.
func (l *Load) One(ctx context.Context, client *Client, dice *rand.Rand) Call {
	c := Call{ID: fmt.Sprintf("%s-%07d", l.prefix, l.next.Add(1))}
	request, leave := c.draw(dice)
	for {
		c.try(client, request, leave)
		if !c.Answer.Unsent || ctx.Err() != nil {
			break
		}
		pause(ctx, time.Duration(5+dice.IntN(15))*time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
	return c
}

func (c *Call) try(client *Client, r Request, leave time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), leave)
	defer cancel()
	c.Begun = time.Now()
	c.Answer = client.Do(ctx, r)
	c.Ended = time.Now()
}

// draw throws the dice for a call.
func (c *Call) draw(dice *rand.Rand) (r Request, leave time.Duration) {
	leave = answerWithin
	server := []string{"lines", "web"}[dice.IntN(2)]
	arguments := fmt.Sprintf(`"id":%q,"ms":%d`, c.ID, dice.IntN(8)*dice.IntN(4))
	c.Kind = "work"
	tool := server + "__work"
	switch at := dice.IntN(100); {
	case at < 8:
		c.Kind = "list"
		return Request{ID: c.ID, Method: []string{"tools/list", "resources/list"}[dice.IntN(2)]}, leave
	case at < 16:
		c.Kind = "read"
		uri := "durward://" + server + "/kill%3A%2F%2Fnote%2F" + c.ID
		return Request{ID: c.ID, Method: "resources/read", Name: uri, Params: fmt.Sprintf(`"uri":%q`, uri)}, leave
	case at < 20:
		c.Kind, tool = "unknown-tool", server+"__no-such-tool"
	case at < 26:
		c.Kind = "failing"
		arguments += `,"fail":"` + []string{"tool", "error"}[dice.IntN(2)] + `"`
	case at < 30:
		c.Kind, leave = "left", time.Duration(dice.IntN(20))*time.Millisecond
	case at < 50:
		c.Kind = "large"
		arguments += fmt.Sprintf(`,"bytes":%d,"same":%t,"pad":%q`, dice.IntN(100_000), dice.IntN(2) == 0, strings.Repeat(c.ID+" ", dice.IntN(8_000)))
	}
	return Request{ID: c.ID, Method: "tools/call", Name: tool, Params: fmt.Sprintf(`"name":%q,"arguments":{%s}`, tool, arguments)}, leave
}

// Calls returns what was called so far.
func (l *Load) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Call(nil), l.calls...)
}
