package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"durward/test/chaos/fault"
)

// lineClient is a desktop client: it starts durward stdio, talks to it in lines,
// and starts it again when it has ended.
type lineClient struct {
	person
	gateway  *gateway
	isModern bool

	opening sync.Mutex // held while durward stdio is started

	mu   sync.Mutex // guards proc and ids
	proc *lineProc
	ids  int
}

func (c *lineClient) modern() bool { return c.isModern }

// lineProc is one durward stdio.
type lineProc struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when it has ended

	mu      sync.Mutex // guards what is below, and writing
	waiting map[string]*waiting
}

// waiting is a request that has no answer yet.
type waiting struct {
	call   string
	answer chan *message
}

var errGone = errors.New("durward stdio has ended")

// current returns the process, starting one if need be.
func (c *lineClient) current(ctx context.Context) (*lineProc, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	for {
		c.mu.Lock()
		p := c.proc
		c.mu.Unlock()
		if p != nil {
			select {
			case <-p.gone:
			default:
				return p, nil
			}
		}
		err := c.start(ctx)
		if err != nil && !sleep(ctx, 50*time.Millisecond) {
			return nil, err
		}
	}
}

// start starts durward stdio while the gateway is up and certain to stay so.
func (c *lineClient) start(ctx context.Context) error {
	c.gateway.up.RLock()
	defer c.gateway.up.RUnlock()
	p := &lineProc{cmd: exec.Command(c.gateway.bin, "stdio", "--no-start"), gone: make(chan struct{}), waiting: map[string]*waiting{}}
	p.cmd.Env = append(os.Environ(), c.gateway.env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		c.listen(p, out)
		_ = p.cmd.Wait() // how it ended is of no interest
		close(p.gone)
	}()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	hello := `"server/discover","params":{` + modernMeta("hello") + `}`
	if !c.isModern {
		hello = `"initialize","params":` + legacyHello
	}
	_, err = c.request(ctx, p, "", `"method":`+hello)
	if err == nil && !c.isModern {
		err = p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if err != nil {
		_ = p.cmd.Process.Kill() // it has ended, or does now
		return err
	}
	c.mu.Lock()
	c.proc = p
	c.mu.Unlock()
	return nil
}

func (p *lineProc) write(line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// request sends a request and waits for the response.
func (c *lineClient) request(ctx context.Context, p *lineProc, call, rest string) (*message, error) {
	c.mu.Lock()
	c.ids++
	id := strconv.Itoa(c.ids)
	c.mu.Unlock()
	w := &waiting{call: call, answer: make(chan *message, 1)}
	p.mu.Lock()
	p.waiting[id] = w
	p.mu.Unlock()
	if err := p.write(`{"jsonrpc":"2.0","id":` + id + `,` + rest + `}`); err != nil {
		return nil, err
	}
	select {
	case m := <-w.answer:
		return m, nil
	case <-p.gone:
		select {
		case m := <-w.answer: // it was the last thing said
			return m, nil
		default:
			return nil, errGone
		}
	case <-ctx.Done():
		_ = p.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		return nil, ctx.Err()
	}
}

// listen takes what durward stdio says until it ends.
func (c *lineClient) listen(p *lineProc, out io.Reader) {
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m := new(message)
		if err := json.Unmarshal(line, m); err != nil {
			c.book.stray(c.where + " got a line that is no message: " + string(line))
			continue
		}
		c.take(p, m)
	}
}

func (c *lineClient) take(p *lineProc, m *message) {
	switch {
	case m.isResponse():
		p.mu.Lock()
		w := p.waiting[string(m.ID)]
		delete(p.waiting, string(m.ID))
		p.mu.Unlock()
		if w != nil {
			w.answer <- m
		}
	case m.Method == "elicitation/create":
		c.asked(p, m)
	}
}

// asked answers a question. It does not say with which call it came; the
// question itself does.
func (c *lineClient) asked(p *lineProc, m *message) {
	q, _ := readQuestion(m.Params.Message)
	if content, ok := c.answer(m.Params.Message, q.call); ok {
		_ = p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + content + `}`) // who does not read it has ended
	}
}

func (c *lineClient) call(ctx context.Context, j *job) (outcome, string) {
	try := func(ctx context.Context, params string) (*message, error) {
		p, err := c.current(ctx)
		if err != nil {
			return nil, err
		}
		return c.request(ctx, p, j.id, `"method":"tools/call","params":{"name":`+quote(j.server+"__"+j.tool)+`,`+params)
	}
	if c.isModern {
		return c.rounds(ctx, j, try)
	}
	own, cancel := interest(ctx, j)
	defer cancel()
	m, err := try(own, j.params+`,"_meta":{"progressToken":`+quote(j.id)+`}}`)
	if err != nil {
		return c.lost(ctx, own, j.id, err)
	}
	return answerOf(m, j.id)
}

// run kills durward stdio when ctx ends.
func (c *lineClient) run(ctx context.Context) {
	<-ctx.Done()
	c.end(func() {})
}

// kill ends durward stdio as a fault; false if none runs.
func (c *lineClient) kill() bool {
	return c.end(func() { c.book.fault(injected{kind: fault.ClientKill, client: c.where}) })
}

func (c *lineClient) end(note func()) bool {
	c.mu.Lock()
	p := c.proc
	c.mu.Unlock()
	if p == nil {
		return false
	}
	select {
	case <-p.gone:
		return false
	default:
	}
	note()
	_ = p.cmd.Process.Kill() // if it has ended meanwhile, that is as well
	<-p.gone
	return true
}
