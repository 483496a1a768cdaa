package stdiobridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Connections break at random bytes, both ways. Every request has exactly one
// answer, none is made up, none of what may have been executed is sent twice, and
// no answer to a question goes to another one.
func TestBreaksAtRandomPoints(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("legacy=%v seed=%d", legacy, seed), func(t *testing.T) {
				bridged(t, func(r *rig) {
					w := &world{t: t, r: r, legacy: legacy, dice: rand.New(rand.NewPCG(seed, 1)), executed: map[string]int{}, asked: map[string]bool{}}
					w.run()
				})
			})
		}
	}
}

// world is the services and the client of one run.
type world struct {
	t      *testing.T
	r      *rig
	legacy bool
	work   sync.WaitGroup

	mu       sync.Mutex // guards all below
	dice     *rand.Rand
	executed map[string]int // calls, by id
	asked    map[string]bool
	breaks   int
	calm     bool // nothing breaks any more
	waiting  int  // requests that have no answer
}

const requests = 4000

// waitingMost is how many requests the client has in flight. What so many take fits
// through most connections before they break: if none ever answered anything, the
// bridge would rightly give up.
const waitingMost = 24

var methods = []string{"tools/call", "tools/call", "tools/call", "resources/read", "tools/list", "ping", "prompts/list"}

func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n)
}

// wait counts requests that wait for an answer, n more.
func (w *world) wait(n int) (waiting int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting += n
	return w.waiting
}

func (w *world) run() {
	w.work.Go(w.serve)
	answers := map[string][]string{}
	sent := map[string]string{}
	var got sync.WaitGroup
	got.Go(func() { w.collect(answers) })
	if w.legacy {
		sent["0"] = "initialize"
		w.wait(1)
		w.r.send(requestWith("0", "initialize", hello), notification("notifications/initialized", ""))
	}
	for i := 1; i <= requests; i++ {
		id, method := strconv.Itoa(i), methods[w.roll(len(methods))]
		if i%3 == 0 {
			id = `"` + id + `"`
		}
		sent[id] = method
		for w.wait(0) >= waitingMost {
			time.Sleep(100 * time.Millisecond) // in a bubble
		}
		w.wait(1)
		w.r.send(requestWith(id, method, `{"t":"`+strings.Repeat("x", w.roll(300))+`"}`))
		if w.roll(4) == 0 {
			time.Sleep(time.Duration(w.roll(3000)) * time.Millisecond) // in a bubble
		}
	}
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	time.Sleep(90 * time.Second) // in a bubble: what is in flight ends by then
	w.r.hangUp()
	if err := w.r.end(); err != nil {
		w.t.Error(err)
	}
	close(w.r.dialed)
	got.Wait() // it may make more work
	w.work.Wait()
	w.judge(sent, answers)
}

// collect reads what the client gets, and answers what it is asked.
func (w *world) collect(answers map[string][]string) {
	for line := range w.r.out {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Question string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Errorf("%v: %s", err, line)
		}
		switch {
		case m.Method == "elicitation/create":
			w.mu.Lock()
			if w.asked[string(m.ID)] {
				w.t.Errorf("two questions have the id %s", m.ID)
			}
			w.asked[string(m.ID)] = true
			w.mu.Unlock()
			w.work.Go(func() {
				time.Sleep(time.Duration(w.roll(2000)) * time.Millisecond) // in a bubble
				w.r.send(result(string(m.ID), `{"to":"`+m.Params.Question+`"}`))
			})
		case m.Method == "":
			answers[string(m.ID)] = append(answers[string(m.ID)], line)
			w.wait(-1)
		}
	}
}

func (w *world) judge(sent map[string]string, answers map[string][]string) {
	results, unknowns := 0, 0
	for id, method := range sent {
		if len(answers[id]) != 1 {
			w.t.Errorf("%s %s has %d answers: %q", method, id, len(answers[id]), answers[id])
			continue
		}
		answer := strings.TrimSuffix(answers[id][0], "\n")
		changes := method == "tools/call" || method == "resources/read"
		switch times := w.executed[id]; {
		case answer == result(id, `{"of":`+strconv.Quote(id)+`}`) || method == "initialize" && answer == result(id, welcome):
			results++
			if changes && times != 1 {
				w.t.Errorf("%s %s has a result and was executed %d times", method, id, times)
			}
		case strings.Contains(answer, `"code":50402`) && changes:
			unknowns++
			if times > 1 {
				w.t.Errorf("%s %s was executed %d times", method, id, times)
			}
		case strings.Contains(answer, `"code":50301`) && !changes: // sent too often
		default:
			w.t.Errorf("%s %s, executed %d times, has the answer %s", method, id, times, answer)
		}
	}
	if len(answers) != len(sent) {
		w.t.Errorf("%d requests have answers, of %d", len(answers), len(sent))
	}
	if w.breaks < 100 || results < requests/3 || unknowns < 10 || w.legacy && len(w.asked) < 10 {
		w.t.Errorf("%d breaks, %d results, %d unknown outcomes, %d questions: this proves little", w.breaks, results, unknowns, len(w.asked))
	}
}

