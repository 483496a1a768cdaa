package stdiobridge_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
)

// The session of a legacy client is brought to where it was; the client learns
// only that lists may have changed.
func TestALegacySessionIsRenewed(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		settle := func(id, method, params, answer string) {
			t.Helper()
			r.send(requestWith(id, method, params))
			s.got(requestWith(id, method, params))
			s.send(answer)
			r.got(answer)
		}
		settle("1", "logging/setLevel", `{"level":"debug"}`, result("1", `{}`))
		settle("2", "logging/setLevel", `{"level":"loud"}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`)
		settle("3", "resources/subscribe", `{"uri":"mem:///\u0061"}`, result("3", `{}`))
		settle("4", "resources/subscribe", `{"uri":"mem:///b"}`, result("4", `{}`))
		settle("5", "resources/subscribe", `{"uri":"mem:///c"}`, result("5", `{}`))
		settle("6", "resources/subscribe", `{"uri":"mem:///c"}`, result("6", `{}`))
		settle("7", "resources/subscribe", `{"uri":"mem:///none"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}`)
		settle("8", "resources/unsubscribe", `{"uri":"mem:///b"}`, result("8", `{}`))
		for range 2 { // also a second time
			s.die()
			s = r.regreet()
			if got := s.answerOwn("logging/setLevel", `{}`); got != `{"level":"debug"}` {
				t.Error(got)
			}
			if got := s.answerOwn("resources/subscribe", `{}`); got != `{"uri":"mem:///a"}` {
				t.Error(got)
			}
			if got := s.answerOwn("resources/subscribe", `{}`); got != `{"uri":"mem:///c"}` {
				t.Error(got)
			}
			r.got(append(append([]string{}, listsChanged...),
				notification("notifications/resources/updated", `{"uri":"mem:///a"}`), notification("notifications/resources/updated", `{"uri":"mem:///c"}`))...)
			settle("9", "tools/call", `{}`, result("9", `{}`))
		}
		for _, said := range r.said {
			if strings.Contains(said, ";") && !strings.Contains(said, "ended;") {
				t.Error(said)
			}
		}
	})
}

