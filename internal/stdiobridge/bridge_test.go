package stdiobridge_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/stdiobridge"
)

func TestOptionsAreRequired(t *testing.T) {
	if _, err := stdiobridge.New(stdiobridge.Options{}); durward.KindOf(err) != durward.Internal || err == nil {
		t.Error(err)
	}
}

// Bytes pass as they are, both ways, whatever they are.
func TestLinesPassUntouched(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		for _, line := range []string{
			` {"id" : 1.50 ,"jsonrpc":"2.0", "method":"tools/call","params":{"x":1e400,"big":9007199254740993,"é":"\u00e9"}}` + "\r",
			`{"jsonrpc":"2.0","method":"notifications/unheard/of"}`,
			`this is no message`,
			`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"t":"` + strings.Repeat("x", 40<<20) + `"}}`,
		} {
			r.send(line)
			if got := s.next(); got != line {
				t.Errorf("the service got %.200q of %d bytes, wanted %.200q", got, len(got), line)
			}
		}
		for _, line := range []string{
			`{ "jsonrpc":"2.0","id":1.50,"result":{"n":1e400, "a":[ ]} }` + "\r",
			notification("notifications/progress", `{"progressToken":"p","progress":1}`),
			`neither is this`,
			result("7", `"`+strings.Repeat("y", 40<<20)+`"`),
		} {
			go func() { _, _ = io.WriteString(s.conn, line+"\n") }()
			if got := <-r.out; got != line+"\n" {
				t.Errorf("the client got %.200q of %d bytes, wanted %.200q", got, len(got), line)
			}
		}
	})
}

// What a break means for each kind of request in flight.
func TestRequestsInFlightAtABreak(t *testing.T) {
	for method, again := range map[string]bool{
		"tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true, "ping": true, "server/discover": true, "initialize": true,
		"logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true, "subscriptions/listen": true,
		"tools/call": false, "prompts/get": false, "resources/read": false, "completion/complete": false, "tasks/get": false, "tasks/list": false,
		"tasks/result": false, "tasks/cancel": false, "x/unheard": false,
	} {
		for _, id := range []string{"17", `"17"`, `"a \u00e9 \"b"`, "-1.5e3"} {
			t.Run(method+" "+id, func(t *testing.T) {
				bridged(t, func(r *rig) {
					s := r.open()
					r.send(request(id, method))
					s.got(request(id, method))
					s.die()
					if again {
						s = r.open()
						s.got(request(id, method))
						r.got()
						s.send(result(id, `{}`))
						if method != "subscriptions/listen" {
							r.got(result(id, `{}`))
						}
						return
					}
					r.got(unknown(id, method))
					s = r.open()
					s.quiet()
					r.send(request(id, method)) // the id is free
					s.got(request(id, method))
					s.send(result(id, `{}`))
					r.got(result(id, `{}`))
				})
			})
		}
	}
}

// What was sent again keeps its place before what came later, and each is
// answered once.
func TestOrderIsKeptOverABreak(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		r.send(request("1", "tools/list"), request("2", "tools/call"), request("3", "prompts/list"), notification("notifications/roots/list_changed", ""))
		s.got(request("1", "tools/list"), request("2", "tools/call"), request("3", "prompts/list"), notification("notifications/roots/list_changed", ""))
		r.listen(false)
		s.die()
		r.got(unknown("2", "tools/call"))
		r.send(request("4", "tools/call"), notification("notifications/x", ""), request("5", "ping"))
		synctest.Wait()
		r.listen(true)
		r.open().got(request("1", "tools/list"), request("3", "prompts/list"), request("4", "tools/call"), notification("notifications/x", ""), request("5", "ping"))
		if len(r.said) != 2 || r.said[0] != "the service ended; waiting for it to come back" || !strings.HasPrefix(r.said[1], "reconnected to the service after ") {
			t.Errorf("%q", r.said)
		}
	})
}

// A line of which the service cannot have had a whole message was not handed over.
func TestPartlyWrittenLines(t *testing.T) {
	call := request("1", "tools/call")
	for read := range len(call) + 2 {
		bridged(t, func(r *rig) {
			s := r.open()
			r.send(call)
			some := make([]byte, read)
			if n, err := s.conn.Read(some); n != read || read > 0 && err != nil {
				t.Fatal(n, err)
			}
			synctest.Wait()
			s.die()
			if read >= len(call) { // the service takes a last line without its end
				r.got(unknown("1", "tools/call"))
				r.open().quiet()
				return
			}
			s = r.open()
			s.got(call)
			s.send(result("1", `{}`))
			r.got(result("1", `{}`))
		})
	}
}