// serve is one service after the other.
func (w *world) serve() {
	for conn := range w.r.dialed {
		w.work.Go(func() {
			c := &flaky{theirEnd: conn, w: w, read: 20 + w.roll(15000), write: 20 + w.roll(6000), asked: map[string]string{}}
			c.run()
		})
	}
}

// flaky is a connection that breaks after some bytes. It executes what it reads.
type flaky struct {
	*theirEnd
	w *world

	mu          sync.Mutex // guards all below
	read, write int        // bytes left
	asked       map[string]string
	ended       bool
}

var errBroke = errors.New("broke")

// spend takes bytes off what is left, and returns how many there were.
func (c *flaky) spend(left *int, n int) int {
	c.w.mu.Lock()
	calm := c.w.calm
	c.w.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if calm {
		return n
	}
	n = min(n, *left)
	*left -= n
	return n
}

func (c *flaky) broke() error {
	c.mu.Lock()
	first := !c.ended
	c.ended = true
	c.mu.Unlock()
	if first {
		c.w.mu.Lock()
		c.w.breaks++
		c.w.mu.Unlock()
	}
	c.Close()
	return errBroke
}

func (c *flaky) Read(p []byte) (int, error) {
	n := c.spend(&c.read, min(len(p), 50))
	if n == 0 {
		return 0, c.broke()
	}
	got, err := c.theirEnd.Read(p[:n])
	return got, err
}

func (c *flaky) Write(p []byte) (int, error) {
	n := c.spend(&c.write, len(p))
	n, err := c.theirEnd.Write(p[:n])
	if err == nil && n < len(p) {
		err = c.broke()
	}
	return n, err
}

func (c *flaky) run() {
	var answering sync.WaitGroup
	defer answering.Wait()
	gone := make(chan struct{})
	defer close(gone)
	answering.Go(func() {
		select {
		case <-c.over:
			time.Sleep(time.Second) // in a bubble: what is in flight is answered
			c.Close()
		case <-gone:
		}
	})
	lines := newLines(c)
	for {
		line, err := lines.ReadString('\n')
		c.take(strings.TrimSuffix(line, "\n"), &answering) // a last line without its end counts, as in the service
		if err != nil {
			return
		}
	}
}

func (c *flaky) take(line string, answering *sync.WaitGroup) {
	var m struct {
		ID     json.RawMessage
		Method string
		Result struct{ To string }
	}
	if json.Unmarshal([]byte(line), &m) != nil {
		return
	}
	id := string(m.ID)
	switch {
	case m.Method == "initialize":
		_, _ = io.WriteString(c, result(id, welcome)+"\n")
	case m.Method == "ping" && strings.HasPrefix(id, `"durward`):
		_, _ = io.WriteString(c, result(id, `{}`)+"\n")
	case id != "" && m.Method != "":
		c.w.mu.Lock()
		c.w.executed[id]++
		c.w.mu.Unlock()
		answering.Go(func() { c.answer(id) })
	case id != "":
		c.mu.Lock()
		question, ok := c.asked[id]
		delete(c.asked, id)
		c.mu.Unlock()
		if !ok || question != m.Result.To {
			c.w.t.Errorf("question %s was %q, and the answer is to %q", id, question, m.Result.To)
		}
	}
}

// answer answers a request after a while, and may ask something before.
func (c *flaky) answer(id string) {
	time.Sleep(time.Duration(c.w.roll(2000)) * time.Millisecond) // in a bubble
	if c.w.legacy && c.w.roll(5) == 0 {
		c.mu.Lock()
		number := strconv.Itoa(len(c.asked) + 1)
		for c.asked[number] != "" {
			number += "0"
		}
		question := id + number + "/" + strconv.Itoa(c.w.roll(1<<30))
		question = strings.ReplaceAll(question, `"`, "")
		c.asked[number] = question
		c.mu.Unlock()
		_, _ = io.WriteString(c, requestWith(number, "elicitation/create", `{"question":"`+question+`"}`)+"\n")
	}
	_, _ = io.WriteString(c, result(id, `{"of":`+strconv.Quote(id)+`}`)+"\n")
}