// A resource that the service does not know any more is subscribed to no more.
func TestASubscriptionThatCannotBeRenewed(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		r.send(requestWith("1", "resources/subscribe", `{"uri":"mem:///a"}`))
		s.got(requestWith("1", "resources/subscribe", `{"uri":"mem:///a"}`))
		s.send(result("1", `{}`))
		s.die()
		s = r.regreet()
		m := s.own("resources/subscribe")
		s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32602,"message":"gone"}}`)
		r.got(append([]string{result("1", `{}`)}, append(listsChanged, notification("notifications/resources/updated", `{"uri":"mem:///a"}`))...)...)
		s.die()
		r.regreet().quiet()
	})
}

// Many subscriptions are renewed a few at a time, and the client's own lines do not
// wait for them. So many are remembered, and no more.
func TestManySubscriptionsAreRenewed(t *testing.T) {
	const all = 1010
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		go func() {
			for i := range all {
				r.send(requestWith(strconv.Itoa(i), "resources/subscribe", fmt.Sprintf(`{"uri":"mem:///%d"}`, i)))
			}
		}()
		for i := range all {
			s.next()
			s.send(result(strconv.Itoa(i), `{}`))
			<-r.out
		}
		s.die()
		s = r.regreet()
		r.got(listsChanged...)
		r.send(request(`"mine"`, "tools/call"))
		var ids []string
		take := func(line string) {
			id, rest, _ := strings.Cut(strings.TrimPrefix(line, `{"jsonrpc":"2.0","id":`), ",")
			if !strings.HasPrefix(rest, `"method":"resources/subscribe"`) {
				t.Fatal(line)
			}
			ids = append(ids, id)
		}
		for range 8 {
			take(s.next())
		}
		s.got(request(`"mine"`, "tools/call"))
		for done := 0; done < 1000; done++ {
			s.send(result(ids[done], `{}`))
			if len(ids) < 1000 {
				take(s.next())
			}
		}
		s.quiet()
		if said := r.said[len(r.said)-1]; !strings.HasSuffix(said, "; some subscriptions to resources are lost") {
			t.Error(said)
		}
	})
}

// Who is unsubscribed meanwhile is not subscribed again.
func TestUnsubscribingWhileSubscriptionsAreRenewed(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		for i := range 9 {
			line := requestWith(strconv.Itoa(i), "resources/subscribe", fmt.Sprintf(`{"uri":"mem:///%d"}`, i))
			r.send(line)
			s.got(line)
			s.send(result(strconv.Itoa(i), `{}`))
			r.got(result(strconv.Itoa(i), `{}`))
		}
		s.die()
		s = r.regreet()
		r.got(listsChanged...)
		first := s.own("resources/subscribe")
		id := string(first.ID)
		for range 7 {
			s.own("resources/subscribe")
		}
		r.send(requestWith("20", "resources/unsubscribe", `{"uri":"mem:///8"}`))
		s.got(requestWith("20", "resources/unsubscribe", `{"uri":"mem:///8"}`))
		s.send(result("20", `{}`))
		r.got(result("20", `{}`))
		s.send(result(id, `{}`))
		r.got(notification("notifications/resources/updated", `{"uri":"mem:///0"}`))
		s.quiet()
	})
}

// A break before initialize was answered: it is simply sent again, and so is what
// the client has sent after it without waiting.
func TestABreakDuringInitialize(t *testing.T) {
	initialize, initialized := requestWith("0", "initialize", hello), notification("notifications/initialized", "")
	bridged(t, func(r *rig) {
		s := r.open()
		r.send(initialize)
		s.got(initialize)
		s.die()
		s = r.open()
		s.got(initialize)
		s.send(result("0", welcome))
		r.got(result("0", welcome))
	})
	bridged(t, func(r *rig) {
		s := r.open()
		r.send(initialize, initialized, request("1", "tools/list"))
		s.got(initialize, initialized, request("1", "tools/list"))
		s.die()
		s = r.open()
		s.got(initialize, initialized, request("1", "tools/list"))
		s.send(result("0", welcome))
		r.got(result("0", welcome))
		s.die()
		r.regreet().got(request("1", "tools/list"))
	})
	bridged(t, func(r *rig) { // answered, and the notification not sent yet
		s := r.open()
		r.send(initialize)
		s.got(initialize)
		s.send(result("0", welcome))
		r.got(result("0", welcome))
		s.die()
		s = r.accept()
		s.answerOwn("initialize", welcome)
		s.quiet()
		r.got(listsChanged...)
		r.send(initialized)
		s.got(initialized)
	})
	bridged(t, func(r *rig) { // refused
		s := r.open()
		r.send(initialize)
		s.got(initialize)
		s.send(`{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}`)
		r.got(`{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}}`)
		s.die()
		r.open().quiet()
	})
}

// What a service answers to a repeated handshake cannot be hidden from people.
func TestAServiceThatCameBackDifferent(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		s.die()
		s = r.accept()
		s.answerOwn("initialize", strings.Replace(welcome, `{"tools":{}}`, `{"tools":{},"logging":{}}`, 1))
		s.got(notification("notifications/initialized", ""))
		r.got(listsChanged...)
		if said := r.said[len(r.said)-1]; !strings.Contains(said, "other capabilities than before") {
			t.Error(said)
		}
	})
	bridged(t, func(r *rig) { // it refuses
		s := r.open()
		greeted(r, s)
		s.die()
		go func() {
			for conn := range r.dialed {
				s := &service{t: t, conn: conn, lines: newLines(conn)}
				m := s.own("initialize")
				s.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32602,"message":"unknown toolset x"}}`)
			}
		}()
		err := r.end()
		close(r.dialed)
		if durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "unknown toolset x") {
			t.Error(err)
		}
	})
	bridged(t, func(r *rig) { // it cannot be told
		s := r.open()
		large := requestWith("0", "initialize", `{"protocolVersion":"2025-06-18","x":"`+strings.Repeat("x", 8<<20)+`"}`)
		r.send(large)
		s.got(large)
		s.send(result("0", welcome))
		r.got(result("0", welcome))
		s.die()
		if err := r.end(); durward.KindOf(err) != durward.Unavailable || err == nil {
			t.Error(err)
		}
	})
}

// listen is a subscription of a modern client.
func listen(id string) string {
	return requestWith(id, "subscriptions/listen", `{`+modernKey+`,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["mem:///a"]}}`)
}

const subscribed = `"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}`

func acknowledged(agreed string) string {
	return notification("notifications/subscriptions/acknowledged", `{`+subscribed+`,"notifications":`+agreed+`}`)
}

const agreed = `{"toolsListChanged":true,"resourceSubscriptions":["mem:///a"]}`

var changes = []string{
	notification("notifications/tools/list_changed", `{`+subscribed+`}`),
	notification("notifications/resources/updated", `{"uri":"mem:///a",`+subscribed+`}`),
}

func listening(r *rig) *service {
	s := r.open()
	r.send(listen(`"L"`))
	s.got(listen(`"L"`))
	s.send(acknowledged(agreed))
	r.got(acknowledged(agreed))
	return s
}