// Of several lines that are written at once some may have been read.
func TestPartOfABatch(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		r.send(request("1", "tools/call") + "\n" + request("2", "tools/call") + "\n" + request("3", "tools/call"))
		if _, err := s.conn.Read(make([]byte, len(request("1", "tools/call"))+10)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.die()
		r.got(unknown("1", "tools/call"))
		r.open().got(request("2", "tools/call"), request("3", "tools/call"))
	})
}

// A message that the service could not finish never reaches the client; a whole
// one does without its line's end.
func TestPartlyReadLines(t *testing.T) {
	answer := result("1", `{"n":1}`)
	for sent := range len(answer) + 1 {
		bridged(t, func(r *rig) {
			s := r.open()
			r.send(request("1", "tools/call"))
			s.got(request("1", "tools/call"))
			if _, err := s.conn.Write([]byte(answer[:sent])); err != nil {
				t.Fatal(err)
			}
			s.die()
			if sent < len(answer) {
				r.got(unknown("1", "tools/call"))
			} else {
				r.got(answer)
			}
			r.open().quiet()
		})
	}
}

// A service that is about to end accepts and reads nothing. Nothing is handed over to it.
func TestNothingIsHandedToAServiceThatDoesNotAnswer(t *testing.T) {
	bridged(t, func(r *rig) {
		r.send(request("1", "tools/call"))
		for range 5 {
			s := r.accept()
			s.own("ping")
			s.quiet()
			s.die()
		}
		s := r.open()
		s.got(request("1", "tools/call"))
		s.send(result("1", `{}`))
		r.got(result("1", `{}`))
	})
}

// One that hangs is given up after a minute.
func TestAServiceThatHangsAtFirst(t *testing.T) {
	bridged(t, func(r *rig) {
		r.accept().own("ping")
		time.Sleep(59 * time.Second) // in a bubble
		synctest.Wait()
		if tries := r.dials(); tries != 1 {
			t.Fatal(tries)
		}
		r.open().quiet()
	})
}

// While there is no service, so much is read of the client and no more, and
// nothing is lost.
func TestTheClientWaitsDuringAnOutage(t *testing.T) {
	for name, tt := range map[string]struct{ lines, size, most int }{
		"lines": {200, 10, 64},
		"bytes": {20, 100 << 10, 11},
	} {
		t.Run(name, func(t *testing.T) {
			bridged(t, func(r *rig) {
				s := r.open()
				r.listen(false)
				s.die()
				synctest.Wait()
				var all []string
				for i := range tt.lines {
					all = append(all, requestWith(strconv.Itoa(i), "tools/call", `{"t":"`+strings.Repeat("x", tt.size)+`"}`))
				}
				var sent atomic.Int64
				go func() {
					for _, line := range all {
						_, _ = io.WriteString(r.in, line+"\n")
						sent.Add(1)
					}
				}()
				time.Sleep(5 * time.Second) // in a bubble
				synctest.Wait()
				// Besides what is queued, one line waits for room, and one may be in a buffer.
				if n := int(sent.Load()); n < tt.most || n > tt.most+2+(64<<10)/(tt.size+80) {
					t.Errorf("%d lines were read of the client, wanted about %d", n, tt.most)
				}
				r.listen(true)
				s = r.open()
				s.got(all...)
			})
		})
	}
}

func TestTheBridgeGivesUp(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		r.send(request("1", "tools/call"))
		s.got(request("1", "tools/call"))
		r.listen(false)
		began := time.Now()
		s.die()
		r.got(unknown("1", "tools/call"))
		r.send(request("2", "tools/call"), notification("notifications/x", ""), request(`"3"`, "tools/list"))
		err := r.end()
		if durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "within 2m0s: nobody listens") {
			t.Error(err)
		}
		const nothing = `"error":{"code":50301,"message":"the service could not be reached any more; nothing was executed"}}`
		r.got(`{"jsonrpc":"2.0","id":2,`+nothing, `{"jsonrpc":"2.0","id":"3",`+nothing)
		if took := time.Since(began); took != 2*time.Minute {
			t.Error(took)
		}
		// 100 ms doubling to 5 s: six attempts in the first 6.3 s, then one every 5 s.
		if tries := r.dials(); tries != 1+6+22 {
			t.Errorf("%d attempts", tries)
		}
	})
}

// A service that ends as soon as it is reached is not reached for ever.
func TestAServiceThatEndsAgainAndAgain(t *testing.T) {
	bridged(t, func(r *rig) {
		go func() {
			for conn := range r.dialed {
				s := &service{t: t, conn: conn, lines: newLines(conn)}
				_, _ = s.conn.Read(make([]byte, 100))
				s.die()
			}
		}()
		err := r.end()
		if durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "again and again") {
			t.Error(err)
		}
		close(r.dialed)
	})
}