// A subscription goes on. The client has had the acknowledgement; it hears once of
// everything that may have changed.
func TestSubscriptionsAreRenewed(t *testing.T) {
	bridged(t, func(r *rig) {
		s := listening(r)
		for range 5 { // more often than requests are sent again
			s.send(notification("notifications/tools/list_changed", `{`+subscribed+`}`))
			r.got(changes[0])
			time.Sleep(10 * time.Second) // in a bubble
			s.die()
			s = r.open()
			s.got(listen(`"L"`))
			r.got()
			s.send(acknowledged(agreed))
			r.got(changes...)
		}
	})
	bridged(t, func(r *rig) { // what is agreed to is less now
		s := listening(r)
		s.die()
		s = r.open()
		s.got(listen(`"L"`))
		s.send(acknowledged(`{"toolsListChanged":true}`))
		r.got(acknowledged(`{"toolsListChanged":true}`), changes[0])
	})
	bridged(t, func(r *rig) { // never acknowledged before
		s := r.open()
		r.send(listen(`"L"`))
		s.got(listen(`"L"`))
		s.die()
		s = r.open()
		s.got(listen(`"L"`))
		s.send(acknowledged(agreed))
		r.got(acknowledged(agreed))
	})
	bridged(t, func(r *rig) { // refused now
		s := listening(r)
		s.die()
		s = r.open()
		s.got(listen(`"L"`))
		refused := `{"jsonrpc":"2.0","id":"L","error":{"code":50301,"message":"no"}}`
		s.send(refused)
		r.got(refused)
		s.die()
		r.open().quiet()
	})
	bridged(t, func(r *rig) { // cancelled
		s := listening(r)
		cancel := notification("notifications/cancelled", `{"requestId":"L"}`)
		r.send(cancel)
		s.got(cancel)
		s.die()
		r.open().quiet()
		r.got()
	})
}

// A service that ends says goodbye to its subscribers, who would not come back.
func TestAGracefulEndOfASubscriptionIsHeld(t *testing.T) {
	goodbye := result(`"L"`, `{`+subscribed+`,"resultType":"complete"}`)
	bridged(t, func(r *rig) {
		s := listening(r)
		s.send(goodbye)
		r.got()
		time.Sleep(3 * time.Second) // in a bubble: a service's grace
		s.die()
		s = r.open()
		s.got(listen(`"L"`))
		s.send(acknowledged(agreed))
		r.got(changes...)
		time.Sleep(time.Minute) // in a bubble
		r.got()
	})
	bridged(t, func(r *rig) { // it goes on
		s := listening(r)
		s.send(goodbye)
		time.Sleep(11 * time.Second) // in a bubble
		r.got(goodbye)
		s.die()
		r.open().quiet()
	})
	bridged(t, func(r *rig) { // the client has said everything
		s := listening(r)
		s.send(goodbye)
		r.got()
		r.hangUp()
		r.got(goodbye)
	})
	bridged(t, func(r *rig) {
		s := listening(r)
		r.hangUp()
		synctest.Wait()
		s.send(goodbye)
		r.got(goodbye)
	})
}

// An answer goes to the question it was asked by, and to no other one.
func TestQuestionsOfTheService(t *testing.T) {
	ask := func(id string) string { return requestWith(id, "elicitation/create", `{"message":"how?"}`) }
	withdrawn := func(id string) string {
		return notification("notifications/cancelled", `{"requestId":`+id+`,"reason":"the service ended, and nobody waits for the answer any more"}`)
	}
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		s.send(ask("1"), ask(`"x"`))
		r.got(ask("1"), ask("2"))
		r.send(` { "result":{},"id":2, "jsonrpc":"2.0" } `)
		s.got(`{ "result":{},"id":"x", "jsonrpc":"2.0" }`)
		s.die()
		r.got(withdrawn("1"))
		s = r.regreet()
		r.got(listsChanged...)
		s.send(ask("1"), ask("2"), ask("3"))
		r.got(ask("3"), ask("4"), ask("5"))
		r.send(result("1", `{"late":true}`), result("2", `{}`), result("99", `{}`), `{"jsonrpc":"2.0","error":{"code":1,"message":"no id"}}`)
		s.quiet()
		r.send(`{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no"}}`)
		s.got(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`)
		s.send(notification("notifications/cancelled", `{"reason":"late", "requestId": 3 }`))
		r.got(notification("notifications/cancelled", `{"reason":"late", "requestId": 5 }`))
		s.send(notification("notifications/cancelled", `{"requestId":3}`)) // of nothing that is known
		r.got(notification("notifications/cancelled", `{"requestId":3}`))
		r.send(result("5", `{}`), result("3", `{}`), result("3", `{}`))
		s.got(result("1", `{}`))
	})
}

// An answer that was given when the connection broke is not kept for another.
func TestAnAnswerThatIsNotHandedOver(t *testing.T) {
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		s.send(requestWith("1", "sampling/createMessage", `{}`))
		r.got(requestWith("1", "sampling/createMessage", `{}`))
		r.send(result("1", `{}`))
		synctest.Wait()
		s.die() // nothing was read of it
		s = r.regreet()
		s.send(requestWith("1", "sampling/createMessage", `{}`))
		r.got(append(append([]string{}, listsChanged...), requestWith("2", "sampling/createMessage", `{}`))...)
		s.quiet()
	})
}

// A client that answers nothing costs no more than so much.
func TestQuestionsThatNobodyAnswers(t *testing.T) {
	const most = 10_000
	bridged(t, func(r *rig) {
		s := r.open()
		greeted(r, s)
		for i := range most + 2 {
			s.send(request(strconv.Itoa(i), "ping"))
			<-r.out
		}
		r.send(result("1", `{}`), result("2", `{}`), result("3", `{}`))
		s.got(result("2", `{}`))
	})
}