// A new outage after a connection that stood is one of its own.
func TestOutagesAreCountedOneByOne(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		for range 50 {
			time.Sleep(10 * time.Second) // in a bubble
			s.die()
			before := time.Now()
			s = r.open()
			if took := time.Since(before); took != 100*time.Millisecond {
				t.Fatal(took)
			}
		}
	})
}

func TestTheFirstDialFails(t *testing.T) {
	bridge, err := stdiobridge.New(stdiobridge.Options{
		In: strings.NewReader(""), Out: io.Discard, Dial: func(context.Context, time.Duration) (io.ReadWriteCloser, error) { return nil, errAbsent },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := bridge.Run(t.Context()); !errors.Is(err, errAbsent) {
		t.Error(err)
	}
}

// The end of the client's lines is the end of everything, once all is answered.
func TestTheEndOfInput(t *testing.T) {
	bridged(t, func(r *rig) { // while connected
		s := r.open()
		r.send(request("1", "tools/call"))
		s.got(request("1", "tools/call"))
		r.hangUp()
		<-s.conn.over
		s.send(result("1", `{}`))
		s.die() // as a service does then
		if err := r.end(); err != nil {
			t.Error(err)
		}
		r.got(result("1", `{}`))
	})
	bridged(t, func(r *rig) { // a last line without its end
		s := r.open()
		r.says <- request("1", "tools/call")
		r.hangUp()
		s.got(request("1", "tools/call"))
	})
	bridged(t, func(r *rig) { // in an outage, with nothing left to do
		s := r.open()
		r.listen(false)
		s.die()
		synctest.Wait()
		began := time.Now()
		r.hangUp()
		if err := r.end(); err != nil || time.Since(began) > 0 {
			t.Error(err, time.Since(began))
		}
	})
	bridged(t, func(r *rig) { // in an outage, with something left
		s := r.open()
		r.listen(false)
		s.die()
		synctest.Wait()
		r.send(request("1", "tools/call"))
		r.hangUp()
		synctest.Wait()
		r.listen(true)
		s = r.open()
		s.got(request("1", "tools/call"))
		s.send(result("1", `{}`))
		s.die()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		r.got(result("1", `{}`))
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	bridged(t, func(r *rig) { // while connected
		s := r.open()
		r.send(request("1", "tools/call"))
		s.got(request("1", "tools/call"))
		r.cancel()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		r.got()
	})
	bridged(t, func(r *rig) { // in an outage
		s := r.open()
		r.listen(false)
		s.die()
		synctest.Wait()
		r.cancel()
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// A client that reads nothing any more cannot be served.
func TestAClientThatIsGoneEndsTheBridge(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		r.outRead.Close()
		s.send(notification("notifications/x", ""))
		if err := r.end(); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	})
}

// A request that changes nothing may be what ends the service.
func TestARequestIsNotSentAgainForEver(t *testing.T) {
	bridged(t, func(r *rig) {
		r.send(request("1", "tools/list"))
		for range 4 {
			s := r.open()
			s.got(request("1", "tools/list"))
			r.got()
			s.die()
		}
		r.got(`{"jsonrpc":"2.0","id":1,"error":{"code":50301,"message":"the service ended while tools/list was in flight; it changed nothing: send it again"}}`)
		r.open().quiet()
	})
}

// So much is kept to be sent again, and no more.
func TestRequestsThatAreTooLargeToKeep(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		large := requestWith("1", "tools/list", `{"t":"`+strings.Repeat("x", 8<<20)+`"}`)
		r.send(large)
		s.got(large)
		s.die()
		r.got(`{"jsonrpc":"2.0","id":1,"error":{"code":50301,"message":"the service ended while tools/list was in flight; it changed nothing: send it again"}}`)
		r.open().quiet()
	})
}

func TestIDsInFlightAreNotUsedTwice(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		r.send(request("1", "tools/call"), request("1", "tools/call"), request(`"1"`, "tools/call"))
		s.got(request("1", "tools/call"), request(`"1"`, "tools/call"))
		r.got(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with id 1 is in flight; every request needs an id of its own"}}`)
	})
}

// Nobody waits for what was cancelled.
func TestCancelledRequests(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		cancel := func(id string) string { return notification("notifications/cancelled", `{"requestId":`+id+`}`) }
		r.send(request("1", "tools/call"), request("2", "tools/list"), request("3", "tools/call"), cancel("1"), cancel("2"))
		s.got(request("1", "tools/call"), request("2", "tools/list"), request("3", "tools/call"), cancel("1"), cancel("2"))
		s.send(result("2", `{}`)) // it was on its way
		r.got(result("2", `{}`))
		s.die()
		r.got(unknown("3", "tools/call"))
		r.open().quiet()
	})
}
